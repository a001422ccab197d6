"""A mapping that keeps its most recently used entries and forgets the rest."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """At most ``most`` entries; the one used longest ago goes first."""

    def __init__(self, most: int) -> None:
        """Start empty."""
        super().__init__()
        self._most = most

    def __getitem__(self, key: K) -> V:
        """Return a value, and count that as a use."""
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        """Set a value, dropping the oldest entry if there are too many."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
