"""What the result of a search shows."""

import pytest
from deepagents.backends.utils import format_grep_matches
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.filesystem import searches

LINE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"))


@given(st.dictionaries(st.sampled_from(["/a.md", "/dir/b c.md", "/x:y"]), st.lists(LINE, min_size=1), min_size=1))
def test_the_lines_that_deepagents_shows_are_read_back(files: dict[str, list[str]]):
    matches = [
        {"path": path, "line": number, "text": line}
        for path, lines in files.items()
        for number, line in enumerate(lines, start=1)
    ]
    shown = searches.lines_in(format_grep_matches(matches, "content"))  # type: ignore[arg-type]
    assert {path: list(lines.values()) for path, lines in shown.items()} == files
    for path, lines in files.items():
        text = "\n".join(lines)
        assert searches.has(text, shown[path])
        assert not searches.has("another line\n" + text, shown[path]) or len(set(lines)) == 1


def test_context_is_shown_and_read():
    matches = [
        {
            "path": "/a",
            "line": 2,
            "text": "two",
            "context_before": [{"line": 1, "text": "one"}],
            "context_after": [{"line": 3, "text": "three"}],
        },
        {"path": "/a", "line": 9, "text": "nine", "context_before": [], "context_after": []},
    ]
    shown = searches.lines_in(format_grep_matches(matches, "content"))  # type: ignore[arg-type]
    assert shown == {"/a": {1: "one", 2: "two", 3: "three", 9: "nine"}}


@pytest.mark.parametrize("result", ["No matches found", "", "/a.md\n/b.md", "/a.md: 2", "Error: no", "  1: stray"])
def test_what_shows_no_lines_has_none(result: str):
    assert searches.lines_in(result) == {}


def test_what_comes_after_the_lines_is_none_of_them():
    shown = searches.lines_in("/a:\n  1: one\n\n[Output was truncated]\n/b:\n  1: two")
    assert shown == {"/a": {1: "one"}}


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("a\nb\n", {2: "b"}, True),
        ("a\nb\n", {1: "b"}, False),
        ("a\nb\n", {4: "b"}, False),
        ("a\nb\n", {0: "b"}, False),
        ("a\r\nb\r\n", {2: "b"}, True),
        ("a\x0cb\n", {2: "b"}, True),
        ("a\x0cb\n", {1: "a\x0cb"}, True),
    ],
)
def test_has(text: str, lines: dict[int, str], expected: bool):  # noqa: FBT001 - a table
    assert searches.has(text, lines) is expected
