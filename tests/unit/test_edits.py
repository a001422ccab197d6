import pytest

from eqty_lineage.deepagents.filesystem.edits import NoEdit, Replaced, line_endings_matter, replace


@pytest.mark.parametrize(
    ("text", "old", "new", "every", "expected"),
    [
        ("ab", "b", "c", False, Replaced("ac", 1)),
        ("ab", "b", "", False, Replaced("a", 1)),
        ("ab", "b", "b", False, Replaced("ab", 1)),
        ("aba", "a", "c", True, Replaced("cbc", 2)),
        ("aaa", "aa", "b", True, Replaced("ba", 1)),
        ("aba", "a", "c", False, NoEdit.AMBIGUOUS),
        ("ab", "c", "d", False, NoEdit.NOT_FOUND),
        ("ab", "ab\n", "c", False, NoEdit.NOT_FOUND),
        ("ab", "", "c", True, NoEdit.EMPTY_OLD),
        ("", "", "c", False, NoEdit.EMPTY_OLD),
    ],
)
def test_an_edit_replaces_one_occurrence_or_every_one_or_is_refused(
    text: str, old: str, new: str, expected: Replaced | NoEdit, *, every: bool
) -> None:
    assert replace(text, old, new, every=every) == expected


@pytest.mark.parametrize("texts", [("a\r\nb", "a", "b"), ("a", "\r", "b"), ("a", "a", "b\r"), ("\r",)])
def test_line_endings_matter_where_a_carriage_return_is_involved(texts: tuple[str, ...]) -> None:
    assert line_endings_matter(*texts)


@pytest.mark.parametrize("texts", [("a\nb", "a\n", "\n"), ("", "", ""), ()])
def test_line_endings_do_not_matter_elsewhere(texts: tuple[str, ...]) -> None:
    assert not line_endings_matter(*texts)
