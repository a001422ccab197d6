"""Texts, paths and edits to try the file tables with, and what their tests share."""

import base64
import hashlib
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from eqty_lineage.deepagents.facts import AssetId, Evidence, Version
from eqty_lineage.deepagents.filesystem.effects import Effect
from eqty_lineage.deepagents.filesystem.paths import VirtualPath
from eqty_lineage.deepagents.filesystem.reconstruction import Delete, Edit, FileCall, Read, Succeeded, Write
from eqty_lineage.deepagents.filesystem.versions import LaneFiles

T = TypeVar("T")

_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"

CASES = 200_000 if _DEEP else 10_000
"""How many generated cases a copied rule is compared on."""

EXAMPLES = 5_000 if _DEEP else 150
"""How many histories a table is taken through beside a real backend."""


def generated(make: Callable[[random.Random], T], count: int = CASES) -> Iterator[T]:
    """The same cases in every run; hypothesis takes a millisecond for each, which is too long for so many."""
    chance = random.Random(20_261_130)  # noqa: S311 - test data, not secrets
    for _ in range(count):
        yield make(chance)


def joined(chance: random.Random, pieces: Sequence[str], most: int) -> str:
    return "".join(chance.choices(pieces, k=chance.randint(0, most)))


PATH_PIECES = ("a", "b", "B", "é", "e\u0301", "/", "/", "//", "\\", ".", "..", "./", "~", "C:", " ", "\n", "\0", "a..b")
"""What a path can be made of that some rule treats in its own way."""

LINE_PIECES = (
    "a",
    "b",
    "ab",
    " ",
    "\t",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\x0b",
    "\x0c",
    "\x85",
    "\u2028",
    "\ufeff",
    "é",
)
"""What a text can be made of that some rule about lines treats in its own way."""

PLAIN_PIECES = ("a", "b", "ab", " ", "\n", "\n\n", "é", "@@ lines 1-1 of 1 @@", "1  ", "System reminder")
"""The same without the characters on which the backends' ideas of a line differ."""


def cid_of(data: bytes) -> AssetId:
    return AssetId(hashlib.sha256(data).hexdigest()[:12])


def version(path: str, ordinal: int, text: str, evidence: Evidence = Evidence.ARGUMENTS) -> Version:
    return Version(path, ordinal, cid_of(text.encode()), evidence)


def write(path: str, text: str) -> Write:
    return Write(VirtualPath(path), text)


def edit(path: str, old: str, new: str, *, every: bool = False) -> Edit:
    return Edit(VirtualPath(path), old, new, every)


def delete(path: str) -> Delete:
    return Delete(VirtualPath(path))


def read(path: str) -> Read:
    return Read(VirtualPath(path), None, None)


def shown(text: str) -> str:
    """What ``read_file`` returns for a text of plain lines (0.7.32)."""
    count = len(text.splitlines())
    return f"@@ lines 1-{count} of {count} @@\n{text.removesuffix(chr(10))}"


def block(data: bytes) -> list[dict[str, str]]:
    """What ``read_file`` returns for a binary file (0.7.32)."""
    return [{"type": "image", "base64": base64.b64encode(data).decode(), "mime_type": "image/png"}]


def made(
    lane: LaneFiles, call: FileCall, *, step: int | None = 1, count: int | None = None, result: Any = None
) -> Effect:
    """What a call that succeeds does, if nothing else is running; ``count`` is what an edit says it replaced."""
    return lane.settle(lane.begin(call, step), Succeeded(count), result)
