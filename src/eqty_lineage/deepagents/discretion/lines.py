"""Where the lines of withheld files turn up in other texts.

There can be thousands of lines, and each text of a run is looked through. Few lines are looked for one after the other;
of many, a text is first asked for eight bytes of any: whatever stands in it with fifteen bytes or more, some eight of
them begin at a multiple of eight.
"""

from __future__ import annotations

import sys
from typing import Final

SHORTEST: Final = 12
"""Characters of a line from which it is looked for."""
MOST: Final = 50_000
"""Lines that are looked for; of those beyond only what carries them by its place is withheld."""
BLANK: Final = "[withheld]"

_FEW: Final = 16
_BLOCK: Final = 8
_SURE: Final = 2 * _BLOCK - 1


class Lines:
    """The lines of the withheld files that were seen."""

    def __init__(self) -> None:
        """Start with none."""
        self._all: dict[str, None] = {}
        self._short: list[str] = []
        self._by_block: dict[int, list[str]] = {}

    def __len__(self) -> int:
        """How many there are; it only grows."""
        return len(self._all)

    def learn(self, text: str) -> None:
        """Look for the lines of a text from now on, without what surrounds them."""
        for line in text.splitlines():
            self._add(line.strip())

    def _add(self, line: str) -> None:
        if len(line) < SHORTEST or line in self._all or len(self._all) >= MOST:
            return
        self._all[line] = None
        data = _encoded(line)
        if len(data) < _SURE:
            self._short.append(line)
        for at in range(_BLOCK if len(data) >= _SURE else 0):
            block = int.from_bytes(data[at : at + _BLOCK], sys.byteorder)
            self._by_block.setdefault(block, []).append(line)

    def found_in(self, text: str) -> list[str]:
        """Return those of the lines that stand in a text, the longest first."""
        if not self._all or len(text) < SHORTEST:
            return []
        candidates = self._all if len(self._all) <= _FEW else [*self._short, *self._likely(text)]
        return sorted((line for line in candidates if line in text), key=len, reverse=True)

    def _likely(self, text: str) -> list[str]:
        data = _encoded(text)
        blocks = memoryview(data)[: len(data) // _BLOCK * _BLOCK].cast("Q")
        if self._by_block.keys().isdisjoint(blocks):
            return []
        likely = (self._by_block.get(block, ()) for block in set(blocks))
        return list(dict.fromkeys(line for lines in likely for line in lines))

    def blank(self, text: str) -> str:
        """Return a text without the lines."""
        for line in self.found_in(text):
            text = text.replace(line, BLANK)
        return text


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
