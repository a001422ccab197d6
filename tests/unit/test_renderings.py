import pytest

from eqty_lineage.deepagents.filesystem.renderings import EMPTY, is_rendering, may_be_preview_of, name_of, shows

CUT = "[Output was truncated due to size limits. The file content is very large.]"
BEFORE_START = "[Requested offset -2 is before the start of the file; read from line 1 instead.]"

CONSISTENT = {
    "0.7.32": ("@@ lines 1-2 of 2 @@\na\nb", "a\nb\n"),
    "0.7.32, no final newline": ("@@ lines 1-2 of 2 @@\na\nb", "a\nb"),
    "0.7.32, other line endings": ("@@ lines 1-2 of 2 @@\na\nb", "a\r\nb\r"),
    "0.7.32, the first lines": ("@@ lines 1-1 of 2 | next offset 1 @@\na", "a\nb\n"),
    "0.7.32, the last lines": ("@@ lines 2-2 of 2 @@\nb", "a\nb\n"),
    "0.7.32, blank lines": ("@@ lines 2-3 of 4 | next offset 3 @@\n\n", "a\n\n\nb\n"),
    "0.7.32, before the start": (f"{BEFORE_START}\n@@ lines 1-1 of 1 @@\na", "a\n"),
    "0.7.32, text like a header": ("@@ lines 1-2 of 2 @@\n@@ lines 1-1 of 1 @@\na", "@@ lines 1-1 of 1 @@\na"),
    "0.7.32, text like fields": ("@@ lines 1-1 of 2 | next offset 1 @@\na | b @@", "a | b @@\n\n"),
    "0.7.32, cut to size": (f"{CUT}\n@@ lines 1-1 of 3 | next offset 1 | truncated due to size @@\na", "a\nb\nc\n"),
    "0.7.32, cut in a line": (f"{CUT}\n@@ lines 1-1 of 2 | truncated mid-line | 2 of 4 chars @@\nab", "abcd\ne\n"),
    "0.7.32, total unknown": ("@@ lines 1-2 | next offset 2 @@\na\nb", "a\nb\nc\n"),
    "0.7.32, a blank row lost": ("@@ lines 1-2 of 2 @@\na", "a\n\n"),
    "0.7.32, blank, on a disk": (f"@@ lines 4-4 @@\n{EMPTY}", " \n"),
    "blank": (EMPTY, "\n\t\n"),
    "empty": (EMPTY, ""),
    "the reminder as text": (f"@@ lines 1-1 of 1 @@\n{EMPTY}", EMPTY),
    "0.7.0": ("1  a\n2  b", "a\nb\n"),
    "0.7.0, wide numbers": (" 9  a\n10  b", "\n" * 8 + "a\nb\n"),
    "0.7.0, more to come": ("1  a\n\n[Read 1 line (lines 1-1 of 2 total). 1 line remaining from offset 1.]", "a\nb\n"),
    "0.6": ("     1\ta\n     2\tb", "a\nb\n"),
    "0.6, a window": ("     2\tb", "a\nb\nc\n"),
    "0.6, blank lines": ("     1\t\n     2\ta", "\na"),
    "0.6, returns kept": ("     1\ta\r\n     2\tb\r", "a\r\nb\r\n"),
    "0.6, text like a number": ("     1\t7\tb", "7\tb"),
    "0.6, a long line": ("     1\tab\n   1.1\tcd\n     2\te", "abcd\ne\n"),
}


@pytest.mark.parametrize(("result", "text"), CONSISTENT.values(), ids=CONSISTENT)
def test_a_text_is_shown_like_this(result: str, text: str) -> None:
    assert is_rendering(result)
    assert shows(result, text)


INCONSISTENT = {
    "a line differs": ("@@ lines 1-2 of 2 @@\na\nb", "a\nc\n"),
    "a line is longer": ("@@ lines 1-2 of 2 @@\na\nb", "a\nbb\n"),
    "a line more": ("@@ lines 1-2 of 2 @@\na\nb", "a\nb\nc\n"),
    "a line less": ("@@ lines 1-2 of 2 @@\na\nb", "a\n"),
    "a blank line more": ("@@ lines 1-1 of 1 @@\na", "a\n\n"),
    "a blank line before": ("@@ lines 1-2 of 2 @@\na\nb", "\na\nb\n"),
    "spaces": ("@@ lines 1-1 of 1 @@\na", "a "),
    "another window": ("@@ lines 2-2 of 2 @@\na", "a\nb\n"),
    "what ends a line": ("@@ lines 1-2 of 2 @@\na\x0cb\n", "a\nb\n"),
    "cut in a line, another start": ("@@ lines 1-1 of 1 | truncated mid-line | 2 of 4 chars @@\nab", "xbcd"),
    "cut in a line, another length": ("@@ lines 1-1 of 1 | truncated mid-line | 2 of 4 chars @@\nab", "abc"),
    "cut in a line, nothing shown": ("@@ lines 1-1 of 1 | truncated mid-line | 0 of 4 chars @@\n", "abcd"),
    "past the end, total unknown": ("@@ lines 3-4 @@\n\n", "a\n"),
    "a blank file has no lines": ("@@ lines 1-2 of 2 @@\n\n", "\n\n"),
    "a blank file, on a disk": (f"@@ lines 1-1 @@\n{EMPTY}", "a"),
    "blank": (EMPTY, "a"),
    "the reminder as text": (EMPTY, EMPTY),
    "numbered, a line differs": ("1  a\n2  b", "a\nc\n"),
    "numbered, past the end": ("     7\t", "a\n"),
    "numbered, from nought": ("     0\t", ""),
    "numbered, with a hole": ("1  a\n3  b", "a\nb\nb\n"),
    "numbered, cut in a line": (f"     1\tab\n     2\tc\n\n{CUT}", "ab\ncd\n"),
    "numbered, something else after": ("1  a\n\nb", "a\n"),
    "numbered, something else between": ("1  a\nb\n2  c", "a\nc\n"),
    "no form at all": ("a", "a"),
    "nothing": ("", ""),
    "an error": ("Error: File '/a' not found", "Error: File '/a' not found"),
}


@pytest.mark.parametrize(("result", "text"), INCONSISTENT.values(), ids=INCONSISTENT)
def test_a_text_is_not_shown_like_this(result: str, text: str) -> None:
    assert not shows(result, text)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "a",
        "Error: File '/a' not found",
        "Error: Line offset 7 exceeds file length (1 lines)",
        "System reminder: no lines were read because `limit` was 0.",
        "@@ lines of text @@",
        "1 a",
    ],
)
def test_a_report_that_there_is_nothing_to_show_is_no_rendering(result: str) -> None:
    assert not is_rendering(result)


@pytest.mark.parametrize(
    ("offset", "limit", "name"),
    [
        (None, None, "/a"),
        (0, None, "/a (offset 0)"),
        (None, 5, "/a (limit 5)"),
        ("10", 5, "/a (offset 10, limit 5)"),
    ],
)
def test_a_rendering_is_named_after_the_path_and_the_window_if_one_was_asked_for(
    offset: object, limit: object, name: str
) -> None:
    assert name_of("/a", offset, limit) == name


PREVIEW = "saved at /x\n\n     1\tone\n     2\ttwo\n... [1 lines truncated] ...\n     4\tfour"


@pytest.mark.parametrize(
    ("said", "text", "expected"),
    [
        (PREVIEW, "one\ntwo\nthree\nfour\n", True),
        (PREVIEW, "one\ntwo, and more of it\nthree\nfour\n", True),
        (PREVIEW, "one\n2\nthree\nfour\n", False),
        (PREVIEW, "one\ntwo\nfour\n", False),
        ("  1  one\n  1.1  more", "one\n", True),
        ("no rows", "one\n", False),
        ({"message": "/x"}, "one\n", True),
    ],
)
def test_a_preview_can_be_of_a_text_that_has_its_rows_and_as_many_lines(
    said: object,
    text: str,
    expected: bool,  # noqa: FBT001 - a table
) -> None:
    assert may_be_preview_of(said, text) is expected
