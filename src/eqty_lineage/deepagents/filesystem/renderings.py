"""Whether what ``read_file`` returned can have come from a given text, and what to call it if not.

A read shows a window of a file under a header (since 0.7.14) or with line numbers (before); the final newline, the
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
_NUMBERED: Final = re.compile(r"^\s*(?P<line>\d+)(?P<part>\.\d+)?(?:\t| {2})(?P<text>.*)$")
_NOTICE = re.compile(r"^(?:\[.*\])?$")


def is_rendering(result: str) -> bool:
    """Whether ``result`` is a known form of a file's content, rather than a report that there is none to show."""
    first_row = result.partition("\n")[0]
    return result == EMPTY or _HEADER.search(result) is not None or _NUMBERED.match(first_row) is not None


def shows(result: str, text: str) -> bool:
    """Whether ``result``, the text a ``read_file`` call returned, is what a file holding ``text`` would be shown as."""
    if result == EMPTY:
        return not text.strip()
    header = _HEADER.search(result)
    if header is not None:
        return _shows_window(result[header.end() + 1 :], header, text)
    return _shows_numbered(result, text)


def _shows_window(body: str, header: re.Match[str], text: str) -> bool:
    first, last, total = int(header["first"]), int(header["last"]), header["total"]
    blank, reminder = not text.strip(), total is None and body == EMPTY
    if blank or reminder:
        # a disk puts the reminder under a header (0.7.32); a blank file is shown in no other way
        return blank and reminder
    lines = text.splitlines(keepends=True)
    if last > len(lines) or (total is not None and int(total) != len(lines)):
        return False
    # what ends a line counts: "a\fb" and "a\nb" have the same lines, and only line feeds and returns are made equal
    window = "".join(lines[max(first - 1, 0) : last]).replace("\r\n", "\n").replace("\r", "\n")
    if "truncated mid-line" in header["fields"]:
        line = window.partition("\n")[0]
        return bool(body) and line.startswith(body) and f"| {len(body)} of {len(line)} chars" in header["fields"]
    # blank rows at the end come and go between backends
    return body.rstrip("\n") == window.rstrip("\n")


def _shows_numbered(result: str, text: str) -> bool:
    shown: list[str] = []
    numbers: list[int] = []
    # rows end in a line feed; some releases leave the return of the file's own line ending before it
    rows = [row.removesuffix("\r") for row in result.split("\n")]
    for at, row in enumerate(rows):
        numbered = _NUMBERED.match(row)
        if numbered is None:
            if not all(_NOTICE.match(other) for other in rows[at:]):
                return False
            break
        if numbered["part"] is not None and shown:
            shown[-1] += numbered["text"]
        else:
            shown.append(numbered["text"])
            numbers.append(int(numbered["line"]))
    if not numbers or numbers[0] < 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return False
    return shown == text.splitlines()[numbers[0] - 1 : numbers[-1]]


def may_be_preview_of(said: object, text: str) -> bool:
    """Whether the preview that a result gave way to can be one of ``text``: a middleware may have changed it before.

    A preview shows the first and the last lines with their numbers; what lies between them, nothing tells. A message of
    the person's has none here.
    """
    if not isinstance(said, str):
        return True
    lines = text.splitlines()
    rows = [row for row in map(_NUMBERED.match, said.split("\n")) if row is not None]
    shown = {int(row["line"]): row["text"] for row in rows if row["part"] is None}
    return max(shown, default=0) == len(lines) and all(
        lines[number - 1].startswith(shown_text.rstrip("\r")) for number, shown_text in shown.items() if number
    )


def name_of(path: str, offset: object, limit: object) -> str:
    """Return the name of a rendering: the path, with the window if the call asked for one."""
    if offset is None and limit is None:
        return path
    asked = ", ".join(f"{key} {value}" for key, value in (("offset", offset), ("limit", limit)) if value is not None)
    return f"{path} ({asked})"
