"""Files that no state shows: what is believed of them, and when belief goes."""

from typing import Any

import pytest

from eqty_lineage.deepagents.facts import Evidence, Version, Why
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
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Execute,
    Failed,
    FileCall,
    Foreign,
    Outcome,
    Succeeded,
    Unclear,
)
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from support.files import block, cid_of, delete, edit, made, read, shown, version, write


@pytest.fixture
def lane() -> LaneFiles:
    return LaneFiles(SharedFiles(cid_of), cid_of)


def believed(lane: LaneFiles, path: str = "/a") -> Version | None:
    known = lane.shared.held(path)
    return None if known is None else known.version


class TestWrites:
    def test_a_write_makes_a_version_of_its_text(self, lane: LaneFiles) -> None:
        effect = made(lane, write("/a", "b"))
        assert effect == Wrote(version("/a", 1, "b"), None, b"b")
        assert believed(lane) == version("/a", 1, "b")

    def test_a_write_replaces_the_version_believed(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, write("/a", "c")) == Wrote(version("/a", 2, "c"), version("/a", 1, "b"), b"c")

    def test_a_write_of_the_same_text_changes_nothing(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, write("/a", "b")) == Unchanged(version("/a", 1, "b"))

    def test_writing_earlier_text_again_is_a_new_version(self, lane: LaneFiles) -> None:
        for text in ("b", "c"):
            made(lane, write("/a", text))
        assert made(lane, write("/a", "b")) == Wrote(version("/a", 3, "b"), version("/a", 2, "c"), b"b")

    def test_a_write_of_no_valid_text_leaves_the_file_unknown(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, write("/a", "\ud800")) == Unknown(Why.UNENCODABLE)
        assert believed(lane) is None

    def test_all_lanes_see_what_one_wrote(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        other = LaneFiles(lane.shared, cid_of)
        assert made(other, write("/a", "c")) == Wrote(version("/a", 2, "c"), version("/a", 1, "b"), b"c")


class TestEdits:
    def test_an_edit_is_replayed_on_the_version_believed(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "bb"))
        effect = made(lane, edit("/a", "b", "c", every=True), count=2)
        assert effect == Wrote(version("/a", 2, "cc", Evidence.RECONSTRUCTED), version("/a", 1, "bb"), b"cc")

    @pytest.mark.parametrize(
        ("text", "call", "count", "why"),
        [
            (None, edit("/a", "b", "c"), 1, Why.NO_BASE),
            ("b", edit("/a", "b", "c"), 2, Why.MISMATCH),
            ("b\r\n", edit("/a", "b", "c"), 1, Why.LINE_ENDINGS),
        ],
    )
    def test_an_edit_that_cannot_be_replayed_leaves_the_file_unknown(
        self, lane: LaneFiles, text: str | None, call: FileCall, count: int, why: Why
    ) -> None:
        if text is not None:
            made(lane, write("/a", text))
        base = version("/a", 1, str(text)) if why is Why.LINE_ENDINGS else None
        assert made(lane, call, count=count) == Edited(call, count, why, base)
        assert believed(lane) is None

    def test_an_edit_that_changes_nothing_is_no_new_version(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, edit("/a", "b", "b"), count=1) == Unchanged(version("/a", 1, "b"))


class TestDeletes:
    def test_a_delete_removes_the_versions_at_and_below_its_path_in_order(self, lane: LaneFiles) -> None:
        for path in ("/d/b", "/d/a", "/da"):
            made(lane, write(path, "x"))
        assert made(lane, delete("/d")) == Removed((version("/d/a", 1, "x"), version("/d/b", 1, "x")))
        assert believed(lane, "/d/a") is None
        # it may be below the same folder by another prefix
        assert believed(lane, "/da") is None

    def test_a_delete_of_a_file_ends_belief_in_no_file_of_another_name(self, lane: LaneFiles) -> None:
        made(lane, write("/d/a", "x"))
        made(lane, write("/d/b", "x"))
        made(lane, delete("/d/a"))
        assert believed(lane, "/d/b") == version("/d/b", 1, "x")

    def test_a_delete_of_a_file_never_seen_removes_nothing_known(self, lane: LaneFiles) -> None:
        assert made(lane, delete("/a")) == Removed(())

    def test_a_file_written_after_its_delete_is_a_later_version_that_replaces_none(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        made(lane, delete("/a"))
        assert made(lane, write("/a", "b")) == Wrote(version("/a", 2, "b"), None, b"b")

    def test_a_delete_during_a_write_below_it_says_nothing_of_what_it_removed(self, lane: LaneFiles) -> None:
        made(lane, write("/d/a", "b"))
        writing, deleting = lane.begin(write("/d/a", "c"), 1), lane.begin(delete("/d"), 1)
        assert lane.settle(deleting, Succeeded()) == Removed(())
        assert lane.settle(writing, Succeeded()) == Wrote(version("/d/a", 2, "c"), None, b"c")
        assert believed(lane, "/d/a") is None


class TestFailures:
    @pytest.mark.parametrize("call", [write("/a", "c"), edit("/a", "b", "c"), delete("/a"), delete("/")])
    def test_a_failed_change_leaves_the_file_unknown(self, lane: LaneFiles, call: FileCall) -> None:
        made(lane, write("/a", "b"))
        assert lane.settle(lane.begin(call, 1), Failed()) == Unknown(Why.FAILED)
        assert believed(lane) is None

    @pytest.mark.parametrize("call", [write("/a", "c"), delete("/d"), read("/a")])
    def test_a_failed_call_about_a_file_never_seen_says_nothing(self, lane: LaneFiles, call: FileCall) -> None:
        assert lane.settle(lane.begin(call, 1), Failed()) == Nothing()

    def test_after_a_failed_read_the_file_may_be_gone(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert lane.settle(lane.begin(read("/a"), 1), Failed()) == Nothing()
        assert believed(lane) is None

    @pytest.mark.parametrize("call", [write("/a", "c"), edit("/a", "b", "c"), delete("/")])
    def test_a_change_whose_result_says_nothing_leaves_the_file_unknown(self, lane: LaneFiles, call: FileCall) -> None:
        made(lane, write("/a", "b"))
        assert lane.settle(lane.begin(call, 1), Unclear()) == Unknown(Why.UNCLEAR)
        assert believed(lane) is None

    def test_a_read_whose_result_says_nothing_is_a_gap_and_does_not_shake_belief(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert lane.settle(lane.begin(read("/a"), 1), Unclear()) == Unknown(Why.UNCLEAR)
        assert believed(lane) == version("/a", 1, "b")

    @pytest.mark.parametrize("call", [write("/a", "c"), edit("/a", "b", "c"), delete("/"), Execute()])
    def test_a_change_whose_end_is_never_seen_leaves_the_file_unknown(self, lane: LaneFiles, call: FileCall) -> None:
        made(lane, write("/a", "b"))
        lane.abandon(lane.begin(call, 1))
        assert believed(lane) is None

    def test_a_read_whose_end_is_never_seen_does_not_shake_belief(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        lane.abandon(lane.begin(read("/a"), 1))
        assert believed(lane) == version("/a", 1, "b")

    @pytest.mark.parametrize("call", [write("/d/a", "c"), edit("/a", "b", "c"), delete("/"), Execute(), Foreign("/a")])
    def test_what_may_still_be_changed_by_a_call_nobody_waits_for_is_never_believed_again(
        self, lane: LaneFiles, call: FileCall
    ) -> None:
        lane.abandon(lane.begin(call, 1), may_go_on=True)
        lane.shared.rest()
        made(lane, write("/a", "b"))
        assert believed(lane) is None

    def test_a_read_nobody_waits_for_changes_nothing(self, lane: LaneFiles) -> None:
        lane.abandon(lane.begin(read("/a"), 1), may_go_on=True)
        made(lane, write("/a", "b"))
        assert believed(lane) == version("/a", 1, "b")

    def test_abandoning_a_call_that_has_ended_changes_nothing(self, lane: LaneFiles) -> None:
        ticket = lane.begin(write("/a", "b"), 1)
        lane.settle(ticket, Succeeded())
        lane.abandon(ticket)
        assert believed(lane) == version("/a", 1, "b")


class TestReads:
    def test_a_read_of_what_is_believed_is_of_that_version(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, read("/a"), result=shown("b")) == ReadVersion(version("/a", 1, "b"))

    def test_a_read_of_a_file_never_seen_gives_a_rendering(self, lane: LaneFiles) -> None:
        assert made(lane, read("/a"), result=shown("b")) == Rendered()

    def test_a_read_that_shows_something_else_ends_belief(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, read("/a"), result=shown("c")) == Rendered()
        assert believed(lane) is None

    def test_exact_bytes_are_a_version_even_if_nobody_is_known_to_have_written_them(self, lane: LaneFiles) -> None:
        expected = Version("/a", 1, cid_of(b"\x80"), Evidence.BYTES)
        assert made(lane, read("/a"), result=block(b"\x80")) == ReadBytes(expected, b"\x80")
        assert believed(lane) == expected
        assert made(lane, read("/a"), result=block(b"\x80")) == ReadVersion(expected)

    def test_other_exact_bytes_are_the_next_version(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        expected = Version("/a", 2, cid_of(b"\x80"), Evidence.BYTES)
        assert made(lane, read("/a"), result=block(b"\x80")) == ReadBytes(expected, b"\x80")
        assert believed(lane) == expected

    @pytest.mark.parametrize("result", [None, [{"type": "text", "text": "b"}], [{"base64": "no base64!"}]])
    def test_what_holds_no_exact_bytes_is_a_rendering(self, lane: LaneFiles, result: Any) -> None:
        assert made(lane, read("/a"), result=result) == Rendered()


class TestCallsAtTheSameTime:
    @pytest.mark.parametrize("first", ["one", "other"])
    def test_two_writes_are_both_versions_and_neither_is_said_to_replace_the_other(
        self, lane: LaneFiles, first: str
    ) -> None:
        made(lane, write("/a", "x"))
        tickets = {"one": lane.begin(write("/a", "b"), 1), "other": lane.begin(write("/a", "c"), 1)}
        effects: list[Effect] = [lane.settle(tickets.pop(first), Succeeded())]
        effects += [lane.settle(ticket, Succeeded()) for ticket in tickets.values()]
        assert [effect.replaced for effect in effects if isinstance(effect, Wrote)] == [None, None]
        assert believed(lane) is None

    @pytest.mark.parametrize("other", [write("/a", "c"), write("//a", "c"), delete("/"), Execute()])
    def test_an_edit_during_another_change_is_not_replayed(self, lane: LaneFiles, other: FileCall) -> None:
        made(lane, write("/a", "b"))
        editing = lane.begin(edit("/a", "b", "c"), 1)
        lane.begin(other, 1)
        assert lane.settle(editing, Succeeded(1)) == Edited(editing.call, 1, Why.CONTESTED, None)
        assert believed(lane) is None

    def test_an_edit_during_a_change_that_began_before_it_is_not_replayed(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        other = lane.begin(write("/a", "c"), 1)
        editing = lane.begin(edit("/a", "b", "c"), 1)
        lane.settle(other, Failed())
        assert lane.settle(editing, Succeeded(1)) == Edited(editing.call, 1, Why.CONTESTED, None)

    def test_changes_of_different_files_do_not_matter_to_each_other(self, lane: LaneFiles) -> None:
        one, other = lane.begin(write("/a", "b"), 1), lane.begin(write("/b", "c"), 1)
        lane.settle(one, Succeeded())
        lane.settle(other, Succeeded())
        assert believed(lane, "/a") == version("/a", 1, "b")
        assert believed(lane, "/b") == version("/b", 1, "c")

    def test_a_text_read_during_a_change_is_of_no_version_and_does_not_shake_belief(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b\n"))
        reading = lane.begin(read("/a"), 1)
        writing = lane.begin(write("/a", "b"), 1)
        assert lane.settle(reading, Succeeded(), shown("b")) == Rendered()
        assert believed(lane) == version("/a", 1, "b\n")
        lane.settle(writing, Succeeded())
        assert believed(lane) == version("/a", 2, "b")

    def test_bytes_read_during_a_change_are_a_version_that_is_not_believed(self, lane: LaneFiles) -> None:
        reading = lane.begin(read("/a"), 1)
        made(lane, write("/a", "b"))
        assert isinstance(lane.settle(reading, Succeeded(), block(b"\x80")), ReadBytes)
        assert believed(lane) == version("/a", 1, "b")

    def test_bytes_read_during_the_write_that_made_them_are_its_version(self, lane: LaneFiles) -> None:
        reading = lane.begin(read("/a"), 1)
        made(lane, write("/a", "b"))
        assert lane.settle(reading, Succeeded(), block(b"b")) == ReadVersion(version("/a", 1, "b"))


class TestShells:
    def test_a_shell_ends_all_belief_as_it_starts(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        lane.begin(Execute(), 1)
        assert believed(lane) is None

    @pytest.mark.parametrize("outcome", [Succeeded(), Failed()])
    def test_nothing_is_believed_that_happened_while_a_shell_ran(self, lane: LaneFiles, outcome: Outcome) -> None:
        shell = lane.begin(Execute(), 1)
        made(lane, read("/a"), result=block(b"\x80"))
        made(lane, write("/b", "c"))
        assert lane.settle(shell, outcome) == Nothing()
        assert believed(lane, "/a") is None
        assert believed(lane, "/b") is None

    def test_a_shell_left_over_from_the_last_turn_ends_all_belief_too(self, lane: LaneFiles) -> None:
        shell = lane.begin(Execute(), 1)
        lane.shared.rest()
        made(lane, write("/a", "b"))
        lane.settle(shell, Succeeded())
        assert believed(lane) is None

    def test_a_version_written_after_a_shell_replaces_none_and_counts_on(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        made(lane, Execute())
        assert made(lane, write("/a", "c")) == Wrote(version("/a", 2, "c"), None, b"c")


class TestSpellings:
    """A state or store keeps ``//a`` and ``/a`` apart; on a disk they are one file."""

    @pytest.mark.parametrize("call", [write("//a", "c"), edit("/./a", "b", "c"), delete("//a"), write("/A", "")])
    def test_a_change_of_one_spelling_ends_belief_in_the_others(self, lane: LaneFiles, call: FileCall) -> None:
        made(lane, write("/a", "b"))
        lane.begin(call, 1)
        assert believed(lane) is None

    @pytest.mark.parametrize("call", [write("/mount/a", "c"), edit("/x/y/a", "b", "c"), delete("/mount/a")])
    def test_so_does_a_change_of_a_file_of_that_name_elsewhere(self, lane: LaneFiles, call: FileCall) -> None:
        """A folder can be mounted under two prefixes."""
        made(lane, write("/a", "b"))
        lane.begin(call, 1)
        assert believed(lane) is None

    def test_a_delete_of_a_folder_of_that_name_elsewhere_ends_belief_in_what_is_below(self, lane: LaneFiles) -> None:
        made(lane, write("/x/d/a", "b"))
        lane.begin(delete("/mount/d"), 1)
        assert believed(lane, "/x/d/a") is None

    def test_a_change_of_a_file_of_another_name_does_not(self, lane: LaneFiles) -> None:
        made(lane, write("/d/a", "b"))
        lane.begin(write("/d/b", "c"), 1)
        assert believed(lane, "/d/a") == version("/d/a", 1, "b")

    def test_a_delete_of_a_directory_ends_belief_in_all_spellings_below_it(self, lane: LaneFiles) -> None:
        made(lane, write("/d/a", "b"))
        lane.begin(delete("//d"), 1)
        assert believed(lane, "/d/a") is None

    def test_versions_are_of_the_path_as_spelled(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        assert made(lane, write("//a", "c")) == Wrote(version("//a", 1, "c"), None, b"c")

    def test_a_delete_of_one_spelling_removes_no_version_of_another(self, lane: LaneFiles) -> None:
        made(lane, write("/d/a", "b"))
        assert made(lane, delete("//d")) == Removed(())


class TestBetweenTurns:
    def test_belief_ends_and_numbers_go_on(self, lane: LaneFiles) -> None:
        made(lane, write("/a", "b"))
        lane.shared.rest()
        assert believed(lane) is None
        assert made(lane, write("/a", "b")) == Wrote(version("/a", 2, "b"), None, b"b")

    def test_a_call_left_open_does_not_matter_to_the_next_turn(self, lane: LaneFiles) -> None:
        lane.begin(write("/a", "b"), 1)
        lane.shared.rest()
        made(lane, write("/a", "c"))
        assert believed(lane) == version("/a", 1, "c")
