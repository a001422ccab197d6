"""Run the scenario suite on every release of DeepAgents in ``pins.toml``, and write what came of it as a table.

``just matrix`` runs all and writes ``docs/compatibility.md``; ``just matrix --only newest,0.1.4`` runs some and prints.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from xml.etree import ElementTree as ET

from environments import ROOT, Environment, NotMadeError, chosen, make
from table import DOCUMENT, document

SUITE = "tests/releases"
REPORT = "report.xml"
PACKAGES = ("deepagents", "langchain", "langchain-core", "langgraph")
LOOK = """
import importlib.metadata, json, platform, sys
def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({"python": platform.python_version(), **{name: version(name) for name in sys.argv[1:]}}))
"""


@dataclass
class Row:
    """What came of one environment."""

    environment: Environment
    installed: dict[str, str | None] = field(default_factory=dict)
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    lacking: Counter[str] = field(default_factory=Counter)
    behaviour: dict[str, str] = field(default_factory=dict)
    not_run: str | None = None
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it ran and nothing failed. One that could not run for want of its Python is no failure."""
        return not self.failed and (self.not_run is None or self.not_run.startswith("no Python"))


def run(environment: Environment, *, any_python: bool) -> Row:
    """Make an environment and run the suite in it."""
    row = Row(environment)
    began = time.monotonic()
    try:
        python = make(environment, any_python=any_python)
        _run_suite(python, environment.folder)
        _read(python, row)
    except NotMadeError as error:
        row.not_run = str(error)
    row.seconds = time.monotonic() - began
    return row


def last(environment: Environment) -> Row:
    """Return what came of an environment when it was last run."""
    row = Row(environment)
    try:
        _read(environment.folder / "bin" / "python", row)
    except OSError:
        row.not_run = "never run here"
    except NotMadeError as error:
        row.not_run = str(error)
    return row


def _read(python: Path, row: Row) -> None:
    row.installed = json.loads(_output([str(python), "-c", LOOK, *PACKAGES]))
    row.behaviour = json.loads(_output([str(python), "-W", "ignore", "-m", "support.releases"]))
    _read_report(row)


def _output(command: list[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=_variables())
    if run.returncode:
        raise NotMadeError(f"{command[-1]} failed: {(run.stderr.strip().splitlines() or ['?'])[-1]}")
    return run.stdout


def _variables() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EQTY_"))}
    return {**inherited, "PYTHONPATH": str(ROOT / "tests"), "LANGSMITH_TRACING": "false"}


def _run_suite(python: Path, folder: Path) -> None:
    report = folder / REPORT
    report.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", SUITE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=_variables())
    (folder / "suite.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode not in (0, 1):
        report.unlink(missing_ok=True)


def _read_report(row: Row) -> None:
    report = row.environment.folder / REPORT
    if not report.exists():
        raise NotMadeError(f"the suite did not run to its end; see {report.with_name('suite.log').relative_to(ROOT)}")
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            row.failed.append(name)
        elif skipped is not None:
            row.lacking[skipped.get("message", "").removeprefix("lacking: ")] += 1
        else:
            row.passed += 1


def told(row: Row) -> str:
    """Return one line about a row, for who is watching."""
    if row.not_run is not None:
        return f"{row.environment.id}: not run, {row.not_run}"
    counts = f"{row.passed} passed, {sum(row.lacking.values())} skipped, {len(row.failed)} failed"
    lines = [f"{row.environment.id}: {counts} in {row.seconds:.0f} s", *(f"    failed: {name}" for name in row.failed)]
    return "\n".join(lines)


def main() -> int:
    """Run what was asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="just matrix", description=__doc__)
    parser.add_argument("--only", default="", help="environments or releases, with commas between")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many at a time")
    parser.add_argument("--write", action="store_true", help="write the table; the rest as it was last run")
    parser.add_argument("--any-python", action="store_true", help="take another Python where the right one is missing")
    parser.add_argument("--list", action="store_true", help="name the environments and end")
    options = parser.parse_args()
    environments = chosen([name for name in options.only.split(",") if name])
    if options.list:
        print(*(one.id for one in environments), sep="\n")
        return 0
    printing = Lock()

    def work(environment: Environment) -> Row:
        row = run(environment, any_python=options.any_python)
        with printing:
            print(told(row), flush=True)
        return row

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(work, environments))
    if options.write or not options.only:
        ran = {row.environment.id: row for row in rows}
        rows_of_all = [ran.get(one.id) or last(one) for one in chosen([])]
        DOCUMENT.write_text(document(rows_of_all), encoding="utf-8")
        print(f"wrote {DOCUMENT.relative_to(ROOT)}")
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
