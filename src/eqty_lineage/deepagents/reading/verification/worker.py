"""A process that judges statements: a JSON list of them a line on standard input, a list of findings a line back.

A program of its own, started as a module: neither a fork, after which the SDK hangs, nor ``multiprocessing``, which
would run the caller's main module once more.
"""

from __future__ import annotations

import json
import sys

from eqty_lineage.deepagents.reading.verification.judging import judge

READY = "ready\n"


def main() -> None:
    """Judge until standard input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    answers.write(READY)
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps([judge(statement) for statement in json.loads(line)]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
