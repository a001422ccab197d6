"""Statements judged in several processes; one that hangs or kills a process is a fault of its own and stops nothing."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from eqty_lineage.deepagents.reading.verification import worker
from eqty_lineage.deepagents.reading.verification.judging import Finding, judge
from eqty_lineage.deepagents.reading.verification.report import Check

Statement = dict[str, Any]
Progress = Callable[[int, int], None]

BATCH: Final = 16
PER_PROCESS: Final = 100
"""Statements for which another process is worth its start."""
MOST: Final = 8
"""Processes, unless a number is given."""
PATIENCE: Final = 120.0
"""Seconds for one batch, which takes a tenth of one."""
MODULE = worker.__name__
"""What the processes run."""
_KILLS: Final[Finding] = (Check.IDS, "unverifiable", "the SDK does not come to an end with it, or dies of it")


class _UnavailableError(Exception):
    """No process can be started here."""


def judged(statements: Sequence[Statement], processes: int | None, progress: Progress | None) -> list[list[Finding]]:
    """Return what is wrong with each statement, in their order.

    Args:
        statements: Of the form that :mod:`.shapes` wants.
        processes: How many; 1 judges in this process; ``None`` is as many as there are processors and it is worth.
        progress: Is told how many of how many are done, on the calling thread.

    """
    if processes is None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        processes = max(1, min(processors, MOST, len(statements) // PER_PROCESS))
        if len(statements) < PER_PROCESS:
            return _here(statements, progress)
    elif processes == 1:
        return _here(statements, progress)
    try:
        return _apart(statements, processes, progress)
    except _UnavailableError:
        return _here(statements, progress)


def _here(statements: Sequence[Statement], progress: Progress | None) -> list[list[Finding]]:
    found = []
    for done, statement in enumerate(statements, start=1):
        found.append(judge(statement))
        if progress is not None:
            progress(done, len(statements))
    return found


def _apart(statements: Sequence[Statement], processes: int, progress: Progress | None) -> list[list[Finding]]:
    found: list[list[Finding]] = [[] for _ in statements]
    batches: queue.SimpleQueue[range] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[range, list[list[Finding]]] | BaseException] = queue.SimpleQueue()
    for start in range(0, len(statements), BATCH):
        batches.put(range(start, min(start + BATCH, len(statements))))
    workers = [_Worker() for _ in range(processes)]

    def work(one: _Worker) -> None:
        try:
            while True:
                batch = batches.get_nowait()
                answers.put((batch, one.judged([statements[index] for index in batch])))
        except queue.Empty:
            pass
        except Exception as error:  # noqa: BLE001 - raised where it was asked for
            answers.put(error)

    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in workers]
    try:
        for thread in threads:
            thread.start()
        done = 0
        while done < len(statements):
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            batch, said = answer
            for index, findings in zip(batch, said, strict=True):
                found[index] = findings
            done += len(batch)
            if progress is not None:
                progress(done, len(statements))
    finally:
        for one in workers:
            one.stop()
        for thread in threads:
            thread.join()
        for one in workers:
            one.end()
    return found


class _Worker:
    """One process, started when it is needed and anew when it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def judged(self, statements: list[Statement]) -> list[list[Finding]]:
        answer = self._asked(statements)
        if answer is not None:
            return answer
        if len(statements) > 1:
            return [self.judged([statement])[0] for statement in statements]
        return [[_KILLS]]

    def _asked(self, statements: list[Statement]) -> list[list[Finding]] | None:
        """Return the findings, or ``None`` if the process came to its end over them."""
        process = self._process or self._start()
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            assert process.stdin is not None  # noqa: S101 - for the type checker
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(json.dumps(statements) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            return [[(check, code, text) for check, code, text in each] for each in json.loads(line)]
        except (OSError, ValueError):  # it is gone: a broken pipe, or a line that is empty
            self.end()
            return None
        finally:
            watch.cancel()

    def _start(self) -> subprocess.Popen[str]:
        if self._stopped or not sys.executable:
            raise _UnavailableError
        # What this process can import, that one can, and nothing from the current folder besides (-P).
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
        try:
            self._process = process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-P", "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env=environment,
            )
        except OSError as error:
            raise _UnavailableError from error
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            assert process.stdout is not None  # noqa: S101 - for the type checker
            if process.stdout.readline() != worker.READY or self._stopped:
                self.end()
                raise _UnavailableError
        finally:
            watch.cancel()
        return process

    def end(self) -> None:
        """End the process and let go of it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            process.wait()

    def stop(self) -> None:
        """End the process while another thread waits for it; none is started after this."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()
