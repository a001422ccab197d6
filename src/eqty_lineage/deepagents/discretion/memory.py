"""What a conversation has shown of withheld files: their lines, their CIDs, and the calls that carried them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from eqty_lineage.deepagents.discretion.calls import (
    NUMBERED,
    OF_CONTENT,
    OF_PATHS,
    Call,
    opening_of,
    shows_nothing,
    strings_in,
)
from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.lines import Lines
from eqty_lineage.deepagents.facts import AssetId
from eqty_lineage.deepagents.filesystem import contents, renderings, searches
from eqty_lineage.deepagents.filesystem.contents import Content

KEY: Final = "eqty:withheld"
_MOST: Final = 20_000
"""Calls and contents that are remembered."""
_LONGEST_PATH: Final = 4_096
_DEEPEST: Final = 8
"""How deep in the arguments of a tool that is not DeepAgents' own a path is looked for."""
_REPORT: Final = re.compile(r"\[.*\]|Exit code: -?\d+")
"""What a shell says about a command, and not what it printed."""


class Mark(dict[str, Any]):
    """What stands for a withheld value in a payload."""


class Memory:
    """What one conversation must not have stored."""

    def __init__(
        self,
        policy: Policy | None,
        cid_of: Callable[[bytes], AssetId],
        *,
        hidden: bool = False,
        salt: str = "",
        is_stored: Callable[[AssetId], bool] = lambda _: False,
    ) -> None:
        """Start with nothing seen.

        Args:
            policy: Which paths' bytes are withheld; ``None``: no path's.
            cid_of: Computes the content identifier of bytes.
            hidden: Whether withheld bytes are known by a number instead of their CID.
            salt: Tells this conversation's numbers from another's.
            is_stored: Says whether a store has the bytes of a CID already: an export would show them, so such a
                content is hidden in any case.

        """
        self.policy = policy
        self.hidden = hidden
        self.lines = Lines()
        self.texts: set[str] = set()
        """Whole texts, of errors, that are withheld however short they are."""
        self._cid_of = cid_of
        self._salt = salt
        self._is_stored = is_stored
        self._calls: dict[str, Call] = {}
        self._running: Counter[str] = Counter()
        self._cids: set[AssetId] = set()
        self.stored: set[AssetId] = set()
        """Those of them that the store had before."""
        self._open: dict[AssetId, None] = {}
        self._empty: set[AssetId] = set()
        self._numbers: dict[AssetId, int] = {}
        self._results: set[str] = set()
        """Names under which DeepAgents saves the results of these calls if they are large."""

    # --- paths and files

    def fits(self, path: object) -> bool:
        """Whether the bytes of the file at ``path`` are withheld; those of what is saved of a withheld file too."""
        if self.policy is None or not isinstance(path, str):
            return False
        return self.policy.fits(path) or self.is_saved(path)

    def is_saved(self, path: str) -> bool:
        """Whether DeepAgents saves there what a withheld call returned, or the talk that shows it."""
        if not self._calls or "/" not in path or len(path) > _LONGEST_PATH:
            return False
        return path.rpartition("/")[2] in self._results or "conversation_history" in path.split("/")

    def withholds(self, path: str, cid: AssetId, data: bytes | None) -> bool:
        """Whether a file's bytes are withheld: for its path, or because they hold what is withheld elsewhere."""
        if self.policy is None or data == b"" or cid in self._empty:
            if data == b"":
                self._empty.add(cid)
            return False
        text = _text_in(data)
        fits = self.fits(path)
        if fits:
            self.lines.learn(text)
        if cid not in self._open and (fits or self.lines.found_in(text)):
            # what was recorded in the open before cannot be taken back
            self._withhold(cid)
        return cid in self._cids

    def is_withheld(self, cid: AssetId) -> bool:
        """Whether content is known to be withheld."""
        return cid in self._cids

    def opened(self, cid: AssetId) -> None:
        """Note that content is recorded in the open."""
        if self.policy is not None:
            self._open[cid] = None
            if len(self._open) > _MOST:
                del self._open[next(iter(self._open))]

    def note(self, data: bytes) -> AssetId:
        """Withhold this content, whatever carries it; return its CID."""
        cid = self._cid_of(data)
        if cid not in self._open:
            self._withhold(cid)
        return cid

    def _withhold(self, cid: AssetId) -> None:
        if cid not in self._cids and self._is_stored(cid):
            self.stored.add(cid)
        self._cids.add(cid)

    def is_hidden(self, cid: AssetId) -> bool:
        """Whether a number stands for withheld content, and not its CID."""
        return cid in self._cids and (self.hidden or cid in self.stored)

    def entity(self, cid: AssetId) -> AssetId:
        """Return what stands for content in the record: its CID, unless that is to be hidden."""
        return self._cid_of(self.stand_in(cid)) if self.is_hidden(cid) else cid

    def stand_in(self, cid: AssetId) -> bytes:
        """Return the bytes that stand for hidden content; the same content of one conversation has the same."""
        return json.dumps({KEY: self._number(cid)}).encode()

    def _number(self, cid: AssetId) -> str:
        return f"{self._salt}/{self._numbers.setdefault(cid, len(self._numbers) + 1)}"

    def mark(self, value: Any, path: str) -> Any:
        """Return what stands for a withheld value in a payload; nothing, and what is a mark, are left as they are."""
        if not value or type(value) not in {str, list, dict, int, float}:
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        cid = self._cid_of(text.encode("utf-8", "backslashreplace"))
        return Mark({KEY: path, "content": self._number(cid)} if self.hidden else {KEY: path, "cid": str(cid)})

    # --- calls

    @property
    def has_calls(self) -> bool:
        """Whether a call that shows or writes a withheld file was asked for."""
        return bool(self._calls)

    @property
    def ids(self) -> Mapping[str, Call]:
        """The calls whose results are withheld, by their ids."""
        return self._calls

    def call(self, call_id: object) -> Call | None:
        """Return the latest call of this id, if its result is withheld."""
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def meet(self, name: str, arguments: object, call_id: object = None) -> Call | None:
        """Look at a call that is asked for: learn what it would write to a withheld file, and expect its result."""
        path = None if self.policy is None else self._path_of(name, arguments)
        if path is None:
            if isinstance(call_id, str) and not self._running[call_id]:
                # an id that is used again is another call's
                self._calls.pop(call_id, None)
            return None
        call = Call(name, path)
        if isinstance(arguments, Mapping) and self.fits(path):
            self.learn([value for key, value in arguments.items() if key in OF_CONTENT])
        self.expect(call_id, call)
        return call

    def expect(self, call_id: object, call: Call) -> None:
        """Withhold what the call of this id will return."""
        if isinstance(call_id, str) and len(self._calls) < _MOST:
            self._calls[call_id] = call
            self._results.add(re.sub(r"[./\\]", "_", call_id))

    def begin(self, call_id: str | None) -> None:
        """Note that the withheld call of this id runs: another one of the same id is none the less."""
        if call_id is not None:
            self._running[call_id] += 1

    def end(self, call_id: str | None) -> None:
        """Note that it has ended."""
        if call_id is not None:
            self._running[call_id] -= 1
            self._running += Counter()  # drops what is none any more

    def _path_of(self, name: str, arguments: object) -> str | None:
        """Return which withheld file a call may write to or show."""
        if shows_nothing(name):
            return None
        if isinstance(arguments, Mapping):
            for key in OF_PATHS:
                if self.fits(arguments.get(key)):
                    return str(arguments[key])
            if name == "grep" and self.fits(arguments.get("glob")):
                return str(arguments["glob"])
            for key in ("command", "cmd"):
                named = self.named_in(arguments.get(key))
                if named is not None:
                    return named
        return None if opening_of(name) is not None or name == "grep" else self._path_among(arguments, 0)

    def named_in(self, command: object) -> str | None:
        """Return the first withheld path that a shell command names."""
        return self.policy.path_in(command) if self.policy is not None and isinstance(command, str) else None

    def _path_among(self, value: object, depth: int) -> str | None:
        """Return a withheld path that is an argument of a tool which is not DeepAgents' own."""
        if isinstance(value, str):
            return value if not re.search(r"\s", value.strip()) and self.fits(value.strip()) else None
        parts = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        found = (self._path_among(part, depth + 1) for part in parts if depth < _DEEPEST)
        return next((path for path in found if path is not None), None)

    # --- lines

    def learn(self, value: object) -> None:
        """Look from now on for the lines of all texts in a value."""
        for text in strings_in(value):
            self.lines.learn(text)

    def learn_whole(self, value: object) -> None:
        """Look for the lines of all texts in a value, and for each text as a whole, also where it is short."""
        self.learn(value)
        for text in strings_in(value):
            self.lines.learn_whole(text)

    def learn_result(self, call: Call, content: object) -> None:
        """Look from now on for the lines of a withheld file that the result of a call shows."""
        if isinstance(content, str) and content and type(content) is str:
            # a large result is saved as a file
            self.note(content.encode("utf-8", "backslashreplace"))
        for text in strings_in(content):
            if call.name == "grep":
                self.shown_by_search(text)
            elif call.name == "read_file" and isinstance(content, str):
                self.lines.learn("\n".join(_rows(text)))
            elif not call.may_show(text):
                self.lines.learn("\n".join(row for row in text.splitlines() if _REPORT.fullmatch(row.strip()) is None))
        for block in content if isinstance(content, list) else []:
            encoded = block.get("base64") if isinstance(block, Mapping) else None
            data = contents.from_base64(encoded) if isinstance(encoded, str) else None
            if isinstance(data, Content) and data.data:
                self.lines.learn(str(encoded))
                self.note(data.data)

    def shown_by_search(self, result: str) -> str | None:
        """Return a withheld path of which the result of a ``grep`` shows lines, having learned them."""
        shown = searches.lines_in(result)
        paths = [path for path in shown if self.fits(path)]
        for path in paths:
            self.lines.learn("\n".join(shown[path].values()))
        return paths[0] if paths else None


def _rows(text: str) -> list[str]:
    """Return the lines of the file that a read shows, without what numbers them; of no other text any."""
    if not renderings.is_rendering(text) or text == renderings.EMPTY:
        return []
    rows = text.splitlines()
    if rows[0].startswith("@@ ") and rows[0].endswith(" @@"):
        return rows[1:]
    return [NUMBERED.sub("", row) for row in rows]


def _text_in(data: bytes | None) -> str:
    try:
        return "" if data is None else data.decode()
    except UnicodeDecodeError:
        return ""
