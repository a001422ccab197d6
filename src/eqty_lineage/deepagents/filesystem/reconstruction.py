"""What a file tool call asks for, and whether its result says that it happened.

The bytes a call wrote are in neither its result nor its node's output: they are told from its arguments, once the
result is a *known* form of success. Any other result, a success by status included, says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from eqty_lineage.deepagents.filesystem import paths, renderings
from eqty_lineage.deepagents.filesystem.paths import VirtualPath

_HARMLESS: Final = frozenset(
    {
        *("ls", "glob", "grep", "read_file", "write_file", "edit_file", "delete"),
        *("write_todos", "task", "compact_conversation"),
    }
)
"""DeepAgents' tools that change no file but by what this module understands (what a ``task`` does is seen itself)."""
FILE_TOOLS: Final = frozenset({"write_file", "edit_file", "delete", "read_file", "grep", "execute"})
"""DeepAgents' tools that this module understands."""


@dataclass(frozen=True, slots=True)
class Write:
    """``write_file``: replace the whole file."""

    path: VirtualPath
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """``edit_file``: replace one or every occurrence of a text."""

    path: VirtualPath
    old: str = field(repr=False)
    new: str = field(repr=False)
    every: bool


@dataclass(frozen=True, slots=True)
class Delete:
    """``delete``: remove a file, or a directory with all below it."""

    path: VirtualPath


@dataclass(frozen=True, slots=True)
class Read:
    """``read_file``: a window of a file; ``None`` where the call left the default."""

    path: VirtualPath
    offset: object
    limit: object


@dataclass(frozen=True, slots=True)
class Execute:
    """``execute``: a shell command, which can change any file outside state without naming it."""


@dataclass(frozen=True, slots=True)
class Search:
    """``grep`` that shows the lines it found."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A tool that is not DeepAgents' own: it may have changed the files outside state that its arguments name."""

    said: str = field(default="", repr=False)
    """Its arguments as text, in small letters."""

    def names(self, path: str) -> bool:
        """Whether the arguments say the name of the file at ``path``."""
        return paths.name_of(path) in self.said


FileCall = Write | Edit | Delete | Read | Search | Execute | Foreign
Mutation = Write | Edit | Delete


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The result is a known form of success; ``count`` is what an edit says it replaced."""

    count: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The call raised, or its result says it failed: whatever it did is not known."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """The result is not one this module knows."""


Outcome = Succeeded | Failed | Unclear


def parse(tool: str, arguments: object) -> FileCall | None:
    """Return what the call asks for, or ``None``: one of DeepAgents' own tools that touches no file.

    Arguments are the model's own: defaults are not filled and types not coerced.
    """
    if tool not in _HARMLESS and tool != "execute":
        return Foreign(unicodedata.normalize("NFC", str(arguments)).casefold())
    if tool not in FILE_TOOLS or not isinstance(arguments, Mapping):
        return None
    if tool == "execute":
        return Execute()
    if tool == "grep":
        return Search() if arguments.get("output_mode") == "content" else None
    path = paths.parse(arguments.get("file_path"))
    if isinstance(path, paths.PathRefused):
        return None
    match tool:
        case "write_file":
            text = arguments.get("content")
            return Write(path, text) if isinstance(text, str) else None
        case "edit_file":
            old, new = arguments.get("old_string"), arguments.get("new_string")
            if not isinstance(old, str) or not isinstance(new, str):
                return None
            return Edit(path, old, new, every=_as_flag(arguments.get("replace_all", False)))
        case "delete":
            return Delete(path)
        case _:
            return Read(path, arguments.get("offset"), arguments.get("limit"))


def _as_flag(value: object) -> bool:
    """Read a boolean the way the tool's schema does: models write ``"true"`` too."""
    return value.strip().lower() in {"true", "1", "yes", "on", "t", "y"} if isinstance(value, str) else bool(value)


_UPDATED = "Updated file "
_REPLACED = re.compile(
    r"^Successfully replaced (?P<count>\d+) instance\(s\) of the string in '(?P<path>.*)'$", re.DOTALL
)
_DELETED = "Deleted "


def outcome_of(call: FileCall, content: object, *, error: bool) -> Outcome:
    """Return what a call's result says, from its content and whether its status is an error.

    The forms are those of DeepAgents 0.1 to 0.7.32. The path the result names must be the call's: another tool may
    share the name, and a backend may answer for another file.
    """
    if error:
        return Failed()
    match call:
        case Execute() | Search() | Foreign():
            return Succeeded()
        case Read():
            shown = renderings.is_rendering(content) if isinstance(content, str) else base64_block(content) is not None
            return Succeeded() if shown else Unclear()
        case Write():
            return Succeeded() if content == _UPDATED + call.path else Unclear()
        case Delete():
            return Succeeded() if content == _DELETED + call.path else Unclear()
        case Edit():
            said = _REPLACED.match(content) if isinstance(content, str) else None
            return Succeeded(int(said["count"])) if said is not None and said["path"] == call.path else Unclear()
        case _:
            assert_never(call)


def base64_block(content: object) -> str | None:
    """Return the base64 text of a result that is one content block of a binary file, else ``None``."""
    if not isinstance(content, list) or len(content) != 1 or not isinstance(content[0], Mapping):
        return None
    data = content[0].get("base64")
    return data if isinstance(data, str) else None
