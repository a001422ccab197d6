"""How the jobs of one recorder are stored: in order, in batches, and again if something failed.

A batch is what waits for one context. Its contents are stored first, then one data statement names its new assets,
then each asset's metadata, then the computations: an asset before the computation that uses it, computations in
recorded order. What fails stays first in line, with all behind it, until the next batch or until the run is over; then
it is tried a few times more, alone, and given up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from eqty_lineage.deepagents.recording.crew import Crew
from eqty_lineage.deepagents.recording.jobs import Job, Step

BATCH: Final = 64
HOPELESS: Final = 3
"""Jobs given up in a row after which the store is taken to be down."""
_PAUSES: Final = (0.05, 0.5)
"""Seconds between the attempts at a job that fails when its run is over."""


class Line:
    """The jobs of one recorder that wait to be stored."""

    def __init__(self, crew: Crew, stalled: Callable[[BaseException], None]) -> None:
        """Start empty. ``stalled`` is told when storing stops because something failed."""
        self._waiting: deque[Job] = deque()
        self._crew = crew
        self._stalled = stalled

    def add(self, job: Job) -> None:
        """Put a job at the end of the line."""
        self._waiting.append(job)

    def run(self) -> bool:
        """Store what waits, as far as that goes; return whether nothing is left."""
        while self._waiting:
            error = self._batch(BATCH)
            if error is not None:
                self._stalled(error)
                return False
        return True

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return len(self._waiting)

    def finish(self) -> None:
        """Store what waits, and give up what cannot be stored.

        Where several in a row cannot, the store is down, and the rest is given up untried.
        """
        in_a_row = 0
        left = len(self._waiting)
        while not self.run():
            before = len(self._waiting)
            if before < left:
                # something was stored since
                in_a_row = 0
            error = self._batch(1)
            for pause in _PAUSES:
                if error is None:
                    break
                time.sleep(pause)
                error = self._batch(1)
            left = len(self._waiting)
            if error is None or left < before:
                in_a_row = 0
                continue
            in_a_row += 1
            left -= 1
            self._waiting.popleft().failed(error)
            while in_a_row == HOPELESS and self._waiting:
                job = self._waiting.popleft()
                if job.done:
                    _tell(job)
                else:
                    job.failed(error)

    def _batch(self, most: int) -> BaseException | None:
        """Store the first jobs in line that go to one context; return the error that stopped it."""
        batch: list[Job] = []
        for job in self._waiting:
            if len(batch) == most or job.store is not self._waiting[0].store:
                break
            batch.append(job)
        error = _prepare(batch)
        if error is None or batch:
            error = self._store(batch) or error
        while self._waiting and self._waiting[0].done:
            _tell(self._waiting.popleft())
        return error

    def _store(self, batch: list[Job]) -> BaseException | None:
        error = _name(batch)
        if error is not None:
            return error
        assets = [job for job in batch if not job.steps]
        error = self._apart(assets)
        for job in assets:
            if job.done:
                # before a computation is worked out that may use it
                _tell(job)
        if error is not None:
            return error
        ordered = [job for job in batch if job.steps]
        while ordered and error is None:
            error = self._in_order(ordered)
        return error

    def _apart(self, jobs: list[Job]) -> BaseException | None:
        """Do what may be done at the same time; return the first error."""
        for job in jobs:
            self._crew.post(_all(job.apart))
        return next(filter(None, self._crew.join()), None)

    def _in_order(self, jobs: list[Job]) -> BaseException | None:
        """Do jobs in their order, up to one that needs all before it done; take them from the list.

        What they leave to be done apart is done meanwhile by whoever helps.
        """
        errors: list[BaseException | None] = []
        begun = 0
        try:
            while jobs and not any(errors) and not (jobs[0].last and begun):
                job = jobs.pop(0)
                begun += 1
                errors.append(_do(job.steps))
                if not job.steps:
                    self._crew.post(_all(job.apart))
        finally:
            errors.extend(self._crew.join())
        return next(filter(None, errors), None)


def _tell(job: Job) -> None:
    """Say, once, that a job is stored."""
    if job.stored is not None:
        job.stored()
        job.stored = None


def _prepare(batch: list[Job]) -> BaseException | None:
    """Do what comes before the data statement; cut the batch short before a job for which that fails."""
    for position, job in enumerate(batch):
        error = _do(job.prepare)
        if error is not None:
            del batch[position:]
            return error
    return None


def _name(batch: list[Job]) -> BaseException | None:
    """Make the data statements."""
    new = [job for job in batch if job.names is not None]
    shared = [job for job in new if not job.alone]
    for group in ([shared] if shared else []) + [[job] for job in new if job.alone]:
        cids = list(dict.fromkeys(job.names for job in group if job.names is not None))
        error = _attempt(lambda group=group, cids=cids: group[0].store.register(cids))  # type: ignore[misc]
        if error is not None:
            return error
        for job in group:
            job.names = None
    return None


def _all(steps: deque[Step]) -> Step:
    def step() -> None:
        error = _do(steps)
        if error is not None:
            raise error

    return step


def _do(steps: deque[Step]) -> BaseException | None:
    while steps:
        error = _attempt(steps[0])
        if error is not None:
            return error
        steps.popleft()
    return None


def _attempt(step: Step) -> BaseException | None:
    try:
        step()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the SDK panics with a BaseException
        return error
    return None
