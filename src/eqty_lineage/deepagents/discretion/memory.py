"""What a conversation has shown of withheld files: their lines, their CIDs, and the calls that carried them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.lines import Lines
from eqty_lineage.deepagents.facts import AssetId
from eqty_lineage.deepagents.filesystem import contents, searches
from eqty_lineage.deepagents.filesystem.contents import Content

KEY: Final = "eqty:withheld"
OF_PATHS: Final = ("file_path", "path", "filename", "file_name", "file", "source", "target_file")
"""Names of arguments that say which file a call is about."""
OF_CONTENT: Final = frozenset(
    {
        *("content", "contents", "text", "data", "body", "value", "base64", "bytes", "page_content"),
        *("old_string", "new_string", "old_str", "new_str", "file_text", "insert_text", "diff", "patch"),
        *("edits", "lines", "replacement"),
    }
)
"""Names under which what names a withheld file carries its bytes."""

_LISTING: Final = frozenset({"ls", "glob", "task", "write_todos", "compact_conversation"})
"""DeepAgents' tools whose results hold no file's bytes."""
_PLAIN_RESULTS: Final = {
    "write_file": ("Updated file ",),
    "edit_file": ("Successfully replaced ",),
    "delete": ("Deleted ", "Error"),
    "read_file": ("Error: File '", "Error: permission denied"),
}
"""How results begin that say what happened and show nothing of the file."""
_CHANGES: Final = re.compile(r">|<<|\b(?:tee|sed|perl|awk|python3?|printf|echo|ed|base64|openssl)\b")
"""What a shell command that holds bytes for a file has in it."""
_NUMBERED: Final = re.compile(r"^\s*\d+(?:\.\d+)?(?:\t| {2}|[:-] ?)")
_MOST: Final = 20_000
"""Calls that are remembered."""
_DEEPEST: Final = 8
"""How deep in the arguments of a tool that is not DeepAgents' own a path is looked for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that names a withheld file: which, and how a result begins that may be shown."""

    path: str
    plain: tuple[str, ...] = ()

    def may_show(self, content: object) -> bool:
        """Whether a result says only what happened."""
        return isinstance(content, str) and "\n" not in content and content.startswith(self.plain or "\n")


class Memory:
    """What one conversation must not have stored."""

    def __init__(
        self, policy: Policy | None, cid_of: Callable[[bytes], AssetId], *, hidden: bool = False, salt: str = ""
    ) -> None:
        """Start with nothing seen.

        Args:
            policy: Which paths' bytes are withheld; ``None``: no path's.
            cid_of: Computes the content identifier of bytes.
            hidden: Whether withheld bytes are known by a number instead of their CID.
            salt: Tells this conversation's numbers from another's.

        """
        self.policy = policy
        self.hidden = hidden
        self.lines = Lines()
        self._cid_of = cid_of
        self._salt = salt
        self._calls: dict[str, Call] = {}
        self._cids: set[AssetId] = set()
        self._empty: set[AssetId] = set()
        self._numbers: dict[AssetId, int] = {}
        self._results: set[str] = set()
        """Names under which DeepAgents saves the results of these calls if they are large."""

    # --- paths and files

    def fits(self, path: object) -> bool:
        """Whether the bytes of the file at ``path`` are withheld; those of what is saved of a withheld file too."""
        if self.policy is None or not isinstance(path, str):
            return False
        if self.policy.fits(path):
            return True
        if not self._calls:
            return False
        return path.rpartition("/")[2] in self._results or "conversation_history" in path.split("/")

    def withholds(self, path: str, cid: AssetId, data: bytes | None) -> bool:
        """Whether a file's bytes are withheld: for its path, or because they hold what is withheld elsewhere."""
        if self.policy is None or data == b"" or cid in self._empty:
            if data == b"":
                self._empty.add(cid)
            return False
        text = _text_in(data)
        if self.fits(path):
            self.lines.learn(text)
            self._cids.add(cid)
        elif cid not in self._cids and self.lines.found_in(text):
            self._cids.add(cid)
        return cid in self._cids

    def is_withheld(self, cid: AssetId) -> bool:
        """Whether content is known to be withheld."""
        return cid in self._cids

    def note(self, data: bytes) -> AssetId:
        """Withhold this content, whatever carries it; return its CID."""
        cid = self._cid_of(data)
        self._cids.add(cid)
        return cid

    def entity(self, cid: AssetId) -> AssetId:
        """Return what stands for content in the record: its CID, unless that is to be hidden."""
        return self._cid_of(self.stand_in(cid)) if self.hidden and cid in self._cids else cid

    def stand_in(self, cid: AssetId) -> bytes:
        """Return the bytes that stand for hidden content; the same content of one conversation has the same."""
        return json.dumps({KEY: self._number(cid)}).encode()

    def _number(self, cid: AssetId) -> str:
        return f"{self._salt}/{self._numbers.setdefault(cid, len(self._numbers) + 1)}"

    def mark(self, value: Any, path: str) -> Any:
        """Return what stands for a withheld value in a payload; nothing is left as it is."""
        if not value or (isinstance(value, dict) and KEY in value):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        cid = self._cid_of(text.encode("utf-8", "backslashreplace"))
        return {KEY: path, "content": self._number(cid)} if self.hidden else {KEY: path, "cid": str(cid)}

    # --- calls

    @property
    def has_calls(self) -> bool:
        """Whether a call that shows or writes a withheld file was asked for."""
        return bool(self._calls)

    @property
    def names_of_results(self) -> Iterable[str]:
        """What stands in every payload that carries the result of a withheld call, or a file that holds it."""
        return ("conversation_history", *self._results, *self._calls)

    def call(self, call_id: object) -> Call | None:
        """Return the call of this id, if its result is withheld."""
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def meet(self, name: str, arguments: object, call_id: object = None) -> Call | None:
        """Look at a call that is asked for: learn what it would write to a withheld file, and expect its result."""
        path = None if self.policy is None else self._path_of(name, arguments)
        if path is None:
            return None
        call = Call(path, _PLAIN_RESULTS.get(name, ()))
        if isinstance(arguments, Mapping):
            for key, value in arguments.items():
                if key in OF_CONTENT and self.fits(path):
                    self._learn(value)
        self.expect(call_id, call)
        return call

    def expect(self, call_id: object, call: Call) -> None:
        """Withhold what the call of this id will return."""
        if isinstance(call_id, str) and len(self._calls) < _MOST:
            self._calls[call_id] = call
            self._results.add(re.sub(r"[./\\]", "_", call_id))

    def _path_of(self, name: str, arguments: object) -> str | None:
        """Return which withheld file a call may write to or show."""
        if name in _LISTING:
            return None
        if isinstance(arguments, Mapping):
            for key in OF_PATHS:
                if self.fits(arguments.get(key)):
                    return str(arguments[key])
        if name == "grep" and isinstance(arguments, Mapping):
            return str(arguments["glob"]) if self.fits(arguments.get("glob")) else None
        if name == "execute" and isinstance(arguments, Mapping):
            command = arguments.get("command")
            return self.policy.path_in(command) if self.policy is not None and isinstance(command, str) else None
        if name in _PLAIN_RESULTS:
            return None
        return self._path_among(arguments, 0)

    def _path_among(self, value: object, depth: int) -> str | None:
        """Return a withheld path that is an argument of a tool which is not DeepAgents' own."""
        if isinstance(value, str):
            return value if not re.search(r"\s", value.strip()) and self.fits(value.strip()) else None
        parts = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        found = (self._path_among(part, depth + 1) for part in parts if depth < _DEEPEST)
        return next((path for path in found if path is not None), None)

    @staticmethod
    def holds_bytes(command: str) -> bool:
        """Whether a shell command may hold bytes that it writes to a file."""
        return _CHANGES.search(command) is not None

    def learn_result(self, content: object) -> None:
        """Look from now on for the lines that the result of a withheld call shows."""
        self._learn(content)
        if isinstance(content, str) and content:
            # a large result is saved as a file
            self.note(content.encode("utf-8", "backslashreplace"))
        for block in content if isinstance(content, list) else []:
            encoded = block.get("base64") if isinstance(block, Mapping) else None
            data = contents.from_base64(encoded) if isinstance(encoded, str) else None
            if isinstance(data, Content) and data.data:
                self.note(data.data)

    def _learn(self, content: object) -> None:
        for text in _texts(content):
            self.lines.learn(text)
            self.lines.learn("\n".join(_NUMBERED.sub("", line) for line in text.splitlines()))

    def shown_by_search(self, result: str) -> str | None:
        """Return a withheld path of which the result of a ``grep`` shows lines, having learned them."""
        shown = searches.lines_in(result)
        paths = [path for path in shown if self.fits(path)]
        for path in paths:
            self.lines.learn("\n".join(shown[path].values()))
        return paths[0] if paths else None


def _text_in(data: bytes | None) -> str:
    try:
        return "" if data is None else data.decode()
    except UnicodeDecodeError:
        return ""


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, Mapping):
        return [text for value in content.values() for text in _texts(value)]
    if isinstance(content, list):
        return [text for value in content for text in _texts(value)]
    return []
