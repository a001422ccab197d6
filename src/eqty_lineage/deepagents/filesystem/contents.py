"""Which bytes a value under the ``files`` state key stands for.

Every shape DeepAgents ever used is read: a plain string (0.0.x), a list of lines (0.1 to 0.4), a string with its
encoding (since 0.5), base64 for binaries. A mapping that holds anything else is somebody else's ``files`` key and is
declined as a whole. Text mirrors ``deepagents.backends.utils.file_data_to_string`` (0.7.32);
``tests/agreement/test_contents.py`` compares the two.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eqty_lineage.deepagents.facts import Why

FileEntry = Mapping[str, Any] | str
"""An entry that :func:`is_filesystem` accepted: file data, or the plain text of 0.0.x."""

_KEYS = frozenset({"content", "encoding", "created_at", "modified_at"})


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes, and its text if it is a text file."""

    data: bytes = field(repr=False)
    text: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """File data whose bytes cannot be told."""

    why: Why


def is_file_data(value: object) -> bool:
    """Whether ``value`` has the shape of one entry of DeepAgents' ``files`` (not the plain string of 0.0.x)."""
    if not isinstance(value, Mapping) or "content" not in value or not _KEYS.issuperset(value):
        return False
    content = value["content"]
    if isinstance(content, list):
        if not all(isinstance(line, str) for line in content):
            return False
    elif not isinstance(content, str):
        return False
    return value.get("encoding", "utf-8") in ("utf-8", "base64")


def is_filesystem(value: object, *, plain_strings: bool = False) -> bool:
    """Whether ``value`` is a DeepAgents filesystem: paths mapped to file data, or to ``None`` for a deletion.

    ``plain_strings`` admits the entries of 0.0.x, which nothing else tells from any mapping of strings: say so only
    where the run has shown DeepAgents' file tools.
    """
    if not isinstance(value, Mapping):
        return False
    return all(
        isinstance(path, str) and (entry is None or is_file_data(entry) or (plain_strings and isinstance(entry, str)))
        for path, entry in value.items()
    )


def source_of(entry: FileEntry) -> object:
    """Return the object that carries an entry's content, to tell an unchanged entry without reading it again."""
    return entry if isinstance(entry, str) else entry["content"]


def text_of(entry: FileEntry) -> str:
    """Return an entry's content as one string: lines joined by newlines, base64 left as it is."""
    content = entry if isinstance(entry, str) else entry["content"]
    return content if isinstance(content, str) else "\n".join(content)


def content_of(entry: FileEntry) -> Content | Unreadable:
    """Return the bytes of an entry that :func:`is_filesystem` accepted."""
    text = text_of(entry)
    if not isinstance(entry, str) and entry.get("encoding") == "base64":
        return from_base64(text)
    return from_text(text)


def from_text(text: str) -> Content | Unreadable:
    """Return the bytes of a text file; lone surrogates have none."""
    try:
        return Content(text.encode("utf-8"), text)
    except UnicodeEncodeError:
        return Unreadable(Why.UNENCODABLE)


def from_base64(text: str) -> Content | Unreadable:
    """Return the bytes a base64 string stands for."""
    try:
        return Content(base64.b64decode(text, validate=True), None)
    except (binascii.Error, ValueError):
        return Unreadable(Why.BAD_BINARY)
