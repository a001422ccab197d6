"""A mapping that keeps its most recently used entries and forgets the rest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(MutableMapping[K, V]):
    """At most ``most`` entries; the one used longest ago goes first."""

    __slots__ = ("_entries", "_most")

    def __init__(self, most: int) -> None:
        """Start empty."""
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._most = most

    def __getitem__(self, key: K) -> V:
        """Return a value, and count that as a use."""
        value = self._entries[key]
        self._entries.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        """Set a value, dropping the oldest entry if there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        """Forget an entry."""
        del self._entries[key]

    def __contains__(self, key: object) -> bool:
        """Whether an entry is kept; looking is no use of it."""
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys there are now, the one used longest ago first; looking one up meanwhile is no harm."""
        return iter(list(self._entries))

    def __len__(self) -> int:
        """Return how many entries are kept."""
        return len(self._entries)
