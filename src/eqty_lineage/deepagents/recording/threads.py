"""Which context each thread's statements go to, beyond the life of one process: a file beside the store.

Each line maps a thread under a root context to its context's id. A thread that comes back in another process, or that
was evicted from memory, goes on in its own context.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from pathlib import Path
from typing import Final

_FILE: Final = "lineage-threads.jsonl"


class ThreadMap:
    """Threads and their contexts, by the id of the context they are under."""

    def __init__(self, folder: Path | None) -> None:
        """Keep the map in a folder; without one nothing outlives the process."""
        self._path = None if folder is None else folder / _FILE
        self._lock = threading.Lock()

    def find(self, parent: str, thread: str) -> uuid.UUID | None:
        """Return the context of a thread under a parent, if one was noted."""
        if self._path is None:
            return None
        wanted = json.dumps([parent, thread])
        found: str | None = None
        try:
            with self._path.open(encoding="utf-8") as lines:
                for line in lines:
                    if line.startswith(wanted[:-1]) and line.endswith("]\n"):
                        entry = json.loads(line)
                        found = entry[2] if entry[:2] == [parent, thread] else found
        except (OSError, ValueError):
            return None
        return None if found is None else uuid.UUID(found)

    def note(self, parent: str, thread: str, context: str) -> None:
        """Note a thread's context."""
        if self._path is None:
            return
        line = json.dumps([parent, thread, context]).encode() + b"\n"
        with self._lock:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
