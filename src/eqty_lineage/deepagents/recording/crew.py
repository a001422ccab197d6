"""Which threads do the work: the recorder's own, and one that would otherwise only wait for it.

The SDK releases the interpreter's lock while it signs. A second thread that always records slows the agent; one that
helps only while the end of a root run waits costs nobody anything and halves the wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from eqty_lineage.deepagents.recording.jobs import Step


class Crew:
    """Runs steps that may be done at the same time, with the help of at most one waiting thread."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self._changed = threading.Condition()
        self._tasks: deque[tuple[int, Step]] = deque()
        self._errors: list[BaseException | None] = []
        self._unfinished = 0
        self._helping = False

    def run(self, steps: list[Step]) -> list[BaseException | None]:
        """Run steps that do not depend on each other; return each one's error. One thread at a time may call it."""
        with self._changed:
            self._errors = [None] * len(steps)
            self._unfinished = len(steps)
            self._tasks.extend(enumerate(steps))
            self._changed.notify_all()
        interrupt: BaseException | None = None
        left = True
        while left:
            try:
                left = self._do_one()
            except (KeyboardInterrupt, SystemExit) as raised:
                interrupt = raised
        with self._changed:
            self._changed.wait_for(lambda: self._unfinished == 0)
            errors = self._errors
        if interrupt is not None:
            raise interrupt
        return errors

    def wake(self) -> None:
        """Have waiting threads look again."""
        with self._changed:
            self._changed.notify_all()

    def help_until(self, over: Callable[[], bool], timeout: float | None, *, idle: bool = False) -> bool:
        """Wait until ``over``, doing steps meanwhile; return whether it came about within ``timeout`` seconds.

        Who cannot wait for a step that hangs stays ``idle``.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        helps = False
        try:
            while True:
                with self._changed:
                    if over():
                        return True
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return False
                    if not idle and not helps and not self._helping:
                        helps = self._helping = True
                    if not (helps and self._tasks):
                        self._changed.wait(left)
                        continue
                self._do_one()
        finally:
            if helps:
                with self._changed:
                    self._helping = False
                    self._changed.notify_all()

    def _do_one(self) -> bool:
        with self._changed:
            if not self._tasks:
                return False
            position, step = self._tasks.popleft()
        error: BaseException | None = None
        try:
            step()
        except BaseException as raised:  # noqa: BLE001 - told to the thread that called run
            error = raised
        with self._changed:
            self._errors[position] = error
            self._unfinished -= 1
            if not self._unfinished:
                self._changed.notify_all()
        if isinstance(error, KeyboardInterrupt | SystemExit):
            # meant for this thread, whoever has the work
            raise error
        return True
