"""However the callbacks of calls at the same time come in, the versions of a file are one line."""

from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.facts import Version
from eqty_lineage.deepagents.filesystem.effects import ReadVersion, Removed, Ticket, Unchanged, Wrote
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.reconstruction import Execute, Failed, FileCall, Read, Succeeded
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from support.files import cid_of, delete, edit, read, shown, write

FILE_CALLS: st.SearchStrategy[FileCall] = st.one_of(
    st.builds(write, st.sampled_from(["/a", "/d/a", "//a"]), st.sampled_from(["x", "y", "xx"])),
    st.builds(edit, st.sampled_from(["/a", "/d/a"]), st.just("x"), st.sampled_from(["y", "z"])),
    st.builds(delete, st.sampled_from(["/a", "/d", "/"])),
    st.builds(read, st.sampled_from(["/a", "/d/a"])),
    st.just(Execute()),
)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int, FileCall, bool]]:
    """When each call begins and ends, by the same index; in which lane; and whether it succeeds."""
    calls = draw(st.lists(FILE_CALLS, min_size=1, max_size=6))
    lanes = draw(st.lists(st.sampled_from([0, 1]), min_size=len(calls), max_size=len(calls)))
    successes = draw(st.lists(st.sampled_from([True, True, False]), min_size=len(calls), max_size=len(calls)))
    order = draw(st.permutations(sorted([*range(len(calls))] * 2)))
    return [(at, lanes[at], calls[at], successes[at]) for at in order]


def effects_of(history: list[tuple[int, int, FileCall, bool]], lanes: list[LaneFiles], step: int) -> list[object]:
    tickets: dict[int, Ticket] = {}
    effects: list[object] = []
    for at, lane, call, succeeds in history:
        if at not in tickets:
            tickets[at] = lanes[lane].begin(call, step)
        else:
            outcome = Succeeded(1) if succeeds else Failed()
            effects.append(lanes[lane].settle(tickets[at], outcome, shown("x") if isinstance(call, Read) else "done"))
    return effects


@given(st.lists(histories(), max_size=3))
def test_outside_state_each_version_is_made_once_and_ends_once(
    supersteps: list[list[tuple[int, int, FileCall, bool]]],
) -> None:
    shared = SharedFiles(cid_of)
    lanes = [LaneFiles(shared, cid_of) for _ in range(2)]
    made: set[Version] = set()
    ended: set[Version] = set()
    for step, history in enumerate(supersteps):
        for effect in effects_of(history, lanes, step):
            match effect:
                case Wrote(version, replaced, _):
                    assert all(version.ordinal > other.ordinal for other in made if other.path == version.path)
                    made.add(version)
                    over = () if replaced is None else (replaced,)
                    assert all(old.path == version.path and old.ordinal < version.ordinal for old in over)
                case Removed(versions):
                    over = versions
                case Unchanged(version) | ReadVersion(version):
                    assert version in made - ended
                    over = ()
                case _:
                    over = ()
            assert made - ended >= set(over), "only what was made and had not ended is replaced or removed"
            ended |= set(over)


@given(histories(), st.lists(st.sampled_from(["x", "y", "xx", None]), min_size=3, max_size=3))
def test_in_state_every_call_is_told_by_the_state_that_the_superstep_began_with(
    history: list[tuple[int, int, FileCall, bool]], texts: list[str | None]
) -> None:
    state = {
        path: {"content": text} for path, text in zip(["/a", "/d/a", "//a"], texts, strict=True) if text is not None
    }
    lane = LaneFiles(SharedFiles(cid_of), cid_of)
    lane.adopt(state, 1)
    began_with = {known.version for known in lane.current()}
    for effect in effects_of(history, [lane, lane], 2):
        match effect:
            case Wrote(version, replaced, _):
                assert version not in began_with
                assert replaced is None or replaced in began_with
                assert (replaced is None) == (version.path not in state)
            case Removed(versions):
                assert began_with.issuperset(versions)
            case ReadVersion(version):
                assert version in began_with
            case _:
                pass
    assert {known.version for known in lane.current()} == began_with
