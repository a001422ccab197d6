"""How calls that name a withheld file carry its bytes: in which arguments, and what their results look like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

OF_PATHS: Final = ("file_path", "path", "filename", "file_name", "file", "source", "target_file", "filepath")
"""Names of arguments that say which file a call is about."""
OF_CONTENT: Final = frozenset(
    {
        *("content", "contents", "text", "data", "body", "value", "base64", "bytes", "page_content", "output"),
        *("old_string", "new_string", "old_str", "new_str", "file_text", "insert_text", "diff", "patch"),
        *("edits", "lines", "replacement", "new_content", "old_content"),
    }
)
"""Names under which what names a withheld file carries its bytes."""
NUMBERED: Final = re.compile(r"^\s*\d+(?:\.\d+)?(?:\t| {2})")
"""What a read puts before a line of a file."""

_SHOWING_NOTHING: Final = frozenset({"ls", "glob", "task", "write_todos", "compact_conversation"})
_OPENINGS: Final = {
    "write_file": ("Updated file ", "Error", "Cannot write to "),
    "edit_file": ("Successfully replaced ", "Error: File '", "Error: permission denied", "Error: Path", "File '"),
    "delete": ("Deleted ", "Error"),
    "read_file": ("Error: File '", "Error: permission denied", "Error: Path"),
}
"""How results begin that say what happened and show nothing of the file."""
_CHANGES: Final = re.compile(
    r">|<<|\b(?:tee|sed|perl|awk|python3?|ruby|node|printf|echo|ed|base64|openssl|export|patch|dd)\b"
)
"""What a shell command that holds bytes for a file has in it."""


def shows_nothing(tool: str) -> bool:
    """Whether a tool of DeepAgents neither takes nor returns a file's bytes."""
    return tool in _SHOWING_NOTHING


def opening_of(tool: str) -> tuple[str, ...] | None:
    """Return how results of a file tool of DeepAgents begin that show nothing, or ``None`` for any other tool."""
    return _OPENINGS.get(tool)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that names a withheld file."""

    name: str
    path: str

    def may_show(self, content: object) -> bool:
        """Whether a result says only what happened."""
        opening = _OPENINGS.get(self.name)
        return opening is not None and isinstance(content, str) and "\n" not in content and content.startswith(opening)


def holds_bytes(command: str) -> bool:
    """Whether a shell command may hold bytes that it writes to a file."""
    return _CHANGES.search(command) is not None


def strings_in(value: object) -> Iterator[str]:
    """Return every text in JSON data; what this package put there (marks, references) is none."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif type(one) is dict or (isinstance(one, Mapping) and not isinstance(one, dict)):
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
