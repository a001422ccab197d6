"""One lane's table of files beside a state with a directory mounted in it: which of them holds a file shows later."""

import tempfile
from pathlib import Path

from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agreement.calls import TEXTS, Call, calls_of
from agreement.real import Files, Result, Tools, merged, task
from eqty_lineage.deepagents.facts import Version
from eqty_lineage.deepagents.filesystem import contents, reconstruction
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.filesystem.effects import (
    Effect,
    ReadBytes,
    ReadVersion,
    Removed,
    Ticket,
    Unchanged,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from support.files import EXAMPLES, cid_of

MOUNT = "/disk/"
PATHS = ["/a", "/d/a", "/disk/a", "/disk/d/a", "/disk/p.png"]
CALLS = calls_of(st.sampled_from([*PATHS, "/disk/a"]), st.sampled_from(["/", "/d", "/disk", "/disk/d"]))

Truth = dict[str, str]
"""Path -> CID of what it holds."""


class Open:
    """A call that has begun, and what state and disk held around it once it has run."""

    def __init__(self, lane: LaneFiles, call: Call, step: int) -> None:
        self.name, self.arguments = call
        parsed = reconstruction.parse(*call)
        assert parsed is not None
        self.call = parsed
        self.ticket: Ticket = lane.begin(parsed, step)
        self.sent: list[Files] = []
        self.result: Result | None = None
        self.before: Truth = {}
        self.after: Truth = {}


class MixedBesideBoth(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        disk = FilesystemBackend(root_dir=self.root, virtual_mode=True)
        self.tools = Tools(CompositeBackend(default=StateBackend(), routes={MOUNT: disk}))
        self.lane = LaneFiles(SharedFiles(cid_of), cid_of)
        self.state: Files = {}
        self.step = 0
        self.numbered: dict[tuple[str, int], str] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def truth(self, updates: list[Files]) -> Truth:
        found = {}
        for path, entry in merged(self.state, updates).items():
            content = contents.content_of(entry)
            if isinstance(content, Content):
                found[path] = cid_of(content.data)
        for path in PATHS:
            file = self.root / path.removeprefix(MOUNT)
            if path.startswith(MOUNT) and file.is_file():
                found[path] = cid_of(file.read_bytes())
        return found

    @initialize(texts=st.dictionaries(st.sampled_from(PATHS), TEXTS, min_size=1))
    def files_lie_there_already(self, texts: dict[str, str]) -> None:
        for path, text in texts.items():
            if path.startswith(MOUNT):
                file = self.root / path.removeprefix(MOUNT)
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(text.encode("utf-8", "replace"))
            else:
                self.state[path] = {"content": text}
        self.next_superstep()

    def next_superstep(self) -> None:
        self.step += 1
        for version, _ in self.lane.adopt(self.state, self.step).present:
            self.note(version)
        self.check_beliefs()

    @rule(
        calls=st.lists(CALLS, min_size=1, max_size=3), turn_ends=st.sampled_from([False, False, True]), data=st.data()
    )
    def a_superstep(
        self,
        calls: list[Call],
        turn_ends: bool,  # noqa: FBT001 - hypothesis passes it by name
        data: st.DataObject,
    ) -> None:
        self.step += 1
        started: dict[int, Open] = {}
        for at in data.draw(st.permutations(sorted([*range(len(calls))] * 3)), "beginnings, runs and ends"):
            if at not in started:
                started[at] = Open(self.lane, calls[at], self.step)
                continue
            one = started[at]
            if one.result is None:
                one.before = self.truth([])
                with task(self.state) as one.sent:
                    one.result = self.tools.call(one.name, one.arguments)
                one.after = self.truth(one.sent)
            else:
                effect = self.lane.settle(one.ticket, one.result.outcome(one.call), one.result.content)
                self.check(effect, one)
        self.state = merged(self.state, [update for at in sorted(started) for update in started[at].sent])
        if turn_ends:
            self.lane.adopt(self.state, None)
            self.lane.rest()
            self.lane.shared.rest()
        self.next_superstep()

    def note(self, version: Version) -> None:
        """A version's number stands for one content, and a new one is higher than all before."""
        key = (version.path, version.ordinal)
        if key not in self.numbered:
            assert all(ordinal < version.ordinal for path, ordinal in self.numbered if path == version.path)
            self.numbered[key] = version.cid
        assert self.numbered[key] == version.cid

    def check(self, effect: Effect, one: Open) -> None:
        """What is said of a call is what it found and what it left."""
        match effect:
            case Wrote(version, replaced, _):
                assert one.after[one.call.path] == version.cid
                assert replaced is None or one.before.get(replaced.path) == replaced.cid
                self.note(version)
            case Unchanged(version):
                assert one.after.get(version.path) == version.cid
            case Removed(versions):
                for version in versions:
                    assert one.before.get(version.path) == version.cid
                    assert version.path not in one.after
            case ReadVersion(version) | ReadBytes(version):
                assert one.before[version.path] == version.cid
                self.note(version)
            case _:
                pass

    def check_beliefs(self) -> None:
        """Between two supersteps, the lane's files are the state's and those outside are the disk's."""
        truth = self.truth([])
        assert {known.version.path: known.version.cid for known in self.lane.current()} == {
            path: cid for path, cid in truth.items() if not path.startswith(MOUNT)
        }
        for path, known in self.lane.shared._current.items():
            assert path.startswith(MOUNT)
            assert truth.get(path) == known.version.cid
        assert all(path.startswith(MOUNT) for path in self.lane.shared.paths)


TestMixedBesideBoth = MixedBesideBoth.TestCase
TestMixedBesideBoth.settings = settings(max_examples=EXAMPLES, stateful_step_count=8)
