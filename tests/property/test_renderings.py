from hypothesis import assume, given
from hypothesis import strategies as st

from eqty_lineage.deepagents.filesystem.renderings import is_rendering, shows
from support.files import shown

LINES = st.lists(st.text(alphabet="ab @|1\t", max_size=4), min_size=1, max_size=6)


@given(LINES, st.booleans())
def test_a_text_is_shown_as_itself(lines: list[str], final: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    text = "\n".join(lines) + "\n" * final
    assume(text.strip() and text.splitlines() == lines)
    assert is_rendering(shown(text))
    assert shows(shown(text), text)


@given(LINES, LINES)
def test_a_text_is_not_shown_as_one_with_other_lines(lines: list[str], others: list[str]) -> None:
    text, other = "\n".join(lines), "\n".join(others)
    assume(text.strip() and text.splitlines() != other.splitlines())
    assert not shows(shown(text), other)


@given(st.text(), st.text())
def test_any_result_is_compared_with_any_text(result: str, text: str) -> None:
    assert shows(result, text) <= is_rendering(result)
