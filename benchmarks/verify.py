"""How many statements a second are verified, on a manifest given or the demo's: by one process and by as many as usual.

python benchmarks/verify.py [manifest]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from eqty_lineage.deepagents.reading.document import load
from eqty_lineage.deepagents.reading.verification import verify

DEMO = Path(__file__).resolve().parents[1] / "manifests" / "deep-agent.json"
TARGET = 200
"""Statements a second, on two cores."""


def main() -> None:
    """Print a table."""
    document = load(sys.argv[1] if len(sys.argv) > 1 else DEMO)
    count = len(document.statements)
    print(f"{count} statements, {len(document.blobs)} contents, {os.cpu_count()} cores; wanted: {TARGET} a second\n")
    print("| processes | seconds | statements a second | verdict |")
    print("|---|---|---|---|")
    for processes in (1, None):
        started = time.perf_counter()
        report = verify(document, processes=processes)
        took = time.perf_counter() - started
        print(f"| {processes or 'as usual'} | {took:.1f} | {count / took:.0f} | {report.verdict} |")


if __name__ == "__main__":
    main()
