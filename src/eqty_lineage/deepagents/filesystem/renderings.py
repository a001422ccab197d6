"""Whether what ``read_file`` returned can have come from a given text, and what to call it if not.

A read shows a window of a file under a header (since 0.7.15) or with line numbers (before); the final newline, the
kind of line ending and anything past the window are lost, so the bytes cannot be had from it. Whether a *known* text
would be shown like that can be told, for the forms below; any other form is consistent with nothing.
"""

from __future__ import annotations

import re
from typing import Final

EMPTY: Final = "System reminder: File exists but has empty contents"
"""What every release returns for a file without visible characters."""

_HEADER = re.compile(
    r"^@@ lines (?P<first>\d+)-(?P<last>\d+)(?: of (?P<total>\d+))?(?P<fields>(?: \| [^|]*?)*) @@$", re.MULTILINE
)
_NUMBERED = re.compile(r"^\s*(?P<line>\d+)(?P<part>\.\d+)?(?:\t| {2})(?P<text>.*)$")
_TRUNCATED = "[Output was truncated"


def is_rendering(result: str) -> bool:
    """Whether ``result`` is a known form of a file's content, rather than a report that there is none to show."""
    return result == EMPTY or _HEADER.search(result) is not None or _NUMBERED.match(result) is not None


def shows(result: str, text: str) -> bool:
    """Whether ``result``, the text a ``read_file`` call returned, is what a file holding ``text`` would be shown as."""
    if result == EMPTY:
        return not text.strip()
    lines = text.splitlines()
    header = _HEADER.search(result)
    if header is not None:
        return _shows_window(result[header.end() + 1 :], header, lines)
    return _shows_numbered(result, lines)


def _shows_window(body: str, header: re.Match[str], lines: list[str]) -> bool:
    first, last, total = int(header["first"]), int(header["last"]), header["total"]
    if total is not None and int(total) != len(lines):
        return False
    window = lines[max(first - 1, 0) : last]
    shown = body.splitlines()
    if "truncated mid-line" in header["fields"]:
        return bool(shown) and bool(window) and window[0].startswith(shown[0])
    return _same_rows(shown, window)


def _shows_numbered(result: str, lines: list[str]) -> bool:
    shown: list[str] = []
    numbers: list[int] = []
    for row in result.splitlines():
        numbered = _NUMBERED.match(row)
        if numbered is None:
            # only a truncation notice may follow the numbered rows
            if row.strip() and not row.startswith(_TRUNCATED):
                return False
            break
        if numbered["part"] is not None and shown:
            shown[-1] += numbered["text"]
        else:
            shown.append(numbered["text"])
            numbers.append(int(numbered["line"]))
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return False
    return _same_rows(shown, lines[numbers[0] - 1 : numbers[-1]])


def _same_rows(shown: list[str], window: list[str]) -> bool:
    """Compare row by row; blank rows at the end come and go between backends and say nothing."""
    return _without_blank_end(shown) == _without_blank_end(window)


def _without_blank_end(rows: list[str]) -> list[str]:
    end = len(rows)
    while end and not rows[end - 1]:
        end -= 1
    return rows[:end]


def name_of(path: str, offset: object, limit: object) -> str:
    """Return the name of a rendering: the path, with the window if the call asked for one."""
    if offset is None and limit is None:
        return path
    asked = ", ".join(f"{key} {value}" for key, value in (("offset", offset), ("limit", limit)) if value is not None)
    return f"{path} ({asked})"
