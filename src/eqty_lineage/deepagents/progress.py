"""What a person at a terminal sees while the end of a run waits for storage: one line, after a second."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


def _is_terminal() -> bool:
    """Whether standard error is there, open, and a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


@contextlib.contextmanager
def shown(enabled: bool | None) -> Iterator[Callable[[int], None] | None]:  # noqa: FBT001 - a switch by nature
    """Give a function to be told how many jobs are left; ``None`` where nothing is to be shown.

    ``enabled`` forces it on or off; by default it is on where standard error is a terminal.
    """
    if not (_is_terminal() if enabled is None else enabled):
        yield None
        return
    try:
        from rich.console import Console  # noqa: PLC0415 - comes with the SDK, and only a terminal needs it
    except ImportError:
        yield None
        return
    status: Any = None

    def tell(left: int) -> None:
        nonlocal status
        text = f"storing lineage: {left} left"
        if status is None:
            # forced on, the line is wanted wherever standard error goes
            status = Console(stderr=True, force_terminal=enabled).status(text)
            status.start()
        else:
            status.update(text)

    try:
        yield tell
    finally:
        if status is not None:
            status.stop()
