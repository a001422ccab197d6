"""Whether this process may use the SDK: one that was forked after the SDK was in use must not, nor one that ends.

In such a child the SDK's calls wait for threads that only the parent has, for ever and without an error (2.5.0).
"""

from __future__ import annotations

import logging
import os
import sys
import threading

logger = logging.getLogger("eqty.deepagents")

_used = threading.Event()
_orphan = threading.Event()
_ending = threading.Event()


def note_use() -> None:
    """Note that the SDK is in use: a child forked from now on is an orphan."""
    _used.set()


def is_orphan() -> bool:
    """Whether this process was forked from one that was using the SDK."""
    return _orphan.is_set()


def note_end() -> None:
    """Note that the interpreter is about to end: no thread can be counted on any more."""
    _ending.set()


def is_over() -> bool:
    """Whether nothing may be recorded in this process: it was forked, or it has stored all and ends."""
    return _orphan.is_set() or _ending.is_set() or sys.is_finalizing()


def _in_child() -> None:
    if _used.is_set() and not _orphan.is_set():
        _orphan.set()
        logger.warning(
            "this process was forked after the EQTY SDK was used: nothing is recorded in it. Initialise the SDK and "
            "construct handlers after the fork, or start processes with 'spawn'."
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
