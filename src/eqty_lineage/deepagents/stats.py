"""How much a handler has recorded, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stats:
    """A handler's figures since it was made."""

    events: int = 0
    """Callbacks observed."""
    computations: int = 0
    assets: int = 0
    statements: int = 0
    """Statements made, credentials included."""
    queued: int = 0
    """Jobs that wait to be stored."""
    stored: int = 0
    failed: int = 0
    """Jobs given up; each is a gap."""
    callback_seconds: float = 0.0
    """Time spent in callbacks, without the waits of root ends."""
    sdk_seconds: float = 0.0
    """Time spent storing, on whatever thread."""
