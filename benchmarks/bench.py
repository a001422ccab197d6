"""Run every workload under every way of recording, in alternation, and say what recording costs.

Prints a table of medians with the targets, writes ``results.json`` and ``chart.svg`` beside this file. Each measurement
is a process of its own (``measure.py``), because the SDK is process-wide.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from chart import draw
from workloads import WORKLOADS

HERE = Path(__file__).parent
VARIANTS = ("bare", "base", "inline", "background")
MEMORY = "e-run"
Figures = dict[str, Any]


def measure(workload: str, variant: str) -> Figures:
    """Run one measurement."""
    command = [sys.executable, str(HERE / "measure.py"), workload, variant]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
    if run.returncode:
        sys.exit(f"{workload} {variant} failed:\n{run.stderr[-3000:]}")
    return dict(json.loads(run.stdout.splitlines()[-1]))


def medians(rows: list[Figures]) -> Figures:
    """Return the median of each figure."""
    return {
        key: statistics.median(row[key] for row in rows) if isinstance(rows[0][key], int | float) else rows[0][key]
        for key in rows[0]
    }


def targets(table: dict[tuple[str, str], Figures], memory: Figures) -> list[tuple[str, float, float]]:
    """Return each target: what it is, what was measured, and the most it may be."""

    def get(workload: str, variant: str, key: str) -> float:
        return float(table[workload, variant][key])

    a, b40, b80, f = "a-8-turns-latency", "b-40-turns", "b-80-turns", "f-50-edits-on-disk"
    ours, base = "background", "base"
    bare_wall, bare_cpu = get(a, "bare", "wall"), get(a, "bare", "cpu")
    cpu = (get(a, ours, "cpu") - bare_cpu) / (get(a, base, "cpu") - bare_cpu)
    blobs = get(b40, ours, "blob_bytes")
    hashed = get("c-100-files", ours, "files_hashed")
    return [
        ("(a) wall of invoke, root's end included, x bare", get(a, ours, "wall") / bare_wall, 1.15),
        ("(a) wall until the root's end, x bare", get(a, ours, "wall_until_end") / bare_wall, 1.03),
        ("(a) inside callbacks, median per event, ms", get(a, ours, "median_event") * 1e3, 1.0),
        ("(a) CPU of recording, x base inline", cpu, 0.75),
        ("(b) wall of 40 turns, all stored, x base inline", get(b40, ours, "wall") / get(b40, base, "wall"), 0.58),
        ("(b) blob MB at 40 turns of 4 KB writes", blobs / 1e6, 1.0),
        ("(b) blobs at 80 turns, x 40 turns", get(b80, ours, "blob_bytes") / blobs, 3.0),
        ("(c) an unchanged file is hashed: when handed in, when shown", hashed / 100, 2),
        ("(f) wall of 50 edits on disk with a witness, x bare", get(f, ours, "wall") / get(f, "bare", "wall"), 1.15),
        ("(e) resident memory, run 300 x run 50", memory["rss_mb_run_300"] / memory["rss_mb_run_50"], 1.03),
    ]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each (default 3)")
    parser.add_argument("--only", action="append", choices=list(WORKLOADS), help="only these workloads")
    arguments = parser.parse_args()
    chosen = arguments.only or [name for name in WORKLOADS if name != MEMORY]
    rows: dict[tuple[str, str], list[Figures]] = {}
    for turn in range(arguments.rounds):
        for workload in chosen:
            for variant in VARIANTS:
                print(f"round {turn + 1}: {workload} {variant} ...", file=sys.stderr)
                rows.setdefault((workload, variant), []).append(measure(workload, variant))
    table = {key: medians(measured) for key, measured in rows.items()}
    memory = None if arguments.only else measure(MEMORY, "background")
    header = f"{'workload':<20}{'variant':<12}{'wall s':>8}{'until end':>10}{'CPU s':>8}{'inside s':>9}{'ms/event':>9}"
    print(f"{header}{'statements':>11}{'blob KB':>9}{'x bare':>8}")
    for (workload, variant), row in table.items():
        print(
            f"{workload:<20}{variant:<12}{row['wall']:>8.2f}{row['wall_until_end']:>10.2f}{row['cpu']:>8.2f}"
            f"{row['inside']:>9.3f}{row['median_event'] * 1e3:>9.2f}{row['statements']:>11.0f}"
            f"{row['blob_bytes'] / 1e3:>9.0f}{row['wall'] / table[workload, 'bare']['wall']:>8.2f}"
        )
    if arguments.only is None:
        print(f"\n{'target':<52}{'measured':>10}{'must be':>10}")
        for name, measured, most in targets(table, memory or {}):
            print(f"{name:<52}{measured:>10.2f}{'<= ' + str(most):>10}{'' if measured <= most else '   MISSED'}")
        machine = f"{platform.machine()}, Python {platform.python_version()}"
        results = {"machine": machine, "rounds": arguments.rounds, "rows": list(table.values()), "memory": memory}
        (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (HERE / "chart.svg").write_text(draw(table, VARIANTS), encoding="utf-8")


if __name__ == "__main__":
    main()
