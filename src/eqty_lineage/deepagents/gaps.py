"""What could not be recorded, counted, with the last thousand kept."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eqty_lineage.deepagents.facts import Gap, Why

logger = logging.getLogger("eqty.deepagents")

KEPT: Final = 1_000


class Gaps:
    """The gaps of one handler. Iterating gives the last thousand; ``len`` and ``counts`` count all.

    The first gap of each kind is logged as a warning, the rest at debug level.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._last: deque[Gap] = deque(maxlen=KEPT)
        self._counts: Counter[Why] = Counter()
        self._lock = threading.Lock()

    def note(self, gap: Gap) -> None:
        """Count a gap."""
        with self._lock:
            self._last.append(gap)
            self._counts[gap.why] += 1
            first = self._counts[gap.why] == 1
        logger.log(
            logging.WARNING if first else logging.DEBUG, "not recorded: %s (%s) %s", gap.why.value, gap.what, gap.where
        )

    @property
    def counts(self) -> Mapping[Why, int]:
        """How many gaps there were of each kind."""
        with self._lock:
            return dict(self._counts)

    def __len__(self) -> int:
        """Return how many gaps there were in all."""
        with self._lock:
            return self._counts.total()

    def __iter__(self) -> Iterator[Gap]:
        """Iterate over the last thousand, oldest first."""
        with self._lock:
            return iter(list(self._last))

    def __repr__(self) -> str:
        """Show the counts."""
        return f"Gaps({ {why.value: count for why, count in self.counts.items()} })"
