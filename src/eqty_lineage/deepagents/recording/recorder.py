"""When statements are made: in order, on a background thread by default, or inline.

A job is everything one callback recorded, frozen; it knows the steps (SDK calls) that store it and how far it got, so
that a failed job goes on where it stopped. Both recorders run a job the same way; they differ in the thread that does.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Protocol

logger = logging.getLogger("eqty.deepagents")

Step = Callable[[], None]
_RETRY_PAUSES: Final = (0.05, 0.5)
"""Seconds between the attempts made when a run is over and something of it is still not stored."""


class Job:
    """Steps that store what one callback recorded, all or in the end not at all."""

    def __init__(self, steps: Callable[[], Iterator[Step]], failed: Callable[[BaseException], None]) -> None:
        """Take the steps, worked out when the job first runs, and what to call if they cannot be done in the end."""
        self._steps = steps
        self._failed = failed
        self._left: deque[Step] | None = None

    def run(self) -> BaseException | None:
        """Do the steps that are left; return the error of the one that failed, or ``None`` when all are done."""
        try:
            if self._left is None:
                self._left = deque(self._steps())
            while self._left:
                self._left[0]()
                self._left.popleft()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - the SDK panics with a BaseException
            return error
        return None

    def give_up(self, error: BaseException) -> None:
        """Report that the job will never be stored."""
        self._failed(error)


class Recorder(Protocol):
    """Stores jobs in the order they were submitted."""

    def submit(self, job: Job) -> None:
        """Take a job. Cheap, called under the handler's lock; never raises because of the job."""

    def settle(self) -> None:
        """Called by the submitting thread once it holds no lock."""

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every job submitted so far is stored or given up; return whether that came about in time."""

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""


class _Line:
    """Runs one recorder's jobs in order. A job that fails waits, with all behind it, until the next one or a flush."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()

    def run(self, job: Job) -> None:
        self._waiting.append(job)
        while self._waiting:
            if self._waiting[0].run() is not None:
                return
            self._waiting.popleft()

    def finish(self) -> None:
        """Try what is left again, a few times, then give up each job that still fails and go on with the next."""
        while self._waiting:
            job = self._waiting.popleft()
            error = job.run()
            for pause in _RETRY_PAUSES:
                if error is None:
                    break
                time.sleep(pause)
                error = job.run()
            if error is not None:
                job.give_up(error)


class InlineRecorder:
    """Stores jobs on the thread that recorded them, before its callback returns."""

    def __init__(self) -> None:
        """Start empty."""
        self._submitted: deque[Job] = deque()
        self._line = _Line()
        self._lock = threading.RLock()
        self._closed = False

    def submit(self, job: Job) -> None:
        """Queue a job for :meth:`settle`."""
        if not self._closed:
            self._submitted.append(job)

    def settle(self) -> None:
        """Store what was submitted. A second thread waits for the first, so that order is kept."""
        with self._lock:
            while self._submitted:
                self._line.run(self._submitted.popleft())

    def flush(self, timeout: float | None = None) -> bool:
        """Store what is left, however long that takes."""
        del timeout  # storing happens on this very thread
        with self._lock:
            self.settle()
            self._line.finish()
        return True

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""
        done = self.flush(timeout)
        self._closed = True
        return done


class BackgroundRecorder:
    """Stores jobs on one daemon thread of the process, shared by all its recorders."""

    def __init__(self) -> None:
        """Start empty; the thread starts with the first job."""
        self._line = _Line()
        self._done = threading.Condition()
        self._submitted = 0
        self._finished = 0
        self._closed = False
        _LIVE.add(self)

    def submit(self, job: Job) -> None:
        """Queue a job."""
        if not self._closed:
            self._enqueue(lambda: self._line.run(job))

    def settle(self) -> None:
        """Nothing to do here: the thread works on."""

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the thread has stored or given up everything submitted so far."""
        target = self._enqueue(self._line.finish)
        with self._done:
            return self._done.wait_for(lambda: self._finished >= target, timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""
        self._closed = True
        return self.flush(timeout)

    def _enqueue(self, task: Callable[[], None]) -> int:
        def work() -> None:
            try:
                task()
            finally:
                with self._done:
                    self._finished += 1
                    self._done.notify_all()

        with self._done:
            self._submitted += 1
            target = self._submitted
            _WORKER.put(work)
        return target


class _Worker:
    """The process's recording thread; started when first needed, and again if it died."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._work, name="eqty-lineage-recorder", daemon=True)
                    self._thread.start()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            try:
                task()
            except BaseException:
                logger.exception("a recording task failed")
            del task


_WORKER = _Worker()
_LIVE: weakref.WeakSet[BackgroundRecorder] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    """Store what is queued before a normal exit kills the daemon thread."""
    for recorder in list(_LIVE):
        recorder.flush()
