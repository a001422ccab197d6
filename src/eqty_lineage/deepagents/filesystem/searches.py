"""Which lines of which files the result of a ``grep`` shows, and whether a given text has them.

The form is that of ``deepagents.backends.utils.format_grep_matches`` (0.7.32) in its ``content`` mode, with and
without context: a path and a colon, then a row for each line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Lines = dict[int, str]
"""Line number, from 1, -> the line without what ends it."""

_HEADER: Final = re.compile(r"^(?P<path>\S.*):$")
_ROW: Final = re.compile(r"^  (?P<line>\d+)[:-] (?P<text>.*)$", re.DOTALL)
_BETWEEN: Final = "  --"


def lines_in(result: str) -> Mapping[str, Lines]:
    """Return what a result shows, by path; what comes after anything that is neither path nor row is left out."""
    shown: dict[str, Lines] = {}
    lines: Lines | None = None
    for row in result.split("\n"):
        found = _ROW.match(row)
        if found is not None and lines is not None:
            lines[int(found["line"])] = found["text"]
        elif (header := _HEADER.match(row)) is not None:
            lines = shown.setdefault(header["path"], {})
        elif row != _BETWEEN:
            break
    return {path: lines for path, lines in shown.items() if lines}


def has(text: str, lines: Lines) -> bool:
    """Whether ``text`` has these lines at these numbers, under either of the two ways backends count lines."""
    return any(
        all(
            0 < number <= len(counted) and counted[number - 1].rstrip("\r") == line.rstrip("\r")
            for number, line in lines.items()
        )
        for counted in (text.split("\n"), text.splitlines())
    )
