"""Where the lines of withheld files turn up in other texts.

There can be thousands of lines, and each text of a run is looked through. Whatever stands in a text with 15 bytes or
more has some eight that begin at a multiple of eight; with 7 or more, some four at a multiple of four. A text is asked
for those first, all lines at once, and where one is met, whether a line stands around it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Final, Literal

SHORTEST: Final = 12
"""Characters of a line from which it is looked for."""
MOST: Final = 20_000
"""Lines that are looked for; of those beyond only what carries them by its place is withheld."""
BLANK: Final = "[withheld]"

_FEW: Final = 7
"""Characters that a whole text must have to be looked for."""
_ONE_BY_ONE: Final = 16
_LEAST: Final = {8: 15, 4: 7}
"""Bytes of a line that make sure of a block of a size."""


class _Index:
    """Lines of at least some bytes, found by blocks of one size."""

    def __init__(self, block: Literal[4, 8]) -> None:
        self._block = block
        self._least = _LEAST[block]
        self._offsets: dict[int, set[int]] = {}
        self._lengths: dict[bytes, set[int]] = {}
        self._lines: dict[bytes, str] = {}

    def add(self, line: str, data: bytes) -> None:
        self._lines[data] = line
        self._lengths.setdefault(data[: self._least], set()).add(len(data))
        for at in range(self._block):
            block = int.from_bytes(data[at : at + self._block], sys.byteorder)
            self._offsets.setdefault(block, set()).add(at)

    def found_in(self, data: bytes) -> set[str]:
        if not self._lines:
            return set()
        whole = memoryview(data)[: len(data) // self._block * self._block]
        blocks = whole.cast("Q" if self._block == _Q else "I")
        if self._offsets.keys().isdisjoint(blocks):
            return set()
        found = set()
        for number, block in enumerate(blocks):
            for offset in self._offsets.get(block, ()):
                start = number * self._block - offset
                for length in self._lengths.get(data[start : start + self._least], ()) if start >= 0 else ():
                    line = self._lines.get(data[start : start + length])
                    if line is not None:
                        found.add(line)
        return found


_Q: Final = 8


class Lines:
    """The lines of the withheld files that were seen."""

    def __init__(self) -> None:
        """Start with none."""
        self._all: dict[str, None] = {}
        self._long = _Index(8)
        self._short = _Index(4)
        self.full = False
        """Whether there were more lines than are looked for."""

    def __len__(self) -> int:
        """How many there are; it only grows."""
        return len(self._all)

    def learn(self, text: str) -> None:
        """Look for the lines of a text from now on, without what surrounds them."""
        for line in text.splitlines():
            stripped = line.strip()
            if len(stripped) >= SHORTEST and not _IS_PATH.fullmatch(stripped):
                self._add(stripped)
                # as JSON text quotes it
                self._add(json.dumps(stripped, ensure_ascii=False)[1:-1])

    def learn_whole(self, text: str) -> None:
        """Look for a whole text, also one that is shorter than a line must be."""
        if len(text.strip()) >= _FEW:
            self._add(text.strip())

    def _add(self, line: str) -> None:
        if line in self._all:
            return
        if len(self._all) >= MOST:
            self.full = True
            return
        self._all[line] = None
        data = _encoded(line)
        index = self._long if len(data) >= _LEAST[8] else self._short
        index.add(line, data)

    def found_in(self, text: str) -> list[str]:
        """Return those of the lines that stand in a text, the longest first."""
        if not self._all or len(text) < _FEW:
            return []
        if len(self._all) <= _ONE_BY_ONE:
            found = {line for line in self._all if line in text}
        else:
            data = _encoded(text)
            found = self._long.found_in(data) | self._short.found_in(data)
        return sorted(found, key=lambda line: (-len(line), line))

    def blank(self, text: str) -> str:
        """Return a text without the lines."""
        for line in self.found_in(text):
            text = text.replace(line, BLANK)
        return text


_IS_PATH: Final = re.compile(r"(?:~|\.{0,2})/[\w./@+\-]*")
"""What only names a file says nothing that a record may not say."""


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
