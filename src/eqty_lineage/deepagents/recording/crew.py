"""Which threads do the work: the recorder's own, and some that help it now and then.

The SDK releases the interpreter's lock while it signs. A second thread that always records slows the agent; one that
helps only while every agent waits, for its model or for the end of its recording, costs nobody anything.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from eqty_lineage.deepagents.recording.jobs import Step


class Crew:
    """Does steps that may be done at the same time: by the thread that has the work, and by those that help it."""

    def __init__(self) -> None:
        """Start with nothing to do and nobody to help."""
        self._changed = threading.Condition()
        self._tasks: deque[tuple[int, Step]] = deque()
        self._errors: list[BaseException | None] = []
        self._unfinished = 0

    def post(self, step: Step) -> None:
        """Offer a step to whoever helps; :meth:`join` sees that it is done. One thread at a time may have work."""
        with self._changed:
            self._tasks.append((len(self._errors), step))
            self._errors.append(None)
            self._unfinished += 1
            self._changed.notify_all()

    def join(self) -> list[BaseException | None]:
        """Do what was posted and nobody has begun, wait for the rest; return each one's error, in the order posted."""
        interrupt: BaseException | None = None
        while True:
            with self._changed:
                task = self._tasks.popleft() if self._tasks else None
            if task is None:
                break
            error = self._do(task)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                interrupt = error
        with self._changed:
            self._changed.wait_for(lambda: self._unfinished == 0)
            errors, self._errors = self._errors, []
        if interrupt is not None:
            # meant for this thread
            raise interrupt
        return errors

    def help_until(self, over: Callable[[], bool]) -> None:
        """Do what is posted until ``over``; :meth:`wake` has it asked."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or over())
                if over():
                    return
                task = self._tasks.popleft()
            self._do(task)

    def wait_until(self, over: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until ``over``; return whether it came about within ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(over, timeout)

    def wake(self) -> None:
        """Have waiting threads look again."""
        with self._changed:
            self._changed.notify_all()

    def _do(self, task: tuple[int, Step]) -> BaseException | None:
        position, step = task
        error: BaseException | None = None
        try:
            step()
        except BaseException as raised:  # noqa: BLE001 - told to the thread that has the work
            error = raised
        with self._changed:
            self._errors[position] = error
            self._unfinished -= 1
            if not self._unfinished:
                self._changed.notify_all()
        return error
