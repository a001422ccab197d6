"""A run as static HTML for a notebook: what happened, the files, and the plan. No script, no reference to anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.model import File, Kind, Mark, PlanRevision, Step
from eqty_lineage.deepagents.reading.visible import visible

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

STEPS: Final = 200
"""Steps that are shown."""
FILES: Final = 100
"""Paths that are shown."""
ITEMS: Final = 50
"""Items of the plan's last revision that are shown."""
_CELL: Final = 120
"""Characters of a cell, before escaping: what is all quotes becomes six times as long."""
_LARGEST: Final = 60_000
"""Bytes of one table or list."""
_MORE: Final = "for all of it: <code>eqty-lineage view</code>"
_CELL_STYLE: Final = "text-align:left;vertical-align:top;padding:1px 8px"


def html(run: Run) -> str:
    """Return a run as static HTML, of bounded length however long it is.

    What is left out is counted, and where all of it is shown is said. Text of the run is escaped, and what would hide
    or reverse other text is shown by number.
    """
    parts = [*_head(run), *_steps(run), *_files(run), *_plan(run.plan)]
    return f'<div style="font-family:sans-serif;font-size:13px">{"".join(parts)}</div>'


def _head(run: Run) -> Iterator[str]:
    said = run.recording
    counts = f"{len(run.steps)} steps, {len(run.files)} files, {said.statements} statements"
    yield f"<p><strong>{counts}</strong>, not verified: as stated in the manifest. "
    yield f"{_text(said.recorder or 'Recorded by: not said')}.</p>"
    for root in run.roots[:3]:
        if root.question:
            yield f"<p>Asked: {_text(root.question)}</p>"
        if root.answer:
            yield f"<p>Answered: {_text(root.answer)}</p>"
    if run.gaps:
        yield f"<p>{len(run.gaps)} things could not be recorded, as the run itself says.</p>"


def _steps(run: Run) -> Iterator[str]:
    rows = [_row(_step(step)) for step in run.steps[:STEPS]]
    yield from _table(("step", "agent", "", "files", ""), rows, len(run.steps), "steps")


def _step(step: Step) -> Sequence[str]:
    name = f"turn {step.turn}: {step.name}" if step.kind is Kind.TURN else step.name
    wrote = [f"{use.path} v{use.version}" if use.version else use.path for use in step.files if use.role == "wrote"]
    read = [use.path for use in step.files if use.role == "read"]
    files = [*(f"wrote {path}" for path in wrote), *(f"read {path}" for path in read)]
    marks = [mark.value for mark in step.marks if mark is not Mark.MERGED_LANE]
    return f"#{step.number}", step.agent, name, ", ".join(files), ", ".join(marks)


def _files(run: Run) -> Iterator[str]:
    if run.files:
        rows = [_row(_file(run, file)) for file in list(run.files.values())[:FILES]]
        yield from _table(("file", "versions", "bytes", "last written by"), rows, len(run.files), "files")


def _file(run: Run, file: File) -> Sequence[str]:
    last = file.last
    if last is None:
        return file.path, str(len(file.versions)), "", "removed" if file.removed else "not known"
    writer = run.steps[last.wrote[-1] - 1] if last.wrote else None
    by = f"#{writer.number} {writer.agent} {writer.name}" if writer else "nobody in the run, as far as is known"
    size = "withheld" if last.withheld else "" if last.size is None else f"{last.size:,}"
    return file.path, str(len(file.versions)), size if last.exact else f"{size} (not its bytes)", by


def _plan(plan: Sequence[PlanRevision]) -> Iterator[str]:
    if not plan:
        return
    last = plan[-1]
    yield f"<p>The plan, revision {last.number}{': withheld' if last.withheld else ''}</p>"
    items = [f"<li>[{_text(item.status)}] {_text(item.content)}</li>" for item in last.items[:ITEMS]]
    shown = _within(items)
    yield f"<ul>{''.join(shown)}</ul>{_more(len(last.items) - len(shown), 'items')}"


def _table(heads: Sequence[str], rows: Sequence[str], whole: int, what: str) -> Iterator[str]:
    head = "".join(f'<th style="{_CELL_STYLE}">{one}</th>' for one in heads)
    shown = _within(rows)
    yield f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(shown)}</tbody></table>"
    yield _more(whole - len(shown), what)


def _row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"


def _within(pieces: Sequence[str]) -> Sequence[str]:
    """Return as many pieces as are within the bound."""
    length = 0
    for at, piece in enumerate(pieces):
        length += len(piece.encode())
        if length > _LARGEST:
            return pieces[:at]
    return pieces


def _more(left: int, what: str) -> str:
    return f"<p>{left} more {what}; {_MORE}</p>" if left > 0 else ""


def _text(text: str) -> str:
    return escape(visible(" ".join(text.split()), limit=_CELL), quote=True)
