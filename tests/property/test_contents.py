import base64

from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.facts import Why
from eqty_lineage.deepagents.filesystem.contents import (
    Content,
    Unreadable,
    content_of,
    from_base64,
    from_text,
    is_file_data,
    is_filesystem,
    text_of,
)

LINES = st.lists(st.text(alphabet="ab\r\n", max_size=4), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "encoding", "created_at", "path"]) | st.text(max_size=2), inner)
    ),
    max_leaves=6,
)


@given(st.text())
def test_a_text_is_its_bytes_in_utf_8_and_nothing_is_lost(text: str) -> None:
    content = from_text(text)
    assert content == Content(text.encode(), text)


@given(st.text(), st.characters(categories=["Cs"]), st.text())
def test_a_text_with_a_lone_surrogate_has_no_bytes(before: str, surrogate: str, after: str) -> None:
    assert from_text(before + surrogate + after) == Unreadable(Why.UNENCODABLE)


@given(st.binary())
def test_a_binary_file_is_the_bytes_that_its_base64_stands_for(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert from_base64(text) == Content(data, None)
    assert content_of({"content": text, "encoding": "base64"}) == Content(data, None)


@given(LINES)
def test_a_list_of_lines_and_the_text_they_make_are_one_content(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert content_of({"content": lines}) == content_of({"content": text}) == content_of(text)


@given(JSON)
def test_any_value_is_a_file_that_can_be_read_or_none(value: object) -> None:
    if is_file_data(value):
        assert isinstance(value, dict)
        assert isinstance(text_of(value), str)
        assert isinstance(content_of(value), Content | Unreadable)
    assert is_filesystem({"/a": value}) == (value is None or is_file_data(value))
