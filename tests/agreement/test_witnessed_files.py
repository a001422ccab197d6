"""The watched table beside a real directory that others change too: what is asserted is what the disk held then."""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agreement.calls import CALLS, PATHS, TEXTS, Call, calls_of
from agreement.real import DiskTools, Result
from eqty_lineage.deepagents.facts import Role, Version
from eqty_lineage.deepagents.filesystem import reconstruction
from eqty_lineage.deepagents.filesystem.effects import (
    Answers,
    Edited,
    Effect,
    Found,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Rendered,
    Unchanged,
    Unknown,
    Witnessed,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import disturbs
from eqty_lineage.deepagents.filesystem.reconstruction import Execute, Failed, Foreign, Read, Search
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from eqty_lineage.deepagents.filesystem.watched import WatchedFiles
from support.files import EXAMPLES, cid_of

Disk = dict[str, bytes]

ONE = calls_of(st.just("/a"), st.just("/d"))
OTHERS = st.sampled_from(
    [
        ("execute", {"command": "true"}),
        ("execute", {"command": "true"}),
        ("formatter", {"file": "/a"}),
        ("grep", {"pattern": "a", "output_mode": "content"}),
    ]
)
CHANGES = st.dictionaries(st.sampled_from(PATHS), TEXTS | st.none(), max_size=2)
"""What changes without a call of the file tools: a path's new text, or that it is gone."""


class Open:
    """A call that has begun, what the disk held as it began and at each moment since."""

    def __init__(self, lane: LaneFiles, call: Call) -> None:
        self.name, self.arguments = call
        parsed = reconstruction.parse(*call)
        assert parsed is not None
        self.lane, self.call = lane, parsed
        self.result: Result | None = None
        self.raised = False
        self.before: Disk = {}
        self.after: Disk = {}
        self.met: list[Disk] = []

    @property
    def has_run(self) -> bool:
        return self.raised or self.result is not None


class WatchedBesideDisk(RuleBasedStateMachine):
    """A deep agent on a disk shows states without files, or with ``none``; one that goes on shows ``nothing`` yet."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.tools = DiskTools(Path(self.folder.name))
        self.shared = WatchedFiles(cid_of)
        self.lanes = [LaneFiles(self.shared, cid_of) for _ in range(2)]
        self.step = 0
        self.open: list[Open] = []
        self.numbered: dict[tuple[str, int, int], str] = {}
        self.wrote: set[tuple[str, int, int]] = set()

    def teardown(self) -> None:
        self.folder.cleanup()

    def disk(self) -> Disk:
        # a delete names this one too, and a sibling may put a file there
        return {path: data for path in [*PATHS, "//d"] if (data := self.tools.bytes_at(path)) is not None}

    def answers(self, paths: list[str], data: st.DataObject) -> Answers:
        """What a witness on the same disk says; now and then it says nothing."""
        assert len(paths) == len(set(paths))
        if not self.others and data.draw(st.integers(0, 9), "the witness says nothing at 0") == 0:
            return {}
        return {path: self.tools.bytes_at(path) for path in paths}

    @initialize(
        texts=st.dictionaries(st.sampled_from(["/a", "/d/a", "/p.png"]), TEXTS, min_size=1),
        shown=st.sampled_from(["nothing", "no files", "none"]),
        others=st.booleans(),
    )
    def files_lie_there_already(self, texts: dict[str, str], shown: str, others: bool) -> None:  # noqa: FBT001
        """Either ``others`` change files too, or the witness does not always answer: both at once, nothing tells."""
        self.shown, self.others = shown, True
        self.change_behind_the_back(texts)
        self.others = others
        self.a_superstep_begins()

    def a_superstep_begins(self) -> None:
        self.step += 1
        for lane in self.lanes:
            if self.shown == "none":
                lane.show_none(self.step)
            elif self.shown == "no files":
                lane.adopt({}, self.step)

    def change_behind_the_back(self, texts: dict[str, str | None], *, by_a_call: bool = False) -> None:
        for path, text in texts.items() if self.others or by_a_call else ():
            file = self.tools.on_disk(path)
            with suppress(OSError):
                if text is None:
                    file.unlink()
                else:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(text.encode("utf-8", "replace"))
        self.note_moment()

    def note_moment(self) -> None:
        now = self.disk()
        for one in self.open:
            one.met.append(now)

    @rule(
        calls=st.lists(st.tuples(st.sampled_from([0, 1]), CALLS | ONE | ONE | OTHERS), min_size=1, max_size=3),
        outside=CHANGES,
        lost=st.sampled_from([None, None, None, None, 0]),
        gone_on=st.booleans(),
        data=st.data(),
    )
    def some_calls_are_made(
        self,
        calls: list[tuple[int, Call]],
        outside: dict[str, str | None],
        lost: int | None,
        gone_on: bool,  # noqa: FBT001 - hypothesis passes it by name
        data: st.DataObject,
    ) -> None:
        """In one superstep; something outside the run changes files before it."""
        self.change_behind_the_back(outside)
        self.a_superstep_begins()
        started: dict[int, Open] = {}
        for at in data.draw(st.permutations(sorted([*range(len(calls))] * 3)), "beginnings, runs and ends"):
            lane, call = calls[at]
            if at not in started:
                started[at] = self.begin(Open(self.lanes[lane], call), data)
            elif not started[at].has_run:
                self.run(started[at], data)
            else:
                self.end(started[at], data, lost=at == lost, gone_on=gone_on)
            self.check_beliefs()

    @rule(text=TEXTS, change=ONE, outside=CHANGES, data=st.data())
    def a_file_is_read_and_changed(
        self, text: str, change: Call, outside: dict[str, str | None], data: st.DataObject
    ) -> None:
        """One call after the other: each file is known exactly at its end, where the witness answers."""
        read = ("read_file", {"file_path": "/a"})
        for call in (("write_file", {"file_path": "/a", "content": text}), read, change, read):
            self.change_behind_the_back(outside)
            self.a_superstep_begins()
            one = self.begin(Open(self.lanes[0], call), data)
            self.run(one, data)
            self.end(one, data, lost=False, gone_on=False)
            self.check_beliefs()

    @rule(changes=CHANGES)
    def a_turn_ends(self, changes: dict[str, str | None]) -> None:
        self.shared.rest()
        for lane in self.lanes:
            lane.rest()
        self.change_behind_the_back(changes, by_a_call=True)

    def begin(self, one: Open, data: st.DataObject) -> Open:
        seen = self.answers(one.lane.asks_before(one.call), data)
        one.ticket = one.lane.begin(one.call, self.step, seen=seen)
        one.met.append(self.disk())
        self.open.append(one)
        return one

    def run(self, one: Open, data: st.DataObject) -> None:
        one.before = self.disk()
        if isinstance(one.call, Execute | Foreign):
            paths = st.just("/a") if isinstance(one.call, Foreign) else st.sampled_from(PATHS)
            changes = data.draw(st.dictionaries(paths, TEXTS | st.none(), max_size=2), one.name)
            self.change_behind_the_back(changes, by_a_call=True)
            one.result = Result(content="done", error=False)
        elif isinstance(one.call, Search):
            one.result = self.tools.call(one.name, {"path": "/", **one.arguments})
        else:
            try:
                one.result = self.tools.call(one.name, one.arguments)
            except ValueError:
                one.raised = True
        one.after = self.disk()
        self.note_moment()

    def end(self, one: Open, data: st.DataObject, *, lost: bool, gone_on: bool) -> None:
        if lost:
            one.lane.abandon(one.ticket, may_go_on=gone_on)
            self.open.remove(one)
            return
        content = one.result.content if one.result is not None else None
        outcome = Failed() if one.result is None else one.result.outcome(one.call)
        seen = self.answers(one.lane.asks_after(one.ticket, outcome, content), data)
        self.note_moment()
        effect = one.lane.settle(one.ticket, outcome, content, seen)
        self.open.remove(one)
        self.check(effect, one)

    # --- what is so

    def note(self, version: Version, one: Open, *, wrote: bool = False) -> None:
        """A version's number stands for one content, and is written once; where it may be in a state, in its lane."""
        key = (version.path, version.ordinal, self.lanes.index(one.lane) if self.shown != "nothing" else 0)
        assert self.numbered.setdefault(key, version.cid) == version.cid
        if wrote:
            assert key not in self.wrote
            self.wrote.add(key)

    def check(self, effect: Effect, one: Open) -> None:
        told = effect.told if isinstance(effect, Witnessed) else effect
        self.check_told(told, one)
        for version, role in effect.uses if isinstance(effect, Witnessed) else ():
            assert one.lane.bytes_of(version) is None or cid_of(one.lane.bytes_of(version) or b"") == version.cid
            self.check_use(version, role, one)

    def check_use(self, version: Version, role: Role, one: Open) -> None:
        path, cid = version.path, version.cid
        before, after = one.before.get(path), one.after.get(path)
        held = [moment.get(path) for moment in one.met]
        self.note(version, one, wrote=role is Role.WROTE)
        match role:
            case Role.WROTE:
                assert after is not None
                assert cid == cid_of(after)
            case Role.REPLACED:
                assert before is not None
                assert cid == cid_of(before)
            case Role.REMOVED:
                assert before is not None
                assert cid == cid_of(before)
                assert after is None
            case Role.READ:
                assert after is not None
                assert cid == cid_of(after)
            case Role.PRESENT:
                assert cid in {cid_of(data) for data in held if data is not None}

    def check_told(self, told: Any, one: Open) -> None:
        match told:
            case Wrote(version, replaced, data):
                assert version.cid == cid_of(data)
                assert version.path == one.call.path
                self.check_use(version, Role.WROTE, one)
                if replaced is not None:
                    self.check_use(replaced, Role.REPLACED, one)
            case Unchanged(version):
                self.check_use(version, Role.PRESENT, one)
                # in a state, what a sibling of the step wrote as well is one version
                assert one.ticket.contested or one.after.get(version.path) == one.before.get(version.path)
            case Removed(versions):
                for version in versions:
                    self.check_use(version, Role.REMOVED, one)
            case ReadVersion(version) | ReadBytes(version):
                self.check_use(version, Role.READ, one)
            case Found(versions):
                for version in versions:
                    self.check_use(version, Role.READ, one)
            case Edited(base=base):
                if base is not None:
                    self.check_use(base, Role.REPLACED, one)
            case _:
                assert isinstance(told, Rendered | Unknown | Nothing)

    def check_beliefs(self) -> None:
        """What is believed of a file is what the disk holds, unless something unseen has changed it or a call can."""
        for path, known in () if self.others else self.shared._current.items():
            if not any(disturbs(one.call, Read(path, None, None)) for one in self.open):
                data = self.tools.bytes_at(path)
                assert data is not None
                assert cid_of(data) == known.version.cid
                assert known.text is None or known.text.encode() == data


TestWatchedBesideDisk = WatchedBesideDisk.TestCase
TestWatchedBesideDisk.settings = settings(max_examples=EXAMPLES, stateful_step_count=8)
