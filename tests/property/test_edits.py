from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.filesystem.edits import NoEdit, Replaced, replace

TEXTS = st.text(alphabet="ab\n", max_size=12)
PARTS = st.sampled_from(["a", "b", "ab", "\n"])


@given(TEXTS, TEXTS, TEXTS)
def test_an_edit_of_one_occurrence_changes_nothing_around_it(before: str, after: str, new: str) -> None:
    assert replace(f"{before}<old>{after}", "<old>", new, every=False) == Replaced(f"{before}{new}{after}", 1)


@given(TEXTS, PARTS, TEXTS)
def test_an_edit_of_every_occurrence_counts_as_many_as_it_replaces(text: str, old: str, new: str) -> None:
    result = replace(text, old, new, every=True)
    if isinstance(result, NoEdit):
        assert result is NoEdit.NOT_FOUND
        assert old not in text
    else:
        assert len(result.text) == len(text) + result.count * (len(new) - len(old))


@given(TEXTS, PARTS, TEXTS)
def test_an_edit_of_one_occurrence_that_is_not_refused_is_an_edit_of_every_one(text: str, old: str, new: str) -> None:
    one = replace(text, old, new, every=False)
    assert one is NoEdit.AMBIGUOUS or replace(text, old, new, every=True) == one


@given(TEXTS, PARTS, st.sampled_from(["x", "xy"]))
def test_an_edit_can_be_undone_where_the_new_text_was_not_there_before(text: str, old: str, new: str) -> None:
    result = replace(text, old, new, every=True)
    if isinstance(result, Replaced):
        assert replace(result.text, new, old, every=True) == Replaced(text, result.count)
    else:
        assert old not in text
