"""What the runs of a matrix came to, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from environments import ROOT

if TYPE_CHECKING:
    from run import Row

DOCUMENT = ROOT / "docs" / "compatibility.md"
HEADER = """# Compatibility

Written by `just matrix`; not to be edited. Each row is an environment in which the suite `tests/releases` was run: a
release of DeepAgents with the packages of its day, or with the newest ones that install beside it, and LangGraph alone
with the oldest langchain-core. The pins are in `matrix/pins.toml`.

A test that needs what a release has not is skipped; the second table says what that was. What follows was found by
looking at a run of each release, without a recorder: nothing of it is assumed by a test or by the handler.

## Results
"""


def document(rows: list[Row]) -> str:
    """Return the whole document."""
    parts = [HEADER, _results(rows), "## Lacking\n", _lacking(rows), "## How the releases behave\n", _behaviour(rows)]
    failed = [f"- {row.environment.id}: {name}" for row in rows for name in row.failed]
    if failed:
        parts += ["## Failed\n", "\n".join(failed) + "\n"]
    return "\n".join(parts)


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows) + "\n"


def _stack(row: Row) -> list[str]:
    found, environment = row.installed, row.environment
    release = found.get("deepagents") or environment.release or "none"
    packages = [found.get(name) or "-" for name in ("langchain", "langchain-core", "langgraph")]
    return [release, environment.resolution, *packages, found.get("python") or environment.python]


def _results(rows: list[Row]) -> str:
    head = ["deepagents", "resolution", "langchain", "langchain-core", "langgraph", "Python"]
    lines = []
    for row in rows:
        counts = [str(row.passed), str(sum(row.lacking.values())), str(len(row.failed))]
        if row.not_run is not None:
            counts = [f"not run: {row.not_run}", "", ""]
        lines.append([*_stack(row), *counts])
    return _table([*head, "passed", "skipped", "failed"], lines)


def _lacking(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        if row.lacking:
            said = ", ".join(f"{what} ({count})" for what, count in sorted(row.lacking.items()))
            lines.append([*_stack(row)[:2], said])
    return _table(["deepagents", "resolution", "tests skipped for want of"], lines)


def _behaviour(rows: list[Row]) -> str:
    looked = [row for row in rows if row.behaviour]
    keys = list(dict.fromkeys(key for row in looked for key in row.behaviour))
    lines = [[*_stack(row)[:2], *(row.behaviour.get(key, "-") for key in keys)] for row in looked]
    return _table(["deepagents", "resolution", *keys], lines)
