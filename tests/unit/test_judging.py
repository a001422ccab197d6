from typing import Any

import pytest

from eqty_lineage.deepagents.facts import Evidence, Version, Why
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.filesystem.effects import Known
from eqty_lineage.deepagents.filesystem.judging import disturbs, version_read, written
from eqty_lineage.deepagents.filesystem.reconstruction import Edit, Execute, FileCall, Succeeded, Write
from support.files import block, cid_of, delete, edit, read, shown, write

CHANGES: list[FileCall] = [write("/d/a", ""), edit("/d/a", "b", "c"), delete("/d/a"), delete("/d"), delete("/")]


@pytest.mark.parametrize("change", [*CHANGES, write("//d/a", ""), delete("/d/./a"), Execute()])
@pytest.mark.parametrize("other", [read("/d/a"), write("/d/a", "b"), edit("/d/a", "b", "c"), delete("/d/a")])
def test_a_change_disturbs_calls_about_the_same_file(change: FileCall, other: FileCall) -> None:
    assert disturbs(change, other)


def test_a_change_below_disturbs_the_delete_of_a_directory() -> None:
    assert disturbs(write("/d/a", ""), delete("/d"))


@pytest.mark.parametrize("change", CHANGES[:4])
@pytest.mark.parametrize("other", [read("/e"), write("/da", "b"), edit("/dab", "b", "c"), delete("/e")])
def test_a_change_does_not_disturb_calls_about_other_files(change: FileCall, other: FileCall) -> None:
    assert not disturbs(change, other)


def test_a_read_disturbs_nothing() -> None:
    assert not any(disturbs(read("/d/a"), other) for other in [*CHANGES, read("/d/a"), Execute()])


def test_a_shell_works_on_no_file_that_could_be_told() -> None:
    assert not any(disturbs(change, Execute()) for change in CHANGES)


def test_two_shells_disturb_each_other() -> None:
    assert disturbs(Execute(), Execute())


def known(text: str | None, data: bytes | None = None, ordinal: int = 1) -> Known:
    cid = cid_of((text or "").encode() if data is None else data)
    return Known(Version("/a", ordinal, cid, Evidence.ARGUMENTS), text)


SETTLED = {
    "a write leaves its text": (write("/a", "b\r\n"), None, None, Content(b"b\r\n", "b\r\n")),
    "a write of no valid text": (write("/a", "\ud800"), None, None, Why.UNENCODABLE),
    "an edit is replayed": (edit("/a", "b", "c"), known("ab"), 1, Content(b"ac", "ac")),
    "an edit of every occurrence": (edit("/a", "b", "c", every=True), known("bb"), 2, Content(b"cc", "cc")),
    "an edit of an unknown file": (edit("/a", "b", "c"), None, 1, Why.NO_BASE),
    "an edit of a binary file": (edit("/a", "b", "c"), known(None, b"b"), 1, Why.NO_BASE),
    "an edit that finds nothing": (edit("/a", "b", "c"), known("a"), 1, Why.MISMATCH),
    "an edit that finds too much": (edit("/a", "b", "c"), known("bb"), 1, Why.MISMATCH),
    "an edit with another count": (edit("/a", "b", "c", every=True), known("bb"), 3, Why.MISMATCH),
    "an edit that makes no valid text": (edit("/a", "b", "\ud800"), known("b"), 1, Why.UNENCODABLE),
}


@pytest.mark.parametrize("endings_kept", [False, True])
@pytest.mark.parametrize(("call", "held", "count", "expected"), SETTLED.values(), ids=SETTLED)
def test_what_a_successful_change_left(
    call: Write | Edit, held: Known | None, count: int | None, expected: Content | Why, *, endings_kept: bool
) -> None:
    assert written(call, held, Succeeded(count), contested=False, endings_kept=endings_kept) == expected


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [("a\r\nb", "b", "c"), ("ab\r", "b", "c"), ("ab", "b", "c\r\n"), ("a\rb", "\rb", "c")],
)
def test_an_edit_of_line_endings_is_replayed_only_where_they_are_kept(text: str, old: str, new: str) -> None:
    call, held = edit("/a", old, new), known(text)
    kept = text.replace(old, new)
    assert written(call, held, Succeeded(1), contested=False, endings_kept=False) is Why.LINE_ENDINGS
    assert written(call, held, Succeeded(1), contested=False, endings_kept=True) == Content(kept.encode(), kept)


def test_an_edit_during_another_change_is_not_replayed() -> None:
    assert written(edit("/a", "b", "c"), known("b"), Succeeded(1), contested=True, endings_kept=True) is Why.CONTESTED


def test_a_write_during_another_change_still_wrote_its_text() -> None:
    call = write("/a", "b")
    assert written(call, None, Succeeded(), contested=True, endings_kept=True) == Content(b"b", "b")


READS = {
    "a text": (known("a\n"), shown("a\n")),
    "a text under a binary name, from a state": (known("a"), [{"base64": "a"}]),
    "a text under a binary name, from a disk": (known("a"), block(b"a")),
    "a binary file": (known(None, b"\x80"), block(b"\x80")),
    "an empty binary file": (known(None, b""), "System reminder: File exists but has empty contents"),
}


@pytest.mark.parametrize(("held", "content"), READS.values(), ids=READS)
def test_a_read_is_of_the_version_that_is_shown_like_it(held: Known, content: Any) -> None:
    assert version_read([held], content, cid_of) == held.version
    assert version_read([known("other", ordinal=2), held], content, cid_of) == held.version


@pytest.mark.parametrize(
    ("held", "content"),
    [
        (known("a"), shown("b")),
        (known("a"), block(b"b")),
        (known("a"), [{"type": "text", "text": "a"}]),
        (known("a"), None),
        (known(None, b"a"), shown("a")),
        (known(None, b"a"), block(b"b")),
        (known(None, b"a"), [{"base64": "a"}]),
        (known(None, b"a"), "System reminder: File exists but has empty contents"),
    ],
)
def test_a_read_is_of_no_version_that_is_shown_otherwise(held: Known, content: Any) -> None:
    assert version_read([held], content, cid_of) is None


def test_a_read_that_two_contents_are_shown_like_is_of_neither() -> None:
    assert version_read([known("a"), known("a\n", ordinal=2)], shown("a"), cid_of) is None


def test_a_read_is_of_the_later_of_two_versions_with_one_content() -> None:
    later = known("a", ordinal=3)
    assert version_read([known("a"), later], shown("a"), cid_of) == later.version


def test_a_text_read_while_it_could_change_is_of_no_version() -> None:
    assert version_read([known("a\n")], shown("a\n"), cid_of, contested=True) is None


def test_bytes_read_while_they_could_change_are_still_those_of_their_version() -> None:
    held = known(None, b"\x80")
    assert version_read([held], block(b"\x80"), cid_of, contested=True) == held.version
