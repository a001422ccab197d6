"""What a witness's answers make of calls: the cases of each kind of call, those that no real disk gives included."""

from collections.abc import Mapping

import pytest

from eqty_lineage.deepagents.facts import Evidence, Role, Version, Why
from eqty_lineage.deepagents.filesystem import judging
from eqty_lineage.deepagents.filesystem.effects import (
    Edited,
    Effect,
    Found,
    Nothing,
    Removed,
    Rendered,
    Ticket,
    Unchanged,
    Unknown,
    Witnessed,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Execute,
    Failed,
    FileCall,
    Foreign,
    Search,
    Succeeded,
    Unclear,
)
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from eqty_lineage.deepagents.filesystem.watched import MOST_HEARD, WatchedFiles
from support.files import block, cid_of, delete, edit, made, read, shown, version, write

SEEN = Evidence.WITNESSED
Disk = Mapping[str, str | bytes | None]


def as_bytes(disk: Disk, paths: list[str]) -> dict[str, bytes | None]:
    return {path: data.encode() if isinstance(data := disk.get(path), str) else data for path in paths}


class Lane:
    """A lane on a disk, whose states have shown that they have no files."""

    def __init__(self, shared: SharedFiles | None = None, *, bare: bool = True) -> None:
        self.shared = shared or WatchedFiles(cid_of)
        self.files = LaneFiles(self.shared, cid_of)
        self.step = 0
        self.bare = bare
        self.next_step()

    def next_step(self) -> None:
        self.step += 1
        if self.bare:
            self.files.show_none(self.step)

    def begin(self, call: FileCall, disk: Disk | None = None, within: tuple[Ticket, ...] = ()) -> Ticket:
        """``disk`` is what the witness sees; without it, it does not answer."""
        seen = {} if disk is None else as_bytes(disk, self.files.asks_before(call))
        return self.files.begin(call, self.step, within=within, seen=seen)

    def end(self, ticket: Ticket, disk: Disk | None = None, *, count: int | None = None, result: object = "") -> Effect:
        paths = self.files.asks_after(ticket, Succeeded(count), result)
        return self.files.settle(ticket, Succeeded(count), result, {} if disk is None else as_bytes(disk, paths))

    def does(
        self, call: FileCall, before: Disk, after: Disk, *, count: int | None = None, result: object = ""
    ) -> Effect:
        effect = self.end(self.begin(call, before), after, count=count, result=result)
        self.next_step()
        return effect

    def believed(self, path: str = "/a") -> Version | None:
        known = self.shared.held(path)
        return None if known is None else known.version


@pytest.fixture
def lane() -> Lane:
    """One that has written ``b`` to /a."""
    lane = Lane()
    assert lane.does(write("/a", "b"), {}, {"/a": "b"}) == Wrote(version("/a", 1, "b", SEEN), None, b"b")
    return lane


V1 = version("/a", 1, "b", SEEN)
V2 = version("/a", 2, "c", SEEN)


class TestWhomItIsAskedAbout:
    def test_a_path_is_asked_about_before_a_change_once_a_call_of_it_has_succeeded(self) -> None:
        lane = Lane()
        assert lane.files.asks_before(edit("/a", "b", "c")) == []
        lane.does(read("/a"), {}, {"/a": "b"}, result=shown("b"))
        assert lane.files.asks_before(edit("/a", "b", "c")) == ["/a"]
        assert lane.files.asks_before(Execute()) == ["/a"]
        assert lane.files.asks_before(read("/a")) == []

    @pytest.mark.parametrize("outcome", [Failed(), Unclear()])
    def test_a_path_whose_latest_call_may_have_been_refused_is_not(self, lane: Lane, outcome: Failed | Unclear) -> None:
        ticket = lane.begin(edit("/a", "b", "c"), {"/a": "b"})
        assert lane.files.asks_after(ticket, outcome, "no") == []
        lane.files.settle(ticket, outcome, "no")
        assert lane.files.asks_before(write("/a", "c")) == []
        assert lane.files.asks_before(Execute()) == []

    def test_what_it_may_not_be_asked_about_is_not_believed(self, lane: Lane) -> None:
        ticket = lane.begin(read("/a"))
        lane.files.settle(ticket, Unclear(), "nothing to show")
        # somebody changed it, and this write cannot tell
        effect = lane.does(write("/a", "d"), {"/a": "c"}, {"/a": "d"})
        assert effect == Witnessed(((version("/a", 2, "d", SEEN), Role.WROTE),))

    def test_a_call_that_changes_no_file_or_failed_asks_nothing(self, lane: Lane) -> None:
        shell = lane.begin(Execute(), {"/a": "b"})
        assert lane.files.asks_after(shell, Failed(), "") == []

    def test_a_file_in_the_state_is_not_asked_about(self) -> None:
        lane = Lane(bare=False)
        lane.files.adopt({"/s": "b"}, 1)
        lane.shared.hear("/s")  # type: ignore[attr-defined]
        for call in (write("/s", "c"), edit("/s", "b", "c"), delete("/s"), read("/s")):
            assert lane.files.asks_before(call) == []
            assert lane.files.asks_after(lane.begin(call), Succeeded(1), "") == []

    def test_what_a_sibling_wrote_to_the_state_is_not_asked_about_for_a_read(self) -> None:
        lane = Lane()
        lane.end(lane.begin(write("/a", "b")))
        assert lane.files.asks_after(lane.begin(read("/a")), Succeeded(), shown("b")) == []

    def test_without_a_witness_nothing_is_asked(self) -> None:
        lane = Lane(SharedFiles(cid_of))
        ticket = lane.begin(write("/a", "b"))
        assert lane.files.asks_before(write("/a", "b")) == []
        assert lane.files.asks_after(ticket, Succeeded(), "") == []
        assert lane.files.bytes_of(V1) is None
        assert not lane.files.is_bare

    def test_what_was_heard_of_longest_ago_is_forgotten(self, lane: Lane) -> None:
        for number in range(MOST_HEARD):
            lane.shared.hear(f"/{number}")  # type: ignore[attr-defined]
        assert lane.files.asks_before(write("/a", "c")) == []
        assert lane.files.asks_before(write("/0", "c")) == ["/0"]

    def test_a_shell_is_looked_at_for_files_that_had_a_version(self, lane: Lane) -> None:
        lane.does(Search(), {}, {}, result="/s:\n  1: x\n")
        assert lane.files.asks_before(edit("/s", "x", "y")) == ["/s"]
        assert lane.files.asks_before(Execute()) == ["/a"]

    def test_a_tool_of_the_users_is_looked_at_for_the_files_it_names(self, lane: Lane) -> None:
        assert lane.files.asks_before(Foreign("fmt /a")) == []
        assert lane.files.asks_after(lane.begin(Foreign("fmt /a")), Succeeded(), "") == ["/a"]
        assert lane.files.asks_after(lane.begin(Foreign("fmt /b")), Succeeded(), "") == []

    def test_a_delete_is_looked_at_for_what_is_known_below_it(self, lane: Lane) -> None:
        lane.does(write("/d/x", "b"), {}, {"/d/x": "b"})
        ticket = lane.begin(delete("/d"), {"/d/x": "b"})
        assert lane.files.asks_after(ticket, Succeeded(), "") == ["/d", "/d/x"]


class TestWrites:
    def test_what_a_write_replaced_is_what_the_file_held_as_it_began(self, lane: Lane) -> None:
        effect = lane.does(write("/a", "d"), {"/a": "c"}, {"/a": "d"})
        v3 = version("/a", 3, "d", SEEN)
        assert effect == Witnessed(((V2, Role.REPLACED), (v3, Role.WROTE)))
        assert lane.believed() == v3
        assert lane.files.bytes_of(V2) == b"c"

    def test_a_write_of_what_the_file_held_changes_nothing(self, lane: Lane) -> None:
        assert lane.does(write("/a", "c"), {"/a": "c"}, {"/a": "c"}) == Witnessed(((V2, Role.PRESENT),))

    def test_a_file_that_was_gone_is_replaced_by_nothing(self, lane: Lane) -> None:
        assert lane.does(write("/a", "c"), {}, {"/a": "c"}) == Witnessed(((V2, Role.WROTE),))

    def test_other_bytes_after_a_write_are_nobodys_and_its_arguments_say_nothing(self, lane: Lane) -> None:
        effect = lane.does(write("/a", "d"), {"/a": "b"}, {"/a": "c"})
        assert effect == Witnessed(((V2, Role.PRESENT),), Nothing(), ("/a",))
        assert lane.believed() is None

    def test_the_bytes_from_before_after_a_write_are_the_version_from_before(self, lane: Lane) -> None:
        effect = lane.does(write("/a", "d"), {"/a": "b"}, {"/a": "b"})
        assert effect == Witnessed(((V1, Role.PRESENT),), Nothing(), ("/a",))

    def test_no_file_after_a_write_contradicts_it(self, lane: Lane) -> None:
        assert lane.does(write("/a", "d"), {"/a": "b"}, {}) == Witnessed((), Nothing(), ("/a",))
        assert lane.believed() is None

    def test_no_file_after_a_first_write_does_not_as_it_may_be_in_the_state(self) -> None:
        assert Lane().does(write("/a", "b"), {}, {}) == Wrote(version("/a", 1, "b"), None, b"b")
        assert Lane(bare=False).does(write("/a", "b"), {}, {}) == Wrote(version("/a", 1, "b"), None, b"b")

    def test_other_bytes_after_a_first_write_leave_both_untold(self) -> None:
        lane = Lane()
        assert lane.does(write("/a", "b"), {}, {"/a": "c"}) == Witnessed((), Nothing(), ("/a",))
        assert lane.believed() is None
        other = Lane(bare=False)
        assert other.does(write("/a", "b"), {}, {"/a": "c"}) == Witnessed((), Nothing(), ("/a",))

    def test_a_write_whose_text_has_no_bytes_left_something_nobody_wrote(self, lane: Lane) -> None:
        effect = lane.does(write("/a", "\ud800"), {"/a": "b"}, {"/a": "c"})
        assert effect == Witnessed(((V2, Role.PRESENT),), Nothing(), ("/a",))
        assert Lane().does(write("/a", "\ud800"), {}, {}) == Unknown(Why.UNENCODABLE)

    def test_a_witness_that_does_not_answer_leaves_all_as_it_is_without(self, lane: Lane) -> None:
        ticket = lane.begin(write("/a", "c"), None)
        assert lane.end(ticket, None) == Wrote(version("/a", 2, "c"), V1, b"c")

    def test_a_write_to_a_file_that_a_search_has_shown_is_outside_the_state(self) -> None:
        lane = Lane()
        lane.does(Search(), {}, {}, result="/a:\n  1: b\n")
        effect = lane.does(write("/a", "c"), {"/a": "b"}, {"/a": "c"})
        assert effect == Witnessed(((V1, Role.REPLACED), (V2, Role.WROTE)))


class TestSiblings:
    def test_a_sibling_that_was_faster_is_seen_as_nobody_and_claims_its_work_as_it_ends(self, lane: Lane) -> None:
        one, two = lane.begin(write("/a", "d"), {"/a": "b"}), lane.begin(write("/a", "c"), {"/a": "b"})
        v2, v3 = version("/a", 2, "d"), version("/a", 3, "c", SEEN)
        assert lane.end(one, {"/a": "c"}) == Witnessed(((v3, Role.PRESENT),), Wrote(v2, None, b"d"))
        assert lane.believed() is None
        assert lane.end(two, {"/a": "c"}) == Witnessed(((v3, Role.WROTE),))
        assert lane.believed() == v3

    def test_the_same_in_a_first_step_where_the_file_may_be_in_the_state(self) -> None:
        lane = Lane()
        one, two = lane.begin(write("/a", "d")), lane.begin(write("/a", "c"))
        v1 = version("/a", 1, "d")
        assert lane.end(one, {"/a": "c"}) == Witnessed(((V2, Role.PRESENT),), Wrote(v1, None, b"d"))
        assert lane.end(two, {"/a": "c"}) == Wrote(V2, None, b"c")

    def test_and_where_the_faster_one_has_ended_already(self) -> None:
        lane = Lane()
        one, two = lane.begin(write("/a", "d")), lane.begin(write("/a", "b"))
        assert lane.end(two, {"/a": "b"}) == Wrote(V1, None, b"b")
        told = Wrote(version("/a", 2, "d"), None, b"d")
        assert lane.end(one, {"/a": "b"}) == Witnessed(((V1, Role.PRESENT),), told)

    def test_what_may_be_half_written_is_not_told(self, lane: Lane) -> None:
        one, two = lane.begin(write("/a", "d"), {"/a": "b"}), lane.begin(write("/a", "cc"), {"/a": "b"})
        assert lane.end(one, {"/a": "c"}) == Wrote(version("/a", 2, "d"), None, b"d")
        v3 = version("/a", 3, "cc", SEEN)
        assert lane.end(two, {"/a": "cc"}) == Witnessed(((v3, Role.WROTE),))

    @pytest.mark.parametrize("other", [write("/a", "c"), edit("/a", "x", "y"), Execute()])
    @pytest.mark.parametrize("seen", ["", "c", "cc"])
    def test_what_looks_whole_may_be_the_beginning_of_what_another_writes(
        self, lane: Lane, other: FileCall, seen: str
    ) -> None:
        for call in (write("/a", seen), write("/a", "ccc"), other, read("/a")):
            lane.begin(call, {"/a": "b"})
        ticket = lane.begin(write("/a", "d"), {"/a": "b"})
        assert lane.end(ticket, {"/a": seen}) == Wrote(version("/a", 2, "d"), None, b"d")

    @pytest.mark.parametrize("other", [edit("/a", "x", "y"), Execute()])
    def test_nor_is_anything_whole_while_a_call_runs_whose_text_nothing_tells(
        self, lane: Lane, other: FileCall
    ) -> None:
        for call in (write("/a", "c"), other):
            lane.begin(call, {"/a": "b"})
        ticket = lane.begin(write("/a", "d"), {"/a": "b"})
        assert lane.end(ticket, {"/a": "c"}) == Wrote(version("/a", 2, "d"), None, b"d")

    def test_a_version_that_was_nobodys_is_claimed_once(self, lane: Lane) -> None:
        one, two, three = (lane.begin(write("/a", text), {"/a": "b"}) for text in ("d", "c", "c"))
        v3 = version("/a", 3, "c", SEEN)
        assert lane.end(one, {"/a": "c"}) == Witnessed(((v3, Role.PRESENT),), Wrote(version("/a", 2, "d"), None, b"d"))
        assert lane.end(two, {"/a": "c"}) == Witnessed(((v3, Role.WROTE),))
        assert lane.end(three, {"/a": "c"}) == Witnessed(((version("/a", 4, "c", SEEN), Role.WROTE),))

    def test_what_a_delete_removed_is_not_told_where_a_sibling_may_have_written_before(self, lane: Lane) -> None:
        one = lane.begin(delete("/a"), {"/a": "b"})
        lane.begin(write("/a", "c"), None)
        assert lane.end(one, {}) == Witnessed((), Removed(()))

    def test_what_a_slower_sibling_left_is_the_version_its_own_end_told_of(self, lane: Lane) -> None:
        one, two = lane.begin(write("/a", "d"), {"/a": "b"}), lane.begin(write("/a", "c"), {"/a": "b"})
        v2, v3 = version("/a", 2, "d", SEEN), version("/a", 3, "c")
        assert lane.end(one, {"/a": "d"}) == Witnessed(((v2, Role.WROTE),))
        assert lane.end(two, {"/a": "d"}) == Witnessed(((v2, Role.PRESENT),), Wrote(v3, None, b"c"))
        assert lane.believed() == v2

    def test_two_that_wrote_the_same_made_two_versions(self, lane: Lane) -> None:
        one, two = lane.begin(write("/a", "c"), {"/a": "b"}), lane.begin(write("/a", "c"), {"/a": "b"})
        assert lane.end(one, {"/a": "c"}) == Witnessed(((V2, Role.WROTE),))
        assert lane.end(two, {"/a": "c"}) == Witnessed(((version("/a", 3, "c", SEEN), Role.WROTE),))

    def test_nothing_is_told_from_an_edit_that_another_call_disturbed(self, lane: Lane) -> None:
        call = edit("/a", "b", "c")
        one, two = lane.begin(call, {"/a": "b"}), lane.begin(write("/a", "d"), {"/a": "b"})
        v2, v3 = version("/a", 2, "d", SEEN), version("/a", 3, "c", SEEN)
        assert lane.end(two, {"/a": "d"}) == Witnessed(((v2, Role.WROTE),))
        told = Edited(call, 1, Why.CONTESTED, None)
        assert lane.end(one, {"/a": "c"}, count=1) == Witnessed(((v3, Role.PRESENT),), told)
        assert lane.believed() == v3

    def test_a_file_a_sibling_deleted_is_no_contradiction(self, lane: Lane) -> None:
        call = edit("/a", "b", "c")
        one, two = lane.begin(call, {"/a": "b"}), lane.begin(delete("/a"), {"/a": "b"})
        assert lane.end(one, {}, count=1) == Edited(call, 1, Why.CONTESTED, None)
        assert lane.end(two, {}) == Witnessed((), Removed(()))

    def test_a_file_a_sibling_wrote_is_no_contradiction_to_a_delete(self, lane: Lane) -> None:
        one, two = lane.begin(delete("/a"), {"/a": "b"}), lane.begin(write("/a", "c"), {"/a": "b"})
        assert lane.end(one, {"/a": "half"}) == Witnessed((), Removed(()))
        assert lane.end(two, {"/a": "c"}) == Witnessed(((V2, Role.WROTE),))

    def test_nothing_is_looked_at_before_a_call_while_another_could_be_writing(self, lane: Lane) -> None:
        lane.begin(write("/a", "cc"), {"/a": "b"})
        ticket = lane.begin(write("/a", "d"), {"/a": "c"})
        assert ticket.before == {}

    def test_a_call_that_waits_for_this_one_does_not_disturb_it(self, lane: Lane) -> None:
        around = lane.begin(Foreign("agent /a"))
        ticket = lane.begin(write("/a", "c"), {"/a": "b"}, within=(around,))
        assert lane.end(ticket, {"/a": "c"}) == Witnessed(((V1, Role.REPLACED), (V2, Role.WROTE)))
        assert lane.end(around, {"/a": "c"}) == Witnessed(())

    def test_what_a_cancelled_call_may_still_change_is_not_taken_for_another_calls_work(self, lane: Lane) -> None:
        lane.files.abandon(lane.begin(Execute(), {"/a": "b"}), may_go_on=True)
        call = edit("/a", "b", "c")
        assert lane.does(call, {"/a": "b"}, {"/a": "c"}, count=1) == Edited(call, 1, Why.NO_BASE, None)
        assert lane.does(Execute(), {"/a": "c"}, {"/a": "d"}) == Witnessed(())
        assert lane.does(Foreign("fmt /a"), {}, {"/a": "d"}) == Witnessed(())
        assert lane.does(write("/a", "e"), {}, {"/a": "e"}) == Witnessed(((version("/a", 2, "e", SEEN), Role.WROTE),))
        assert lane.believed() is None


class TestEdits:
    def test_an_edit_is_replayed_on_what_the_file_held_as_it_began(self, lane: Lane) -> None:
        effect = lane.does(edit("/a", "c", "d"), {"/a": "c"}, {"/a": "d"}, count=1)
        assert effect == Witnessed(((V2, Role.REPLACED), (version("/a", 3, "d", SEEN), Role.WROTE)))

    def test_a_change_of_line_endings_comes_from_the_backend(self, lane: Lane) -> None:
        effect = lane.does(edit("/a", "c", "d"), {"/a": "c\r\nx\r\n"}, {"/a": "d\nx\n"}, count=1)
        base, left = version("/a", 2, "c\r\nx\r\n", SEEN), version("/a", 3, "d\nx\n", SEEN)
        assert effect == Witnessed(((base, Role.REPLACED), (left, Role.WROTE)))

    @pytest.mark.parametrize(("after", "count"), [("x", 1), ("c", 2)])
    def test_what_an_edit_cannot_have_left_is_nobodys(self, lane: Lane, after: str, count: int) -> None:
        call = edit("/a", "b", "c")
        effect = lane.does(call, {"/a": "b"}, {"/a": after}, count=count)
        told = Edited(call, count, Why.WITNESS_CONTRADICTS, None)
        assert effect == Witnessed(((version("/a", 2, after, SEEN), Role.PRESENT),), told)
        assert lane.believed() is None

    def test_an_edit_of_bytes_that_are_no_text_is_a_contradiction(self, lane: Lane) -> None:
        call = edit("/a", "b", "c")
        effect = lane.does(call, {"/a": b"\xff"}, {"/a": b"\xfe"}, count=1)
        v3 = Version("/a", 3, cid_of(b"\xfe"), SEEN)
        assert effect == Witnessed(((v3, Role.PRESENT),), Edited(call, 1, Why.WITNESS_CONTRADICTS, None))

    def test_no_file_after_an_edit_contradicts_it(self, lane: Lane) -> None:
        call = edit("/a", "b", "c")
        effect = lane.does(call, {"/a": "b"}, {}, count=1)
        assert effect == Witnessed((), Edited(call, 1, Why.WITNESS_CONTRADICTS, None))

    def test_an_edit_of_a_file_never_heard_of_is_undone_where_that_can_give_one_text(self) -> None:
        effect = Lane().does(edit("/a", "b", "c"), {}, {"/a": "xc"}, count=1)
        base = version("/a", 1, "xb", Evidence.RECONSTRUCTED)
        assert effect == Witnessed(((base, Role.REPLACED), (version("/a", 2, "xc", SEEN), Role.WROTE)))

    @pytest.mark.parametrize("after", ["xc\n", "cc", "c\r"])
    def test_its_output_is_exact_where_it_cannot_be_undone(self, after: str) -> None:
        call = edit("/a", "b", "c")
        effect = Lane().does(call, {}, {"/a": after}, count=1)
        left = version("/a", 1, after, SEEN)
        assert effect == Witnessed(((left, Role.WROTE),), Edited(call, 1, Why.NO_BASE, None))

    def test_an_undone_text_that_has_no_bytes_is_no_version(self) -> None:
        call = edit("/a", "\ud800", "c")
        effect = Lane().does(call, {}, {"/a": "c"}, count=1)
        left = version("/a", 1, "c", SEEN)
        assert effect == Witnessed(((left, Role.WROTE),), Edited(call, 1, Why.NO_BASE, None))

    @pytest.mark.parametrize("after", ["x", b"\xff"])
    def test_a_file_without_the_new_text_contradicts_an_edit_of_anything(self, after: str | bytes) -> None:
        lane, call = Lane(), edit("/a", "b", "c")
        effect = lane.does(call, {}, {"/a": after}, count=1)
        data = after.encode() if isinstance(after, str) else after
        seen = Version("/a", 1, cid_of(data), SEEN)
        assert effect == Witnessed(((seen, Role.PRESENT),), Edited(call, 1, Why.WITNESS_CONTRADICTS, None))

    def test_an_edit_before_any_state_was_seen_is_not_told_by_a_witness(self) -> None:
        call = edit("/a", "b", "c")
        effect = Lane(bare=False).does(call, {}, {"/a": "xc"}, count=1)
        assert effect == Edited(call, 1, Why.NO_BASE, None)
        assert Lane(bare=False).does(call, {}, {}, count=1) == Edited(call, 1, Why.NO_BASE, None)
        assert Lane().does(call, {}, {}, count=1) == Edited(call, 1, Why.NO_BASE, None)

    def test_where_only_the_end_was_answered_the_edit_is_held_against_what_was_believed(self, lane: Lane) -> None:
        effect = lane.end(lane.begin(edit("/a", "b", "c"), None), {"/a": "c"}, count=1)
        assert effect == Witnessed(((V1, Role.REPLACED), (V2, Role.WROTE)))

    def test_and_a_belief_that_proves_wrong_is_given_up(self, lane: Lane) -> None:
        call = edit("/a", "b", "c")
        effect = lane.end(lane.begin(call, None), {"/a": "cc\n"}, count=1)
        left = version("/a", 2, "cc\n", SEEN)
        assert effect == Witnessed(((left, Role.WROTE),), Edited(call, 1, Why.NO_BASE, None))

    def test_an_edit_that_only_the_beginning_was_answered_for_is_replayed(self, lane: Lane) -> None:
        effect = lane.end(lane.begin(edit("/a", "c", "d"), {"/a": "c"}), None, count=1)
        assert effect == Wrote(version("/a", 3, "d", Evidence.RECONSTRUCTED), V2, b"d")


class TestUndone:
    @pytest.mark.parametrize(
        ("old", "new", "count", "text", "base"),
        [
            ("b", "c", 2, "cxc", "bxb"),
            ("bb", "c", 1, "xc", "xbb"),
            # an overlap: which of the two places it was, nothing tells
            ("b", "cc", 1, "ccc", None),
            ("b", "", 1, "x", None),
            # the old text would stand there more often than was replaced
            ("ab", "b", 1, "aabb", None),
            ("b", "c", 1, "xcb", None),
            ("b", "c", None, "c", None),
        ],
    )
    def test_only_the_one_text_that_there_can_have_been(
        self, old: str, new: str, count: int | None, text: str, base: str | None
    ) -> None:
        call = edit("/a", old, new, every=count != 1)
        assert judging.undone(call, Succeeded(count), text) == base


class TestReads:
    def test_a_read_is_linked_to_the_exact_version(self, lane: Lane) -> None:
        effect = lane.does(read("/a"), {}, {"/a": "c\n"}, result=shown("c\n"))
        v2 = version("/a", 2, "c\n", SEEN)
        assert effect == Witnessed(((v2, Role.READ),))
        assert lane.believed() == v2

    def test_and_to_the_one_known_if_it_still_holds_that(self, lane: Lane) -> None:
        assert lane.does(read("/a"), {}, {"/a": "b"}, result=shown("b")) == Witnessed(((V1, Role.READ),))

    def test_also_in_the_next_turn(self, lane: Lane) -> None:
        lane.shared.rest()
        lane.files.rest()
        lane.next_step()
        assert lane.does(read("/a"), {}, {"/a": "b"}, result=shown("b")) == Witnessed(((V1, Role.READ),))

    @pytest.mark.parametrize("after", ["c", None])
    def test_what_a_read_cannot_have_returned_is_not_its_input(self, lane: Lane, after: str | None) -> None:
        effect = lane.does(read("/a"), {}, {"/a": after}, result=shown("x"))
        assert effect == Witnessed((), Rendered(), ("/a",))
        assert lane.believed() is None

    def test_no_file_after_a_first_read_is_no_contradiction(self) -> None:
        assert Lane().does(read("/a"), {}, {}, result=shown("x")) == Rendered()
        assert Lane(bare=False).does(read("/a"), {}, {}, result=shown("x")) == Rendered()

    def test_a_binary_file_is_compared_byte_for_byte(self, lane: Lane) -> None:
        effect = lane.does(read("/p.png"), {}, {"/p.png": b"\xff"}, result=block(b"\xff"))
        assert effect == Witnessed(((Version("/p.png", 1, cid_of(b"\xff"), SEEN), Role.READ),))
        effect = lane.does(read("/p.png"), {}, {"/p.png": b"\xfe"}, result=block(b"\xff"))
        assert isinstance(effect, Witnessed)
        assert (effect.uses, effect.contradicted) == ((), ("/p.png",))

    def test_a_rendering_is_not_enough_while_the_file_could_change(self, lane: Lane) -> None:
        lane.begin(write("/a", "c"), {"/a": "b"})
        assert lane.end(lane.begin(read("/a")), {"/a": "c"}, result=shown("c")) == Rendered()

    def test_bytes_are_and_the_call_that_was_writing_them_claims_them(self, lane: Lane) -> None:
        lane.does(write("/p.png", "b"), {}, {"/p.png": "b"})
        ticket = lane.begin(write("/p.png", "c"), {"/p.png": "b"})
        v2 = version("/p.png", 2, "c", SEEN)
        reading = lane.begin(read("/p.png"))
        assert lane.end(reading, {"/p.png": "c"}, result=block(b"c")) == Witnessed(((v2, Role.READ),))
        v1 = version("/p.png", 1, "b", SEEN)
        assert lane.end(ticket, {"/p.png": "c"}) == Witnessed(((v1, Role.REPLACED), (v2, Role.WROTE)))

    def test_other_bytes_while_the_file_could_change_contradict_nothing(self, lane: Lane) -> None:
        lane.does(write("/p.png", "b"), {}, {"/p.png": "b"})
        lane.begin(write("/p.png", "c"), {"/p.png": "b"})
        effect = lane.end(lane.begin(read("/p.png")), {"/p.png": "c"}, result=block(b"b"))
        assert not isinstance(effect, Witnessed)


class TestDeletes:
    def test_what_was_there_and_is_not_is_removed(self, lane: Lane) -> None:
        lane.does(write("/d/x", "b"), {}, {"/d/x": "b"})
        effect = lane.does(delete("/d"), {"/d/x": "c"}, {})
        assert effect == Witnessed((), Removed((version("/d/x", 2, "c", SEEN),)))
        assert lane.does(write("/d/x", "c"), {}, {"/d/x": "c"}) == Witnessed(
            ((version("/d/x", 3, "c", SEEN), Role.WROTE),)
        )

    def test_what_was_gone_before_is_not(self, lane: Lane) -> None:
        assert lane.does(delete("/a"), {}, {}) == Witnessed((), Removed(()))

    def test_what_is_still_there_contradicts_it(self, lane: Lane) -> None:
        assert lane.does(delete("/a"), {"/a": "b"}, {"/a": "b"}) == Witnessed(
            ((V1, Role.PRESENT),), Removed(()), ("/a",)
        )

    def test_a_file_never_heard_of_that_is_still_there_is_not_told_of(self) -> None:
        assert Lane().does(delete("/a"), {}, {"/a": "b"}) == Witnessed((), Removed(()), ("/a",))

    def test_below_a_folder_that_has_shown_to_be_mounted_what_is_gone_is_removed(self, lane: Lane) -> None:
        lane.does(write("/d/x", "b"), {}, {"/d/x": "b"})
        lane.shared.mounted = True
        effect = lane.does(delete("/d"), {"/d/x": "b"}, {})
        assert effect == Witnessed((), Removed((version("/d/x", 1, "b", SEEN),)))

    def test_a_delete_that_is_not_answered_removes_what_was_believed(self, lane: Lane) -> None:
        assert lane.end(lane.begin(delete("/a"), None), None) == Removed((V1,))


class TestShells:
    def test_what_changed_between_its_beginning_and_its_end_is_its_work(self, lane: Lane) -> None:
        effect = lane.does(Execute(), {"/a": "b"}, {"/a": "c"})
        assert effect == Witnessed(((V1, Role.REPLACED), (V2, Role.WROTE)))
        assert lane.believed() == V2

    def test_what_had_changed_before_is_not(self, lane: Lane) -> None:
        assert lane.does(Execute(), {"/a": "c"}, {"/a": "c"}) == Witnessed(((V2, Role.PRESENT),))
        assert lane.does(Execute(), {"/a": "c"}, {"/a": "c"}) == Witnessed(())
        assert lane.believed() == V2

    def test_what_is_gone_it_removed_and_what_came_back_it_wrote(self, lane: Lane) -> None:
        assert lane.does(Execute(), {"/a": "b"}, {}) == Witnessed(((V1, Role.REMOVED),))
        assert lane.does(Execute(), {}, {}) == Witnessed(())
        assert lane.does(Execute(), {}, {"/a": "b"}) == Witnessed(((version("/a", 2, "b", SEEN), Role.WROTE),))

    def test_where_its_beginning_was_not_answered_what_changed_is_nobodys(self, lane: Lane) -> None:
        assert lane.end(lane.begin(Execute(), None), {"/a": "c"}) == Witnessed(((V2, Role.PRESENT),))
        assert lane.end(lane.begin(Execute(), None), {"/a": "c"}) == Witnessed(())
        assert lane.end(lane.begin(Execute(), None), {}) == Witnessed(())
        assert lane.believed() is None

    def test_where_its_end_was_not_answered_nothing_is_told(self, lane: Lane) -> None:
        assert lane.end(lane.begin(Execute(), {"/a": "b"}), None) == Nothing()
        assert lane.believed() is None

    def test_what_another_call_could_have_changed_is_not_its_work(self, lane: Lane) -> None:
        shell = lane.begin(Execute(), {"/a": "b"})
        ticket = lane.begin(write("/a", "d"), None)
        lane.end(ticket, {"/a": "d"})
        assert lane.end(shell, {"/a": "c"}) == Witnessed(((version("/a", 3, "c", SEEN), Role.PRESENT),))

    def test_what_another_call_may_be_changing_is_not_told(self, lane: Lane) -> None:
        shell = lane.begin(Execute(), {"/a": "b"})
        lane.begin(write("/a", "d"), None)
        assert lane.end(shell, {"/a": "c"}) == Witnessed(())


class TestOtherCalls:
    def test_a_tool_of_the_users_leaves_versions_that_are_nobodys(self, lane: Lane) -> None:
        effect = lane.does(Foreign("fmt /a"), {}, {"/a": "c"})
        assert effect == Witnessed(((V2, Role.PRESENT),), Unknown(Why.FOREIGN))
        assert lane.believed() == V2

    def test_one_that_changed_nothing_is_no_gap(self, lane: Lane) -> None:
        assert lane.does(Foreign("fmt /a"), {}, {"/a": "b"}) == Witnessed(())
        assert lane.believed() == V1

    def test_one_that_removed_a_file_is(self, lane: Lane) -> None:
        assert lane.does(Foreign("rm /a"), {}, {}) == Witnessed((), Unknown(Why.FOREIGN))

    def test_one_that_failed_is_believed_nothing_of(self, lane: Lane) -> None:
        ticket = lane.begin(Foreign("fmt /a"))
        lane.files.settle(ticket, Failed(), "no")
        assert lane.believed() is None

    def test_a_search_is_linked_to_what_the_files_it_shows_hold(self, lane: Lane) -> None:
        lines = "/a:\n  1: c\n/other:\n  1: c\n"
        assert lane.does(Search(), {}, {"/a": "c", "/other": "c"}, result=lines) == Found((V2,))
        assert lane.believed() == V2

    @pytest.mark.parametrize("after", ["x", b"\xff", None])
    def test_but_not_to_what_has_not_those_lines(self, lane: Lane, after: str | bytes | None) -> None:
        assert lane.does(Search(), {}, {"/a": after}, result="/a:\n  1: c\n") == Found(())
        assert lane.believed() is None

    def test_nor_while_another_call_could_change_them(self, lane: Lane) -> None:
        lane.begin(write("/a", "c"), {"/a": "b"})
        assert lane.end(lane.begin(Search()), {"/a": "c"}, result="/a:\n  1: c\n") == Found(())

    def test_a_search_that_is_not_text_or_failed_is_heard_nothing_from(self, lane: Lane) -> None:
        assert lane.does(Search(), {}, {}, result=[]) == Nothing()
        ticket = lane.begin(Search())
        lane.files.settle(ticket, Failed(), "/s:\n  1: x\n")
        assert lane.files.asks_before(edit("/s", "x", "y")) == []

    def test_the_table_itself_says_nothing_of_a_search(self) -> None:
        shared = WatchedFiles(cid_of)
        ticket = Ticket(Search(), in_state=False, step=1)
        assert shared.settle_seen(ticket, Succeeded(), "", {}) == Nothing()


class TestStatesWithoutFiles:
    def test_what_was_seen_before_a_first_write_is_not_believed_after_it(self) -> None:
        lane = Lane()
        lane.does(Search(), {}, {}, result="/a:\n  1: b\n")
        lane.end(lane.begin(write("/a", "c"), {"/a": "b"}), None)
        assert lane.believed() is None

    def test_lanes_number_what_they_write_outside_together_from_the_first_write_on(self) -> None:
        one = Lane()
        two = Lane(one.shared)
        assert one.end(one.begin(write("/a", "b")), {"/a": "b"}) == Wrote(V1, None, b"b")
        assert two.end(two.begin(write("/a", "c")), {"/a": "c"}) == Wrote(V2, None, b"c")

    def test_a_file_that_no_state_shows_is_outside(self) -> None:
        lane = Lane()
        lane.does(write("/a", "b"), {}, {"/a": "b"})
        assert lane.shared.paths == {"/a"}

    def test_a_state_that_has_shown_files_has_not_lost_them(self) -> None:
        lane = Lane()
        lane.files.adopt({"/s": "b"}, 2)
        lane.files.show_none(3)
        assert lane.files.in_state
        assert [known.version.path for known in lane.files.current()] == ["/s"]

    def test_what_was_done_before_any_state_was_not_done_to_one(self) -> None:
        lane = Lane(bare=False)
        made(lane.files, write("/a", "b"))
        lane.files.show_none(2)
        lane.files.adopt({}, 3)
        assert lane.believed() == version("/a", 1, "b")

    def test_a_first_write_of_what_the_step_has_just_written_changes_nothing(self) -> None:
        lane = Lane()
        assert lane.end(lane.begin(write("/a", "b")), {"/a": "b"}) == Wrote(V1, None, b"b")
        assert lane.end(lane.begin(write("/a", "b")), {"/a": "b"}) == Unchanged(V1)

    def test_two_siblings_that_wrote_the_same_first_made_two_versions(self) -> None:
        lane = Lane()
        one, two = lane.begin(write("/a", "b")), lane.begin(write("/a", "b"))
        assert lane.end(one, {"/a": "b"}) == Wrote(V1, None, b"b")
        assert lane.end(two, {"/a": "b"}) == Wrote(version("/a", 2, "b", SEEN), None, b"b")
