"""The table of files outside state beside a real directory: what is believed of a file is what the disk holds."""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agreement.calls import CALLS, PATHS, TEXTS, Call, calls_of
from agreement.real import DiskTools, Result
from eqty_lineage.deepagents.facts import Version
from eqty_lineage.deepagents.filesystem import reconstruction
from eqty_lineage.deepagents.filesystem.effects import (
    Effect,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Ticket,
    Unchanged,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import disturbs
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.reconstruction import Execute, Failed, Read
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from support.files import EXAMPLES, cid_of

Disk = dict[str, bytes]

CALLS_ABOUT_ONE = calls_of(st.just("/a"), st.just("/"))
SHELL = ("execute", {"command": "true"})
CHANGES = st.dictionaries(st.sampled_from(PATHS), TEXTS | st.none(), max_size=2)
"""What changes without a call of the file tools: a path's new text, or that it is gone."""


def at_once(calls: st.SearchStrategy[Call]) -> st.SearchStrategy[list[tuple[int, Call]]]:
    """Some calls, each in one of two lanes."""
    return st.lists(st.tuples(st.sampled_from([0, 1]), calls | st.just(SHELL)), min_size=1, max_size=3)


class Open:
    """A call that has begun, and what the disk held around it once it has run."""

    def __init__(self, lane: LaneFiles, name: str, arguments: dict[str, Any]) -> None:
        call = reconstruction.parse(name, arguments)
        assert call is not None
        self.lane = lane
        self.name = name
        self.arguments = arguments
        self.call = call
        self.ticket: Ticket = lane.begin(call, 1)
        self.result: Result | None = None
        self.raised = False
        self.before: Disk = {}
        self.after: Disk = {}

    @property
    def has_run(self) -> bool:
        return self.raised or self.result is not None


class SharedBesideDisk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.tools = DiskTools(Path(self.folder.name))
        self.shared = SharedFiles(cid_of)
        self.lanes = [LaneFiles(self.shared, cid_of) for _ in range(2)]
        self.open: list[Open] = []
        self.numbered: dict[tuple[str, int], str] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def disk(self) -> Disk:
        return {path: data for path in PATHS if (data := self.tools.bytes_at(path)) is not None}

    @initialize(texts=st.dictionaries(st.sampled_from(["/a", "/d/a", "/p.png"]), TEXTS, min_size=1))
    def files_lie_there_already(self, texts: dict[str, str]) -> None:
        self.change_behind_the_back(texts)

    def change_behind_the_back(self, texts: dict[str, str | None]) -> None:
        for path, text in texts.items():
            file = self.tools.on_disk(path)
            with suppress(OSError):
                if text is None:
                    file.unlink()
                else:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text.encode("utf-8", "replace"))

    @rule(
        calls=at_once(CALLS) | at_once(CALLS_ABOUT_ONE),
        lost=st.sampled_from([None, None, None, 0, 1]),
        turn_ends=st.sampled_from([False, False, False, True]),
        data=st.data(),
    )
    def some_calls_are_made(
        self,
        calls: list[tuple[int, Call]],
        lost: int | None,
        turn_ends: bool,  # noqa: FBT001 - hypothesis passes it by name
        data: st.DataObject,
    ) -> None:
        """Each begins, runs and ends as its turns come; what becomes of a ``lost`` one is never heard."""
        started: dict[int, Open] = {}
        for at in data.draw(st.permutations(sorted([*range(len(calls))] * 3)), "beginnings, runs and ends"):
            lane, call = calls[at]
            if at not in started:
                started[at] = Open(self.lanes[lane], *call)
                self.open.append(started[at])
            elif not started[at].has_run:
                self.run(started[at], data)
            else:
                self.open.remove(started[at])
                self.end(started[at], lost=at == lost)
            self.check_beliefs()
        if turn_ends:
            self.shared.rest()
            for lane in self.lanes:
                lane.rest()
            self.change_behind_the_back(data.draw(CHANGES, "what changes between turns"))

    @rule(text=TEXTS, change=CALLS_ABOUT_ONE, data=st.data())
    def a_file_is_written_changed_and_read(self, text: str, change: Call, data: st.DataObject) -> None:
        """One call after the other: whatever is believed at last is recognised as it is read."""
        for call in (("write_file", {"file_path": "/a", "content": text}), change):
            one = Open(self.lanes[0], *call)
            self.run(one, data)
            self.end(one, lost=False)
            self.check_beliefs()
        believed = self.shared.held("/a")
        one = Open(self.lanes[0], "read_file", {"file_path": "/a"})
        self.run(one, data)
        effect = self.end(one, lost=False)
        assert believed is None or effect == ReadVersion(believed.version)

    def run(self, one: Open, data: st.DataObject) -> None:
        one.before = self.disk()
        if isinstance(one.call, Execute):
            self.change_behind_the_back(data.draw(CHANGES, "the shell changes"))
            one.result = Result(content="done", error=False)
        else:
            try:
                one.result = self.tools.call(one.name, one.arguments)
            except ValueError:
                one.raised = True
        one.after = self.disk()

    def end(self, one: Open, *, lost: bool) -> Effect:
        effect: Effect = Nothing()
        if lost:
            one.lane.abandon(one.ticket)
        elif one.result is None:
            effect = one.lane.settle(one.ticket, Failed())
        else:
            effect = one.lane.settle(one.ticket, one.result.outcome(one.call), one.result.content)
        self.check(effect, one)
        return effect

    def note(self, version: Version) -> None:
        """A version's number stands for one content, and a new one is higher than all before."""
        key = (version.path, version.ordinal)
        if key not in self.numbered:
            assert all(ordinal < version.ordinal for path, ordinal in self.numbered if path == version.path)
            self.numbered[key] = version.cid
        assert self.numbered[key] == version.cid

    def check(self, effect: Effect, one: Open) -> None:
        """What is said of a call is what the disk held as it ran."""
        before = {path: cid_of(data) for path, data in one.before.items()}
        after = {path: cid_of(data) for path, data in one.after.items()}
        match effect:
            case Wrote(version, replaced, data):
                assert version.cid == cid_of(data)
                assert version.cid == after[one.call.path]
                assert replaced is None or before.get(replaced.path) == replaced.cid
                self.note(version)
            case Unchanged(version):
                assert before.get(version.path) == after.get(version.path) == version.cid
            case Removed(versions):
                for version in versions:
                    assert before.get(version.path) == version.cid
                    assert version.path not in after
            case ReadVersion(version):
                assert isinstance(one.call, Read)
                assert after[one.call.path] == version.cid
            case ReadBytes(version, data):
                assert after[one.call.path] == version.cid == cid_of(data)
                self.note(version)
            case _:
                pass

    def check_beliefs(self) -> None:
        """What is believed of a file is what the disk holds, unless a call is running that can have changed it."""
        for path, known in self.shared._current.items():
            if not any(disturbs(one.call, Read(path, None, None)) for one in self.open):
                data = self.tools.bytes_at(path)
                assert data is not None
                assert cid_of(data) == known.version.cid
                assert known.text is None or known.text.encode() == data


TestSharedBesideDisk = SharedBesideDisk.TestCase
TestSharedBesideDisk.settings = settings(max_examples=EXAMPLES, stateful_step_count=8)
