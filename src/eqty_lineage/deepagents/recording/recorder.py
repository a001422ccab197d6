"""When statements are made: on a background thread by default, or inline.

Both recorders store jobs the same way, in the order they were submitted; they differ in the thread that does it.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from eqty_lineage.deepagents.recording import process
from eqty_lineage.deepagents.recording.batches import BATCH, Line
from eqty_lineage.deepagents.recording.crew import Crew
from eqty_lineage.deepagents.recording.jobs import Job

logger = logging.getLogger("eqty.deepagents")

_LINGER: Final = 0.03
_HELPERS: Final = 2
"""Threads that help while somebody waits. The SDK waits for its database now and then: two pay even on two cores."""
_QUIET: Final = 1.0
"""Seconds of waiting before anything is said about it, and between two times it is said."""
_TICK: Final = 0.25
_FULL: Final = 5.0
"""Seconds a callback waits for a full queue before what cannot be stored is given up."""
QUEUE_SIZE: Final = 10_000
"""Jobs a recorder lets wait before a callback has to."""


Waiting = Callable[[int], None]


class Recorder(Protocol):
    """Stores jobs in the order they were submitted."""

    seconds: float
    """Time spent storing."""

    def submit(self, job: Job) -> None:
        """Take a job. Cheap, called under the handler's lock; never raises because of the job."""

    def settle(self) -> None:
        """Called by the submitting thread once it holds no lock; waits while too many jobs are queued."""

    def finish_later(self) -> None:
        """Have everything submitted so far stored or given up, without waiting for it if another thread can do that."""

    def note_agent(self, *, works: bool) -> None:
        """Be told whether the agent works, or has no run or only waits for its models: then more threads may store."""

    def flush(self, timeout: float | None = None, waiting: Waiting | None = None) -> bool:
        """Wait until every job submitted so far is stored or given up; return whether that came about in time.

        ``waiting`` is told now and then how many jobs are left, once the wait has lasted a second.
        """

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""

    @property
    def queued(self) -> int:
        """How many jobs wait."""


class _Clocked:
    """Counts the seconds spent storing."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._warned = False

    def stalled(self, error: BaseException) -> None:
        """Say, once, that storing stopped; what waits is tried again."""
        if not self._warned:
            self._warned = True
            logger.warning(
                "storing lineage stalled and will be tried again: %s: %s",
                type(error).__name__,
                str(error).partition("\n")[0],
            )


class InlineRecorder(_Clocked):
    """Stores jobs on the thread that recorded them, before its callback returns."""

    def __init__(self, queue_size: int = QUEUE_SIZE) -> None:
        """Start empty; nothing is ever left to queue but what failed."""
        super().__init__()
        del queue_size
        self._submitted: deque[Job] = deque()
        self._line = Line(Crew(), self.stalled)
        self._lock = threading.RLock()
        self._closed = False

    @property
    def queued(self) -> int:
        """How many jobs wait."""
        return len(self._submitted) + len(self._line)

    def submit(self, job: Job) -> None:
        """Queue a job for :meth:`settle`."""
        if not self._closed and not process.is_over():
            self._submitted.append(job)

    def settle(self) -> None:
        """Store what was submitted. A second thread waits for the first, so that order is kept."""
        if not self._submitted or process.is_over():
            return
        with self._lock:
            began = time.perf_counter()
            while self._submitted:
                self._line.add(self._submitted.popleft())
            self._line.run()
            self.seconds += time.perf_counter() - began

    def finish_later(self) -> None:
        """Store what is left now: there is no other thread for it."""
        self.flush()

    def note_agent(self, *, works: bool) -> None:
        """Take no notice: the one thread that stores is the agent's."""

    def flush(self, timeout: float | None = None, waiting: Waiting | None = None) -> bool:
        """Store what is left, however long that takes."""
        del timeout, waiting  # storing happens on this very thread
        if process.is_over():
            return False
        with self._lock:
            self.settle()
            began = time.perf_counter()
            self._line.finish()
            self.seconds += time.perf_counter() - began
        return True

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""
        done = self.flush(timeout)
        self._closed = True
        return done


class BackgroundRecorder(_Clocked):
    """Stores jobs on one daemon thread of the process, shared by all its recorders."""

    def __init__(self, queue_size: int = QUEUE_SIZE) -> None:
        """Start empty; the thread starts with the first job."""
        super().__init__()
        self._queue_size = queue_size
        self._incoming: deque[Job] = deque()
        self._line = Line(_WORKER.crew, self.stalled)
        self._lock = threading.RLock()
        self._submitted = 0
        self._finished = 0
        self._scheduled = False
        self._closed = False
        _LIVE.add(self)

    @property
    def queued(self) -> int:
        """How many jobs wait."""
        return len(self._incoming) + len(self._line)

    def submit(self, job: Job) -> None:
        """Queue a job."""
        if self._closed or process.is_over():
            return
        self._incoming.append(job)
        with self._lock:
            if self._scheduled:
                return
            self._scheduled = True
        self._schedule(self._drain)

    def settle(self) -> None:
        """Wait while the queue is full: nothing is dropped, unless the store takes nothing any more."""
        if self.queued <= self._queue_size or process.is_over() or _WORKER.is_here():
            return
        _WORKER.hurry()
        if not _WORKER.crew.wait_until(lambda: self.queued <= self._queue_size // 2, _FULL):
            self.flush()

    def finish_later(self) -> None:
        """Have everything submitted so far stored or given up, without waiting for it."""
        if not process.is_over():
            self._schedule(self._finish)

    def note_agent(self, *, works: bool) -> None:
        """Let other threads help to store while no agent of the process works."""
        _WORKER.note_agent(self, works=works)

    def flush(self, timeout: float | None = None, waiting: Waiting | None = None) -> bool:
        """Wait until the thread has stored or given up everything submitted so far."""
        if process.is_over() or _WORKER.is_here():
            # a stream nobody reads can be collected, and so closed, on the thread that stores
            return False
        target = self._schedule(self._finish)
        _WORKER.hurry()
        left = timeout
        pause = _QUIET
        while True:
            slice_ = pause if left is None else min(pause, left)
            if _WORKER.crew.wait_until(lambda: self._finished >= target, slice_):
                return True
            if left is not None:
                left -= slice_
                if left <= 0:
                    return False
            _WORKER.ensure()
            if waiting is not None:
                waiting(self.queued)
            pause = _TICK

    def close(self, timeout: float | None = None) -> bool:
        """Flush and take no more jobs."""
        self._closed = True
        return self.flush(timeout)

    def _drain(self) -> None:
        if len(self._incoming) < BATCH:
            # a statement names fifty new assets at the price of one: let some more come in
            _WORKER.linger()
        with self._lock:
            self._scheduled = False
        began = time.perf_counter()
        if self._take() and self._line.run():
            _WORKER.crew.wake()
            with self._lock:
                again = bool(self._incoming) and not self._scheduled
                self._scheduled = self._scheduled or again
            if again:
                # others wait for the thread too
                self._schedule(self._drain)
        self.seconds += time.perf_counter() - began

    def _take(self) -> bool:
        """Move what came in to the line, a batch at a time; return whether anything did."""
        taken = 0
        while self._incoming and taken < BATCH:
            self._line.add(self._incoming.popleft())
            taken += 1
        return bool(taken)

    def _finish(self) -> None:
        began = time.perf_counter()
        while self._incoming:
            self._take()
        self._line.finish()
        self.seconds += time.perf_counter() - began

    def _schedule(self, task: Callable[[], None]) -> int:
        def work() -> None:
            try:
                task()
            finally:
                with self._lock:
                    self._finished += 1
                _WORKER.crew.wake()

        with self._lock:
            self._submitted += 1
            target = self._submitted
            _WORKER.put(work)
        return target


class _Worker:
    """The process's recording thread; started when first needed, and again if it died."""

    def __init__(self) -> None:
        self.crew = Crew()
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        # whatever is collected while a thread is started can end a run, which comes back here
        self._lock = threading.RLock()
        self._starting = False
        self._hurried = threading.Event()
        self._helpers: list[threading.Thread] = []
        self._at_work: weakref.WeakSet[BackgroundRecorder] = weakref.WeakSet()
        """Recorders whose agents do more than wait for their models."""

    def put(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)
        self.ensure()

    def ensure(self) -> None:
        """See that the thread lives."""
        if self._thread is None or not self._thread.is_alive():
            with self._starts() as may_start:
                if may_start and (self._thread is None or not self._thread.is_alive()):
                    self._thread = threading.Thread(target=self._work, name="eqty-lineage-recorder", daemon=True)
                    self._thread.start()

    @contextlib.contextmanager
    def _starts(self) -> Iterator[bool]:
        """Say whether threads may be started here and now; what cannot be started is tried again by who waits."""
        with self._lock:
            if self._starting:
                yield False
                return
            self._starting = True
            try:
                # there may be too many threads, or the interpreter may be ending
                with contextlib.suppress(RuntimeError):
                    yield True
            finally:
                self._starting = False

    def is_here(self) -> bool:
        """Whether this is one of the threads that store."""
        here = threading.current_thread()
        return here is self._thread or here in self._helpers

    def hurry(self) -> None:
        """Somebody waits: no more lingering, and helpers, until the queue is empty."""
        self._hurried.set()
        self._call_helpers()

    def note_agent(self, recorder: BackgroundRecorder, *, works: bool) -> None:
        """Note whether a recorder's agent works; see :class:`Recorder`."""
        with self._lock:
            changes = works != (recorder in self._at_work)
            if changes:
                (self._at_work.add if works else self._at_work.discard)(recorder)
        if self._may_help():
            if recorder.queued:
                self._call_helpers()
        elif changes:
            self.crew.wake()

    def _may_help(self) -> bool:
        return self._hurried.is_set() or not self._at_work

    def _call_helpers(self) -> None:
        with self._starts() as may_start:
            self._helpers = [helper for helper in self._helpers if helper.is_alive()]
            # while agents only wait for their models one is enough, and leaves them the other processor
            while may_start and len(self._helpers) < (_HELPERS if self._hurried.is_set() else 1):
                over = self._is_calm if self._helpers else self._is_busy
                helper = threading.Thread(
                    target=self.crew.help_until, args=(over,), name="eqty-lineage-helper", daemon=True
                )
                helper.start()
                self._helpers.append(helper)

    def _is_busy(self) -> bool:
        return not self._may_help()

    def _is_calm(self) -> bool:
        return not self._hurried.is_set()

    def linger(self) -> None:
        """Give callbacks a little time to record more, unless somebody waits."""
        self._hurried.wait(_LINGER)

    def _work(self) -> None:
        while True:
            if self._tasks.empty() and self._hurried.is_set():
                self._hurried.clear()
                self.crew.wake()
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
    # what ends from here on (a stream nobody closed) finds no thread that could store it
    process.note_end()
