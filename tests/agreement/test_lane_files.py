"""One lane's table of files beside a real StateBackend: what it says of a superstep is what the state then holds."""

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agreement.calls import TEXTS, Call, calls_of
from agreement.real import Files, StateTools, merged, task
from eqty_lineage.deepagents.facts import Version, Why
from eqty_lineage.deepagents.filesystem import contents, reconstruction
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.filesystem.effects import (
    Edited,
    Effect,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Rendered,
    Unchanged,
    Unknown,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import disturbs
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.reconstruction import Edit, FileCall, Write
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from support.files import EXAMPLES, cid_of

PATHS = st.sampled_from(["/a", "//a", "/d", "/d/a", "/d/e/b", "/p.png"])
CALLS = calls_of(PATHS, st.just("/"))
ENTRIES = st.one_of(
    st.fixed_dictionaries({"content": TEXTS}, optional={"encoding": st.just("utf-8")}),
    st.fixed_dictionaries({"content": st.lists(st.sampled_from(["a", "b", ""]), max_size=3)}),
    st.fixed_dictionaries({"content": st.sampled_from(["", "YQ==", "gA==", "!"]), "encoding": st.just("base64")}),
)
STATES = st.dictionaries(PATHS, ENTRIES, max_size=4)


def bytes_of(entry: Any) -> bytes | None:
    """What the state's entry stands for; ``None`` if there is no entry or its bytes cannot be told."""
    content = None if entry is None else contents.content_of(entry)
    return content.data if isinstance(content, Content) else None


class Started:
    """Something that runs in a superstep: what it sends is what it makes of the state it sees."""

    sent: Files

    def begin(self, lane: LaneFiles, step: int) -> None:
        raise NotImplementedError

    def end(self, lane: LaneFiles, step: int) -> Iterator[tuple[str, Effect]]:
        """End it; each effect, and the path that it is about."""
        raise NotImplementedError


class Called(Started):
    """A file tool call. Releases up to 0.4.12 return what they send as an update ``in_command``."""

    def __init__(self, tools: StateTools, state: Files, call: Call, *, in_command: bool) -> None:
        parsed = reconstruction.parse(*call)
        assert parsed is not None
        self.call: FileCall = parsed
        with task(state) as sent:
            self.result = tools.call(*call)
        self.sent = one_update(sent)
        self.in_command = in_command and isinstance(self.call, Write | Edit) and bool(sent)
        self.begun = False

    def begin(self, lane: LaneFiles, step: int) -> None:
        self.ticket = lane.begin(self.call, step)

    def end(self, lane: LaneFiles, step: int) -> Iterator[tuple[str, Effect]]:
        path = self.call.path
        if self.in_command:
            lane.abandon(self.ticket)
            yield path, lane.update(path, self.sent[path], step, self.ticket)
        else:
            yield path, lane.settle(self.ticket, self.result.outcome(self.call), self.result.content)


class Updated(Started):
    """A tool of the user's that returns a ``Command`` with an update of ``files``."""

    def __init__(self, update: Files) -> None:
        self.sent = update

    def begin(self, lane: LaneFiles, step: int) -> None:
        pass

    def end(self, lane: LaneFiles, step: int) -> Iterator[tuple[str, Effect]]:
        for path, entry in [*self.sent.items(), *self.sent.items()]:
            # the node that ran it returns the same again
            yield path, lane.update(path, entry, step)


class Delegated(Started):
    """A subagent, which starts from a copy of the state and returns all the files it ends with, if any changed."""

    def __init__(self, tools: StateTools, state: Files, calls: list[Call]) -> None:
        self.tools = tools
        self.called: list[Called] = []
        self.start = end = state
        for call in calls:
            self.called.append(Called(tools, end, call, in_command=False))
            end = merged(end, [self.called[-1].sent])
        self.sent = {} if end == state else end

    def begin(self, lane: LaneFiles, step: int) -> None:
        self.child = Observed(lane.fork(), self.tools, self.start)
        shown = {known.version for known in lane.current()}
        assert {known.version for known in self.child.lane.current()} == shown, "it starts from its caller's versions"

    def end(self, lane: LaneFiles, step: int) -> Iterator[tuple[str, Effect]]:
        for called in self.called:
            self.child.superstep([called], [0, 0], [])
        lane.give_back(self.child.lane)
        said = [lane.update(path, entry, step) for path, entry in self.sent.items()]
        assert not any(isinstance(effect, Wrote) for effect in said), "what it made is not its caller's work"
        # the node that ran it returns the same again
        assert [lane.update(path, entry, step) for path, entry in self.sent.items()] == said
        yield from zip(self.sent, said, strict=True)


class Observed:
    """A lane beside the state it observes; what it says is checked against that state."""

    def __init__(self, lane: LaneFiles, tools: StateTools, state: Files) -> None:
        self.lane = lane
        self.tools = tools
        self.state = state
        self.numbered: dict[tuple[str, int], str] = {}
        self.step = 0
        self.next_superstep()

    def next_superstep(self) -> None:
        self.step += 1
        self.adopt(self.step)
        self.check_table()

    def adopt(self, step: int | None) -> None:
        adoption = self.lane.adopt(self.state, step)
        for version, data in adoption.present:
            self.note(version)
            assert data is None or data == bytes_of(self.state[version.path])
        assert {path for path, _ in adoption.unreadable} == {
            path for path, entry in self.state.items() if bytes_of(entry) is None
        }

    def note(self, version: Version) -> None:
        """A version's number stands for one content, and a new one is higher than all before."""
        key = (version.path, version.ordinal)
        if key not in self.numbered:
            assert all(ordinal < version.ordinal for path, ordinal in self.numbered if path == version.path)
            self.numbered[key] = version.cid
        assert self.numbered[key] == version.cid

    def superstep(self, started: list[Started], order: list[int], starting: list[int]) -> None:
        """Each of ``started`` begins and ends as its turns come in ``order``; other nodes start after some turns."""
        self.step += 1
        begun: set[int] = set()
        for turn, at in enumerate(order):
            if at not in begun:
                begun.add(at)
                started[at].begin(self.lane, self.step)
            else:
                for path, effect in started[at].end(self.lane, self.step):
                    self.check(effect, path, started[at])
            if turn in starting:
                self.adopt(self.step)
        self.state = merged(self.state, [one.sent for one in started])
        self.next_superstep()

    def pause_and_resume(self, done: list[Called], waiting: list[Called]) -> None:
        """``done`` end; ``waiting`` are interrupted and run when the graph resumes, before any state is shown."""
        self.step += 1
        for called in [*done, *waiting]:
            called.begin(self.lane, self.step)
        for called in done:
            for path, effect in called.end(self.lane, self.step):
                self.check(effect, path, called)
        for called in waiting:
            self.lane.abandon(called.ticket)
        # what the run returns: the state as the superstep began
        self.adopt(None)
        self.rest()
        for called in waiting:
            called.begin(self.lane, self.step)
            for path, effect in called.end(self.lane, self.step):
                self.check(effect, path, called, seen=False)
        self.state = merged(self.state, [one.sent for one in [*done, *waiting]])
        self.next_superstep()

    def rest(self) -> None:
        self.lane.rest()
        self.lane.shared.rest()

    def check(self, effect: Effect, path: str, started: Started, *, seen: bool = True) -> None:
        """What is said of a call is what it made of the state that it saw; all of it, if the lane has seen it too."""
        before = bytes_of(self.state.get(path))
        match effect:
            case Wrote(version, replaced, written):
                assert (version.path, version.cid) == (path, cid_of(written))
                assert written == bytes_of(started.sent[path])
                if seen or replaced is not None:
                    assert (None if replaced is None else replaced.cid) == (None if before is None else cid_of(before))
                self.note(version)
            case Unchanged(version):
                assert (version.path, version.cid) == (path, cid_of(bytes_of(started.sent[path])))
                self.note(version)
            case Removed(versions):
                told = {
                    gone: cid_of(before)
                    for gone, entry in started.sent.items()
                    if entry is None and (before := bytes_of(self.state.get(gone))) is not None
                }
                removed = {version.path: version.cid for version in versions}
                assert removed.items() <= told.items()
                if isinstance(started, Updated):
                    # what is deleted by several updates is removed once
                    assert removed.keys() <= {path}
                elif seen:
                    assert removed == told
            case ReadVersion(version):
                assert version.path == path
                assert version.cid == cid_of(before)
                self.note(version)
            case Rendered():
                assert before is None or not seen
            case ReadBytes(version, read):
                assert (version.path, version.cid) == (path, cid_of(read))
                assert not seen
                self.note(version)
            case Nothing():
                assert isinstance(started, Called)
                assert started.result.error
            case Edited(why=why):
                assert why in {Why.UNENCODABLE, Why.BAD_BINARY, Why.NO_BASE}
                assert bytes_of(started.sent[path]) is None or before is None or not seen
            case Unknown(Why.UNCLEAR):
                assert isinstance(started, Called)
                assert "no lines were read" in started.result.content
            case Unknown(why):
                assert why in {Why.UNENCODABLE, Why.BAD_BINARY, Why.NO_BASE}
                assert bytes_of(started.sent[path]) is None or before is None or not seen
            case _:
                raise AssertionError(effect)

    def check_table(self) -> None:
        """What is current is what the state holds, and nothing else is believed."""
        current = {known.version.path: known for known in self.lane.current()}
        readable = {path: entry for path, entry in self.state.items() if bytes_of(entry) is not None}
        assert current.keys() == readable.keys()
        for path, known in current.items():
            assert known.version.cid == cid_of(bytes_of(readable[path]))
            if readable[path].get("encoding") != "base64":
                assert known.text == contents.text_of(readable[path])
        assert not self.lane.shared.paths
        assert not self.lane.shared._current


class LaneBesideState(RuleBasedStateMachine):
    @initialize(files=STATES)
    def a_graph_is_handed_files(self, files: Files) -> None:
        self.tools = StateTools()
        self.root = Observed(LaneFiles(SharedFiles(cid_of), cid_of), self.tools, files)

    @rule(
        calls=st.lists(st.tuples(CALLS, st.booleans()), min_size=1, max_size=3),
        updates=st.lists(st.dictionaries(PATHS, ENTRIES | st.none(), max_size=2), max_size=1),
        delegated=st.lists(st.lists(CALLS, max_size=3), max_size=2),
        data=st.data(),
    )
    def a_superstep(
        self,
        calls: list[tuple[Call, bool]],
        updates: list[Files],
        delegated: list[list[Call]],
        data: st.DataObject,
    ) -> None:
        state = self.root.state
        started: list[Started] = [
            *(Called(self.tools, state, call, in_command=in_command) for call, in_command in calls),
            *(Updated(update) for update in updates),
            *(Delegated(self.tools, state, inner) for inner in delegated),
        ]
        started = data.draw(st.permutations(started), "as the model asks")
        order = data.draw(st.permutations(sorted([*range(len(started))] * 2)), "starts and ends")
        starting = data.draw(st.lists(st.sampled_from(order), max_size=1), "other nodes start")
        self.root.superstep(started, order, starting)

    @rule(done=st.lists(CALLS, max_size=2), waiting=st.lists(CALLS, min_size=1, max_size=2))
    def a_superstep_that_is_paused(self, done: list[Call], waiting: list[Call]) -> None:
        state = self.root.state
        done_calls, waiting_calls = (
            [Called(self.tools, state, call, in_command=False) for call in calls] for calls in (done, waiting)
        )
        # before a state is shown, a lane takes its files to be outside, where one call sees what another wrote
        pairs = itertools.permutations(waiting_calls, 2)
        assume(not any(disturbs(one.call, other.call) for one, other in pairs))
        self.root.pause_and_resume(done_calls, waiting_calls)

    @rule(files=STATES)
    def the_turn_ends_and_another_starts(self, files: Files) -> None:
        self.root.adopt(None)
        self.root.rest()
        self.root.state = {**self.root.state, **files}
        self.root.next_superstep()


def one_update(sent: list[Files]) -> Files:
    return {path: entry for update in sent for path, entry in update.items()}


TestLaneBesideState = LaneBesideState.TestCase
TestLaneBesideState.settings = settings(max_examples=EXAMPLES, stateful_step_count=8)
