"""One agent's lane: its state's files are the truth, and what they do not show is outside."""

from typing import Any

import pytest

from eqty_lineage.deepagents.facts import Evidence, Version, Why
from eqty_lineage.deepagents.filesystem.effects import (
    Edited,
    Found,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Rendered,
    Unchanged,
    Unknown,
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
from support.files import block, cid_of, delete, edit, made, read, shown, version, write

State = dict[str, Any]


def state(**texts: str) -> State:
    """A state's files: `a="b"` is a file /a holding b."""
    return {f"/{name}": {"content": text} for name, text in texts.items()}


def in_state(path: str, ordinal: int, text: str) -> Version:
    return version(path, ordinal, text, Evidence.STATE)


def current(lane: LaneFiles) -> dict[str, Version]:
    return {known.version.path: known.version for known in lane.current()}


@pytest.fixture
def lane() -> LaneFiles:
    """A lane whose state shows /a holding b; the next superstep is 2."""
    lane = LaneFiles(SharedFiles(cid_of), cid_of)
    lane.adopt(state(a="b"), 1)
    return lane


class TestStates:
    def test_a_file_that_appears_is_a_version_with_its_bytes(self, lane: LaneFiles) -> None:
        adoption = lane.adopt(state(a="b", c="d"), 2)
        assert adoption.present == ((in_state("/a", 1, "b"), None), (in_state("/c", 1, "d"), b"d"))
        assert adoption.unreadable == ()

    def test_a_file_that_changed_is_the_next_version(self, lane: LaneFiles) -> None:
        lane.adopt(state(a="c"), 2)
        assert current(lane) == {"/a": in_state("/a", 2, "c")}

    def test_a_file_that_was_restored_is_a_later_version(self, lane: LaneFiles) -> None:
        for text in ("c", "b"):
            lane.adopt(state(a=text), 2)
        assert current(lane) == {"/a": in_state("/a", 3, "b")}

    def test_a_file_that_disappeared_is_not_current_and_is_a_later_version_when_it_comes_back(
        self, lane: LaneFiles
    ) -> None:
        lane.adopt({}, 2)
        assert current(lane) == {}
        lane.adopt(state(a="b"), 3)
        assert current(lane) == {"/a": in_state("/a", 2, "b")}

    def test_a_deletion_marker_is_no_file(self, lane: LaneFiles) -> None:
        assert lane.adopt({"/a": None}, 2).present == ()

    @pytest.mark.parametrize(
        ("entry", "why"),
        [({"content": "\ud800"}, Why.UNENCODABLE), ({"content": "?", "encoding": "base64"}, Why.BAD_BINARY)],
    )
    def test_a_file_whose_bytes_cannot_be_told_is_not_current(self, lane: LaneFiles, entry: Any, why: Why) -> None:
        adoption = lane.adopt({"/a": entry}, 2)
        assert adoption.unreadable == (("/a", why),)
        assert current(lane) == {}

    def test_files_that_did_not_change_are_not_hashed_again(self) -> None:
        hashed = []

        def count(data: bytes) -> Any:
            hashed.append(data)
            return cid_of(data)

        lane = LaneFiles(SharedFiles(count), count)
        files = {**state(a="b"), "/c": {"content": ["d"]}, "/e": {"content": "gA==", "encoding": "base64"}}
        lane.adopt(files, 1)
        lane.adopt({path: dict(entry) for path, entry in files.items()}, 2)
        assert sorted(hashed) == [b"b", b"d", b"\x80"]

    def test_text_and_base64_of_one_spelling_are_two_contents(self, lane: LaneFiles) -> None:
        lane.adopt(state(a="YQ=="), 2)
        lane.adopt({"/a": {"content": "YQ==", "encoding": "base64"}}, 3)
        assert current(lane) == {"/a": in_state("/a", 3, "a")}

    def test_plain_strings_of_the_first_releases_are_files(self, lane: LaneFiles) -> None:
        lane.adopt({"a": "b"}, 2)
        assert current(lane) == {"a": in_state("a", 1, "b")}

    def test_lines_and_their_text_are_one_content(self, lane: LaneFiles) -> None:
        lane.adopt(state(a="b\nc"), 2)
        lane.adopt({"/a": {"content": ["b", "c"]}}, 3)
        assert current(lane) == {"/a": in_state("/a", 2, "b\nc")}


class TestCalls:
    def test_a_write_replaces_what_the_superstep_began_with(self, lane: LaneFiles) -> None:
        assert made(lane, write("/a", "c"), step=2) == Wrote(version("/a", 2, "c"), in_state("/a", 1, "b"), b"c")

    def test_a_write_is_the_version_that_the_next_state_shows(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "c"), step=2)
        assert lane.adopt(state(a="c"), 3).present == ((version("/a", 2, "c"), None),)

    def test_a_write_of_the_same_text_changes_nothing(self, lane: LaneFiles) -> None:
        assert made(lane, write("/a", "b"), step=2) == Unchanged(in_state("/a", 1, "b"))

    def test_an_edit_is_replayed_on_what_the_superstep_began_with(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "xb"), step=2)
        effect = made(lane, edit("/a", "b", "c"), step=2, count=1)
        assert effect == Wrote(version("/a", 3, "c", Evidence.RECONSTRUCTED), in_state("/a", 1, "b"), b"c")

    def test_an_edit_of_line_endings_is_replayed(self, lane: LaneFiles) -> None:
        lane.adopt(state(a="b\r\n"), 2)
        effect = made(lane, edit("/a", "b", "c\r"), step=3, count=1)
        assert isinstance(effect, Wrote)
        assert effect.data == b"c\r\r\n"

    def test_an_edit_that_cannot_be_replayed_is_told_by_the_next_state(self, lane: LaneFiles) -> None:
        call = edit("/a", "x", "c")
        assert made(lane, call, step=2, count=1) == Edited(call, 1, Why.MISMATCH, None)
        lane.adopt(state(a="c"), 3)
        assert current(lane) == {"/a": in_state("/a", 2, "c")}

    def test_a_read_is_of_the_version_it_shows(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "c"), step=2)
        assert made(lane, read("/a"), step=2, result=shown("b")) == ReadVersion(in_state("/a", 1, "b"))

    def test_a_read_of_a_version_is_not_put_in_doubt_by_a_sibling(self, lane: LaneFiles) -> None:
        reading = lane.begin(read("/a"), 2)
        made(lane, write("/a", "c"), step=2)
        assert lane.settle(reading, Succeeded(), shown("b")) == ReadVersion(in_state("/a", 1, "b"))

    def test_a_read_that_shows_something_else_gives_a_rendering(self, lane: LaneFiles) -> None:
        assert made(lane, read("/a"), step=2, result=shown("c")) == Rendered()

    @pytest.mark.parametrize("call", [write("/a", "c"), edit("/a", "b", "c"), delete("/a"), read("/a")])
    def test_a_failed_call_changes_nothing(self, lane: LaneFiles, call: FileCall) -> None:
        assert lane.settle(lane.begin(call, 2), Failed()) == Nothing()
        assert made(lane, write("/a", "d"), step=2) == Wrote(version("/a", 2, "d"), in_state("/a", 1, "b"), b"d")

    @pytest.mark.parametrize("call", [write("/a", "c"), edit("/a", "b", "c"), delete("/a"), read("/a")])
    def test_a_call_whose_result_says_nothing_is_a_gap(self, lane: LaneFiles, call: FileCall) -> None:
        assert lane.settle(lane.begin(call, 2), Unclear()) == Unknown(Why.UNCLEAR)
        assert current(lane) == {"/a": in_state("/a", 1, "b")}

    def test_a_shell_does_not_touch_the_state(self, lane: LaneFiles) -> None:
        assert made(lane, Execute(), step=2) == Nothing()
        assert made(lane, read("/a"), step=2, result=shown("b")) == ReadVersion(in_state("/a", 1, "b"))

    def test_what_a_sibling_wrote_too_is_the_same_version(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "c"), step=2)
        assert made(lane, write("/a", "c"), step=2) == Unchanged(version("/a", 2, "c"))


class TestDeletes:
    def test_a_delete_removes_the_versions_at_and_below_its_path_in_order(self, lane: LaneFiles) -> None:
        lane.adopt({"/d/b": {"content": "x"}, "/d/a": {"content": "y"}, "/da": {"content": "z"}}, 2)
        removed = (in_state("/d/a", 1, "y"), in_state("/d/b", 1, "x"))
        assert made(lane, delete("/d"), step=3) == Removed(removed)

    def test_a_file_deleted_and_back_with_the_same_content_is_a_later_version(self, lane: LaneFiles) -> None:
        made(lane, delete("/a"), step=2)
        lane.adopt(state(a="b"), 3)
        assert current(lane) == {"/a": in_state("/a", 2, "b")}

    def test_a_state_from_before_the_delete_does_not_bring_the_file_back(self, lane: LaneFiles) -> None:
        made(lane, delete("/a"), step=2)
        lane.adopt(state(a="b"), 2)
        assert current(lane) == {"/a": in_state("/a", 1, "b")}
        lane.adopt(state(a="b"), 3)
        assert current(lane) == {"/a": in_state("/a", 2, "b")}

    @pytest.mark.parametrize("writes_last", [True, False])
    def test_a_file_written_as_its_directory_is_deleted_is_not_taken_to_be_outside(
        self, lane: LaneFiles, *, writes_last: bool
    ) -> None:
        lane.adopt({"/d/a": {"content": "x"}}, 2)
        calls = [delete("/d"), write("/d/a", "y")]
        for call in calls if writes_last else reversed(calls):
            made(lane, call, step=3)
        lane.adopt({}, 4)
        assert not lane.shared.paths
        assert lane.shared.held("/d/a") is None

    def test_a_delete_in_an_earlier_superstep_does_not_matter(self, lane: LaneFiles) -> None:
        made(lane, delete("/a"), step=2)
        lane.adopt({}, 3)
        made(lane, write("/a", "c"), step=4)
        lane.adopt({}, 5)
        assert lane.shared.paths == {"/a"}


class TestUpdates:
    """What a tool or node returns as an update of the state."""

    def test_a_new_entry_is_a_version_that_its_bytes_show(self, lane: LaneFiles) -> None:
        effect = lane.update("/a", {"content": "c"}, 2)
        assert effect == Wrote(in_state("/a", 2, "c"), in_state("/a", 1, "b"), b"c")
        assert lane.adopt(state(a="c"), 3).present == ((in_state("/a", 2, "c"), None),)

    def test_an_entry_that_is_there_already_changes_nothing(self, lane: LaneFiles) -> None:
        assert lane.update("/a", {"content": "b"}, 2) == Unchanged(in_state("/a", 1, "b"))

    def test_a_deletion_marker_removes_the_version(self, lane: LaneFiles) -> None:
        assert lane.update("/a", None, 2) == Removed((in_state("/a", 1, "b"),))
        assert lane.update("/x", None, 2) == Removed(())

    def test_a_deletion_that_comes_twice_removes_the_version_once(self, lane: LaneFiles) -> None:
        """The node that runs a tool returns the tool's update again."""
        lane.update("/a", None, 2)
        assert lane.update("/a", None, 2) == Removed(())

    def test_an_entry_that_comes_twice_is_one_version(self, lane: LaneFiles) -> None:
        lane.update("/a", {"content": "c"}, 2)
        assert lane.update("/a", {"content": "c"}, 2) == Unchanged(in_state("/a", 2, "c"))

    @pytest.mark.parametrize(
        ("entry", "why"),
        [({"content": "\ud800"}, Why.UNENCODABLE), ({"content": "?", "encoding": "base64"}, Why.BAD_BINARY)],
    )
    def test_an_entry_whose_bytes_cannot_be_told_is_a_gap(self, lane: LaneFiles, entry: Any, why: Why) -> None:
        assert lane.update("/a", entry, 2) == Unknown(why)

    def test_an_update_returned_by_a_file_call_replaces_what_that_call_saw(self, lane: LaneFiles) -> None:
        ticket = lane.begin(write("/a", "c"), 2)
        lane.adopt({}, 2)
        lane.abandon(ticket)
        effect = lane.update("/a", {"content": ["c"]}, 2, ticket)
        assert effect == Wrote(in_state("/a", 2, "c"), in_state("/a", 1, "b"), b"c")

    def test_an_update_with_the_content_that_a_call_wrote_is_its_version(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "c"), step=2)
        assert lane.update("/a", {"content": "c"}, 2) == Unchanged(version("/a", 2, "c"))

    def test_what_an_update_deletes_is_not_taken_to_be_outside_if_a_call_wrote_it(self, lane: LaneFiles) -> None:
        lane.update("/a", None, 2)
        made(lane, write("/a", "c"), step=2)
        lane.adopt({}, 3)
        assert not lane.shared.paths


class TestOutside:
    def test_a_written_file_that_the_next_state_does_not_show_is_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt(state(a="b"), 3)
        assert made(lane, read("/x"), step=4, result=shown("y")) == ReadVersion(version("/x", 1, "y"))
        assert made(lane, write("/x", "z"), step=4) == Wrote(version("/x", 2, "z"), version("/x", 1, "y"), b"z")

    def test_another_lane_sees_it_there_too(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt(state(a="b"), 3)
        other = lane.fork()
        other.adopt(state(a="b"), 4)
        assert made(other, read("/x"), step=5, result=shown("y")) == ReadVersion(version("/x", 1, "y"))

    def test_a_state_from_before_the_write_says_nothing_of_it(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt(state(a="b"), 2)
        assert not lane.shared.paths
        assert lane.adopt(state(a="b", x="y"), 3).present[1] == (version("/x", 1, "y"), None)

    def test_what_a_run_returns_says_nothing_of_it_either(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt(state(a="b"), None)
        assert not lane.shared.paths

    def test_a_file_that_the_state_holds_unreadably_is_not_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt({"/x": {"content": "\ud800"}}, 3)
        assert not lane.shared.paths

    def test_a_write_without_a_superstep_is_judged_by_the_next_state(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=None)
        lane.adopt({}, 2)
        assert lane.shared.paths == {"/x"}

    @pytest.mark.parametrize("other", [write("/x", "z"), delete("/"), Execute()])
    def test_it_is_not_believed_if_another_call_could_change_it_since(self, lane: LaneFiles, other: FileCall) -> None:
        made(lane, write("/x", "y"), step=2)
        LaneFiles(lane.shared, cid_of).begin(other, 2)
        lane.adopt(state(a="b"), 3)
        assert lane.shared.held("/x") is None
        assert lane.shared.paths == {"/x"}

    def test_it_is_not_believed_if_another_call_could_change_it_meanwhile(self, lane: LaneFiles) -> None:
        writing = lane.begin(write("/x", "y"), 2)
        LaneFiles(lane.shared, cid_of).begin(Execute(), 2)
        lane.settle(writing, Succeeded())
        lane.adopt(state(a="b"), 3)
        assert lane.shared.paths == {"/x"}
        assert lane.shared.held("/x") is None

    def test_it_is_believed_whatever_happens_to_other_files(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        made(lane, write("/z", "y"), step=2)
        lane.adopt(state(a="b"), 3)
        known = lane.shared.held("/x")
        assert known is not None
        assert known.version == version("/x", 1, "y")

    def test_a_text_read_as_it_shows_to_be_outside_is_of_its_version(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        other = lane.fork()
        other.adopt(state(a="b"), 1)
        reading = other.begin(read("/x"), 2)
        lane.adopt(state(a="b"), 3)
        assert other.settle(reading, Succeeded(), shown("y")) == ReadVersion(version("/x", 1, "y"))

    def test_bytes_read_where_the_state_has_no_file_are_one_version(self, lane: LaneFiles) -> None:
        expected = Version("/x", 1, cid_of(b"\x80"), Evidence.BYTES)
        assert made(lane, read("/x"), step=2, result=block(b"\x80")) == ReadBytes(expected, b"\x80")
        assert made(lane, read("/x"), step=3, result=block(b"\x80")) == ReadVersion(expected)

    def test_bytes_read_count_on_from_the_versions_of_the_state(self, lane: LaneFiles) -> None:
        lane.adopt({}, 2)
        expected = Version("/a", 2, cid_of(b"\x80"), Evidence.BYTES)
        assert made(lane, read("/a"), step=3, result=block(b"\x80")) == ReadBytes(expected, b"\x80")

    def test_a_change_that_fails_in_the_state_ends_belief_outside(self, lane: LaneFiles) -> None:
        made(lane, read("/x"), step=2, result=block(b"\x80"))
        lane.settle(lane.begin(write("/x", "y"), 2), Failed())
        assert lane.shared.held("/x") is None

    def test_a_delete_where_the_state_has_nothing_removes_what_is_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/d/x", "y"), step=2)
        lane.adopt(state(a="b"), 3)
        assert made(lane, delete("/d"), step=4) == Removed((version("/d/x", 1, "y"),))
        assert lane.shared.held("/d/x") is None

    def test_a_delete_of_files_of_the_state_does_not_say_what_became_of_those_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/d/x", "y"), step=2)
        lane.adopt({"/d/a": {"content": "b"}}, 3)
        assert made(lane, delete("/d"), step=4) == Removed((in_state("/d/a", 1, "b"),))
        assert lane.shared.held("/d/x") is None

    def test_a_delete_during_a_write_does_not_say_what_it_removed_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/d/x", "y"), step=2)
        lane.adopt({}, 3)
        lane.begin(write("/d/x", "z"), 4)
        assert made(lane, delete("/d"), step=4) == Removed(())

    def test_what_was_taken_to_be_outside_is_not_once_the_state_shows_it(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt({}, 3)
        lane.adopt(state(x="y"), 4)
        assert not lane.shared.paths
        assert lane.shared.held("/x") is None
        assert current(lane) == {"/x": version("/x", 1, "y")}

    def test_another_content_under_the_same_key_of_the_state_does_not_matter_outside(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "y"), step=2)
        lane.adopt({}, 3)
        lane.adopt(state(x="z"), 4)
        known = lane.shared.held("/x")
        assert known is not None
        assert known.version == version("/x", 1, "y")


class TestResumedRuns:
    """Calls can run before a state is shown: those that a pause had kept waiting."""

    @pytest.fixture
    def resumed(self, lane: LaneFiles) -> LaneFiles:
        lane.rest()
        lane.shared.rest()
        return lane

    def test_a_write_counts_on_and_is_the_version_that_the_state_then_shows(self, resumed: LaneFiles) -> None:
        assert made(resumed, write("/a", "c"), step=2) == Wrote(version("/a", 2, "c"), None, b"c")
        resumed.adopt(state(a="c"), 3)
        assert current(resumed) == {"/a": version("/a", 2, "c")}

    @pytest.mark.parametrize("then", [{"/a": {"content": "c"}}, {"/a": {"content": "\ud800"}}, {}])
    def test_nothing_is_believed_outside_once_there_is_a_state(self, resumed: LaneFiles, then: State) -> None:
        made(resumed, write("/a", "c"), step=2)
        resumed.adopt(then, 3)
        assert resumed.shared.held("/a") is None


class TestLanes:
    def test_a_fork_starts_from_the_versions_its_callers_superstep_began_with(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "c"), step=2)
        child = lane.fork()
        child.adopt(state(a="b"), 1)
        assert current(child) == {"/a": in_state("/a", 1, "b")}

    def test_siblings_do_not_see_each_others_files(self, lane: LaneFiles) -> None:
        one, other = lane.fork(), lane.fork()
        for child, text in ((one, "c"), (other, "d")):
            child.adopt(state(a="b"), 1)
            assert made(child, write("/a", text), step=2) == Wrote(
                version("/a", 2, text), in_state("/a", 1, "b"), text.encode()
            )

    def test_files_that_come_back_are_the_versions_that_the_child_made(self, lane: LaneFiles) -> None:
        child = lane.fork()
        child.adopt(state(a="b"), 1)
        made(child, write("/a", "c"), step=2)
        child.adopt(state(a="c"), 3)
        lane.give_back(child)
        assert lane.update("/a", {"content": "c"}, 2) == Unchanged(version("/a", 2, "c"))
        lane.adopt(state(a="c"), 3)
        assert current(lane) == {"/a": version("/a", 2, "c")}

    def test_files_that_come_back_without_an_update_are_those_versions_too(self, lane: LaneFiles) -> None:
        child = lane.fork()
        child.adopt(state(a="c"), 1)
        lane.give_back(child)
        assert lane.knows("/a", cid_of(b"c")) == in_state("/a", 2, "c")
        lane.adopt(state(a="c"), 3)
        assert current(lane) == {"/a": in_state("/a", 2, "c")}

    def test_of_two_siblings_that_changed_one_file_the_second_to_come_back_is_a_later_version(
        self, lane: LaneFiles
    ) -> None:
        children = [lane.fork(), lane.fork()]
        for child, text in zip(children, "cd", strict=True):
            child.adopt(state(a=text), 1)
            lane.give_back(child)
        assert lane.update("/a", {"content": "c"}, 2) == Unchanged(in_state("/a", 2, "c"))
        for _ in range(2):
            assert lane.update("/a", {"content": "d"}, 2) == Unchanged(in_state("/a", 3, "d"))
        lane.adopt(state(a="d"), 3)
        assert current(lane) == {"/a": in_state("/a", 3, "d")}

    def test_a_child_that_changed_nothing_gives_back_what_it_got(self, lane: LaneFiles) -> None:
        child = lane.fork()
        child.adopt(state(a="b"), 1)
        made(lane, write("/a", "c"), step=2)
        lane.give_back(child)
        assert lane.update("/a", {"content": "b"}, 2) == Unchanged(in_state("/a", 1, "b"))


class TestKnowledge:
    def test_a_lane_knows_the_contents_it_holds_writes_and_wrote_last(self, lane: LaneFiles) -> None:
        assert lane.knows("/a", cid_of(b"b")) == in_state("/a", 1, "b")
        made(lane, write("/a", "c"), step=2)
        assert lane.knows("/a", cid_of(b"b")) == in_state("/a", 1, "b")
        assert lane.knows("/a", cid_of(b"c")) == version("/a", 2, "c")
        assert lane.knows("/a", cid_of(b"d")) is None
        assert lane.knows("/x", cid_of(b"b")) is None

    def test_after_a_run_it_knows_what_it_held_last(self, lane: LaneFiles) -> None:
        lane.rest()
        assert lane.knows("/a", cid_of(b"b")) == in_state("/a", 1, "b")
        assert current(lane) == {}
        lane.adopt(state(a="b"), 1)
        assert current(lane) == {"/a": in_state("/a", 1, "b")}

    def test_a_call_whose_content_is_not_known_is_not_known(self, lane: LaneFiles) -> None:
        made(lane, write("/x", "\ud800"), step=2)
        assert lane.knows("/x", cid_of(b"")) is None

    def test_its_next_turn_goes_on_counting(self, lane: LaneFiles) -> None:
        lane.rest()
        lane.adopt(state(a="c"), 1)
        assert current(lane) == {"/a": in_state("/a", 2, "c")}


class TestSearches:
    RESULT = "/a:\n  1: b\n/b:\n  1: x"

    def test_it_finds_what_the_state_held_when_it_began(self, lane: LaneFiles) -> None:
        searching = lane.begin(Search(), 2)
        made(lane, write("/a", "b, new"), step=2)
        assert lane.settle(searching, Succeeded(), self.RESULT) == Found((in_state("/a", 1, "b"),))

    def test_lines_the_file_does_not_have_are_not_found_in_it(self, lane: LaneFiles) -> None:
        assert lane.settle(lane.begin(Search(), 2), Succeeded(), "/a:\n  1: c") == Found(())

    def test_a_failed_search_found_nothing(self, lane: LaneFiles) -> None:
        assert lane.settle(lane.begin(Search(), 2), Failed(), self.RESULT) == Nothing()

    def test_outside_state_it_finds_what_was_believed_all_the_while(self) -> None:
        lane = LaneFiles(SharedFiles(cid_of), cid_of)
        held = made(lane, write("/a", "b"))
        assert isinstance(held, Wrote)
        assert lane.settle(lane.begin(Search(), 1), Succeeded(), self.RESULT) == Found((held.version,))

    @pytest.mark.parametrize(
        "other", [write("/a", "b2"), edit("/a", "b", "c"), delete("/a"), write("/z", "z"), Execute()]
    )
    def test_outside_state_a_change_at_the_same_time_leaves_it_open(self, other: FileCall) -> None:
        lane = LaneFiles(SharedFiles(cid_of), cid_of)
        made(lane, write("/a", "b"))
        searching = lane.begin(Search(), 1)
        made(lane, other, count=1)
        assert lane.settle(searching, Succeeded(), self.RESULT) == Found(())

    def test_a_search_disturbs_nothing(self) -> None:
        lane = LaneFiles(SharedFiles(cid_of), cid_of)
        made(lane, write("/a", "b"))
        editing = lane.begin(edit("/a", "b", "c"), 1)
        lane.settle(lane.begin(Search(), 1), Succeeded(), self.RESULT)
        assert isinstance(lane.settle(editing, Succeeded(1)), Wrote)


class TestGiven:
    def test_what_the_state_holds_is_that_version(self, lane: LaneFiles) -> None:
        assert lane.given("/a", cid_of(b"b")) == in_state("/a", 1, "b")

    def test_it_stays_that_version_when_the_file_has_changed(self, lane: LaneFiles) -> None:
        before = lane.given("/a", cid_of(b"b"))
        lane.adopt(state(a="c"), 3)
        assert lane.given("/a", cid_of(b"b")) == before

    def test_outside_it_is_believed_by_nobody(self) -> None:
        lane = LaneFiles(SharedFiles(cid_of), cid_of)
        version = lane.given("/m", cid_of(b"b"))
        assert version.ordinal == 1
        call = edit("/m", "b", "c")
        assert made(lane, call, count=1) == Edited(call, 1, Why.NO_BASE, None)

    def test_outside_what_any_lane_believes_is_that_version(self) -> None:
        shared = SharedFiles(cid_of)
        lane, other = LaneFiles(shared, cid_of), LaneFiles(shared, cid_of)
        held = made(lane, write("/m", "b"))
        assert isinstance(held, Wrote)
        assert lane.given("/m", cid_of(b"b")) == other.given("/m", cid_of(b"b")) == held.version


class TestForeignTools:
    """A tool that is not DeepAgents' own."""

    @pytest.fixture
    def outside(self) -> LaneFiles:
        return LaneFiles(SharedFiles(cid_of), cid_of)

    def test_what_it_may_have_changed_is_not_believed_any_more(self, outside: LaneFiles) -> None:
        made(outside, write("/a", "b"))
        assert made(outside, Foreign("{'path': '/a'}")) == Unknown(Why.FOREIGN)
        assert isinstance(made(outside, edit("/a", "b", "c"), count=1), Edited)

    def test_a_file_it_was_not_told_of_is_believed_still(self, outside: LaneFiles) -> None:
        made(outside, write("/b.md", "b"))
        assert made(outside, Foreign("{'path': '/a'}")) == Nothing()
        assert isinstance(made(outside, edit("/b.md", "b", "c"), count=1), Wrote)

    def test_where_nothing_was_believed_nothing_is_said(self, outside: LaneFiles) -> None:
        assert made(outside, Foreign("{'path': '/a'}")) == Nothing()

    def test_a_change_beside_it_is_not_replayed(self, outside: LaneFiles) -> None:
        foreign = outside.begin(Foreign("{'path': '/a'}"), 1)
        made(outside, write("/a", "b"))
        assert isinstance(made(outside, edit("/a", "b", "c"), count=1), Edited)
        assert outside.settle(foreign, Succeeded()) == Nothing()

    def test_a_change_within_it_is_replayed_and_believed_until_it_is_over(self, outside: LaneFiles) -> None:
        foreign = outside.begin(Foreign("{'path': '/a'}"), 1)

        def within(call: FileCall) -> object:
            return outside.settle(outside.begin(call, 1, within=[foreign]), Succeeded(1))

        within(write("/a", "b"))
        assert isinstance(within(edit("/a", "b", "c")), Wrote)
        assert outside.settle(foreign, Succeeded()) == Unknown(Why.FOREIGN)
        assert isinstance(made(outside, edit("/a", "c", "d"), count=1), Edited)

    def test_files_in_state_are_none_of_its_business(self, lane: LaneFiles) -> None:
        assert made(lane, Foreign("{'path': '/a'}"), step=2) == Nothing()
        assert isinstance(made(lane, edit("/a", "b", "c"), step=2, count=1), Wrote)


class TestMounts:
    """A composite backend can keep a folder in the state under keys that lack the folder's own path."""

    def test_what_shows_under_the_end_of_its_path_alone_reveals_a_mount(self, lane: LaneFiles) -> None:
        made(lane, write("/mem/x", "new"), step=2)
        lane.adopt(state(a="b", x="new"), 3)
        assert lane.shared.mounted
        # from here on the key /x is not the path /x
        disk = made(lane, write("/x", "another"), step=3)
        assert isinstance(disk, Wrote)
        assert disk.replaced is None
        lane.adopt(state(a="b", x="new"), 4)
        assert lane.shared.held("/x") is not None

    @pytest.mark.parametrize(
        ("calls", "shown"),
        [
            ([write("/disk/a", "b")], {"a": "b"}),
            ([write("/disk/x", "new"), write("/x", "new")], {"a": "b", "x": "new"}),
            ([write("/disk/x", "new")], {"a": "b", "x": "other"}),
            ([write("/disk/x", "new")], {"a": "b", "isk_x": "new"}),
        ],
        ids=["it was there before", "another call wrote it there", "it is another", "it is no end of the path"],
    )
    def test_what_may_be_a_coincidence_reveals_none(
        self, lane: LaneFiles, calls: list[FileCall], shown: dict[str, str]
    ) -> None:
        for call in calls:
            made(lane, call, step=2)
        lane.adopt(state(**shown), 3)
        assert not lane.shared.mounted

    def test_a_delete_then_ends_belief_in_all_and_removes_for_certain_what_it_names(self) -> None:
        lane = LaneFiles(SharedFiles(cid_of), cid_of)
        made(lane, write("/d/a", "b"))
        lane.shared.mounted = True
        assert made(lane, delete("/d")) == Removed(())
        assert lane.shared.held("/d/a") is None
        held = made(lane, write("/d/a", "b"))
        assert isinstance(held, Wrote)
        assert made(lane, delete("/d/a")) == Removed((held.version,))


class TestAnotherBackend:
    """An agent that brings its own backend: the same path may be another file, and may be the same one."""

    @pytest.fixture
    def caller(self) -> LaneFiles:
        return LaneFiles(SharedFiles(cid_of), cid_of)

    def test_it_does_not_believe_what_its_caller_wrote(self, caller: LaneFiles) -> None:
        made(caller, write("/a", "b"))
        other = caller.fork(same_backend=False)
        assert isinstance(made(other, edit("/a", "b", "c"), count=1), Edited)

    def test_what_it_changes_its_caller_does_not_believe_any_more(self, caller: LaneFiles) -> None:
        made(caller, write("/a", "b"))
        made(caller, write("/z", "b"))
        other = caller.fork(same_backend=False)
        made(other, write("/a", "c"))
        assert caller.shared.held("/a") is None
        assert caller.shared.held("/z") is not None
        assert other.shared.held("/a") is not None
        made(caller, write("/a", "d"))
        assert other.shared.held("/a") is None

    def test_what_both_change_at_once_is_contested(self, caller: LaneFiles) -> None:
        other = caller.fork(same_backend=False)
        editing = caller.begin(write("/a", "b"), 1)
        made(other, write("/a", "c"))
        caller.settle(editing, Succeeded())
        assert caller.shared.held("/a") is None
        assert other.shared.held("/a") is None

    def test_one_that_is_done_is_not_minded_any_more(self, caller: LaneFiles) -> None:
        other = caller.fork(same_backend=False)
        made(other, write("/a", "c"))
        other.shared.close()
        made(caller, write("/a", "d"))
        assert other.shared.held("/a") is not None
        assert caller.shared.held("/a") is not None

    def test_one_with_the_same_backend_believes_what_its_caller_wrote(self, caller: LaneFiles) -> None:
        made(caller, write("/a", "b"))
        assert isinstance(made(caller.fork(), edit("/a", "b", "c"), count=1), Wrote)


class TestWhatACallSees:
    def test_what_an_earlier_superstep_did_before_any_state_showed_it(self, lane: LaneFiles) -> None:
        lane.update("/a", {"content": "from a node"}, 2)
        assert lane.begin(edit("/a", "node", "x"), 3).held != lane.begin(edit("/a", "node", "x"), 2).held
        effect = made(lane, edit("/a", "node", "tool"), step=3, count=1)
        assert isinstance(effect, Wrote)
        assert effect.data == b"from a tool"

    def test_what_an_earlier_superstep_deleted_is_gone(self, lane: LaneFiles) -> None:
        lane.update("/a", None, 2)
        assert lane.begin(read("/a"), 3).held is None
        assert lane.begin(read("/a"), 2).held is not None

    def test_what_only_the_next_state_will_show_is_not_known_until_then(self, lane: LaneFiles) -> None:
        lane.unsettle("/a", 2)
        assert isinstance(made(lane, edit("/a", "b", "c"), step=3, count=1), Edited)

    def test_a_call_made_in_a_call_sees_what_that_one_did(self, lane: LaneFiles) -> None:
        outer = lane.begin(Foreign("{'path': '/a'}"), 2)
        first = lane.begin(write("/a", "by the tool"), 2, within=[outer], task="t1")
        lane.settle(first, Succeeded())
        second = lane.begin(edit("/a", "tool", "call"), 2, within=[outer], task="t1")
        effect = lane.settle(second, Succeeded(1))
        assert isinstance(effect, Wrote)
        assert effect.data == b"by the call"
        assert effect.replaced is not None
        assert effect.replaced.cid == cid_of(b"by the tool")

    def test_a_call_beside_it_does_not(self, lane: LaneFiles) -> None:
        outer = lane.begin(Foreign("{'path': '/a'}"), 2)
        lane.settle(lane.begin(write("/a", "by the tool"), 2, within=[outer], task="t1"), Succeeded())
        assert lane.begin(read("/a"), 2).held == lane.begin(read("/a"), 2, task="t2").held
