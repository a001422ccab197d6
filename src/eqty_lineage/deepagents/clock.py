"""When things happen: the process-wide sequence of computations, and times as manifests write them."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

_lock = threading.Lock()
_last = 0


def next_sequence() -> int:
    """Return a number above every earlier one of this process, close to the microseconds since the epoch."""
    global _last  # noqa: PLW0603 - process-wide on purpose: statement times have one-second resolution
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1_000)
        return _last


def now() -> str:
    """Return the time as ISO-8601 in UTC, with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
