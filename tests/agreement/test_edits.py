"""`edits.replace` and DeepAgents' `perform_string_replacement`: the same text and count, or a refusal of one kind."""

import random

import pytest
from deepagents.backends.utils import perform_string_replacement

from eqty_lineage.deepagents.filesystem import edits
from eqty_lineage.deepagents.filesystem.edits import NoEdit, Replaced
from support.files import LINE_PIECES, generated, joined


def theirs(text: str, old: str, new: str, *, every: bool) -> Replaced | NoEdit:
    result = perform_string_replacement(text, old, new, every)
    if not isinstance(result, str):
        return Replaced(*result)
    if result.startswith("Error: old_string cannot be empty"):
        return NoEdit.EMPTY_OLD
    if "replace_all=True" in result:
        return NoEdit.AMBIGUOUS
    assert result.startswith(
        ("Error: String not found", "Error: old_string ends with a newline, but the file does not")
    )
    return NoEdit.NOT_FOUND


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("", "", ""),
        ("", "", "a"),
        ("a", "", "b"),
        ("", "a", "b"),
        ("a", "a", ""),
        ("a", "a", "a"),
        ("ab", "b", "c"),
        ("aa", "a", "b"),
        ("aaa", "aa", "b"),
        ("aaaa", "aa", "a"),
        ("a", "a\n", "b"),
        ("a a", "a\n", "b"),
        ("\n", "\n", ""),
        ("a\nb\n", "\n", "\n\n"),
        ("a\r\nb", "\n", "\r\n"),
        ("a\r\nb", "\r\n", "\n"),
        ("\ufeffa", "a", "b"),
        ("\ud800", "\ud800", "a"),
        ("é", "e\u0301", "e"),
    ],
)
def test_an_edit_gives_what_the_backend_gives_or_is_refused_as_there(
    text: str, old: str, new: str, *, every: bool
) -> None:
    assert edits.replace(text, old, new, every=every) == theirs(text, old, new, every=every)


def test_generated_edits_give_the_same_texts_and_counts_and_meet_the_same_refusals() -> None:
    def make(chance: random.Random) -> tuple[str, str, str, bool]:
        pieces = LINE_PIECES[:4] if chance.random() < 0.8 else LINE_PIECES
        text = joined(chance, pieces, 8)
        start = chance.randint(0, len(text))
        old = text[start : start + chance.randint(0, 3)] if chance.random() < 0.7 else joined(chance, pieces, 2)
        return text, old, joined(chance, pieces, 3), chance.random() < 0.5

    seen = set()
    for text, old, new, every in generated(make):
        result = edits.replace(text, old, new, every=every)
        seen.add(result if isinstance(result, NoEdit) else min(result.count, 2))
        assert result == theirs(text, old, new, every=every), (text, old, new, every)
    assert seen == {*NoEdit, 1, 2}
