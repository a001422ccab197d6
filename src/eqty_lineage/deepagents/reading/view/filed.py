"""What the page knows of a file: its versions, what is in them, what changed between them, and who wrote each line."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from eqty_lineage.deepagents.reading.answers import Blame, BlamedLine, Reference, What
from eqty_lineage.deepagents.reading.model import File, Version
from eqty_lineage.deepagents.reading.view.pool import Pool

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

LONGEST: Final = 200_000
"""Bytes of a version above which the page has no diff and no blame of it: they would take longer than all else."""


def file(run: Run, file: File, pool: Pool, *, content: bool) -> dict[str, Any]:
    """Return what the page knows of a file; without ``content`` no text of it, and no line of a diff."""
    last = file.last
    shown: dict[str, Any] = {
        "path": file.path,
        "slug": slug(file.path),
        "versions": [_version(version, pool) for version in file.versions],
    }
    if file.removed:
        shown["removed"] = 1
    if last is not None:
        shown["last"] = last.order
    if content:
        for version, entry in zip(file.versions, shown["versions"], strict=True):
            text = run.text(version)
            if text is not None:
                entry["t"] = pool.text(text)
        for (before, after), entry in zip(pairwise(file.versions), shown["versions"][1:], strict=True):
            entry.update(_diff(run, before, after, pool))
        if last is not None:
            shown |= _blame(run, last, pool)
    return shown


def slug(path: str) -> str:
    """Return what stands for a path in the page's links: ASCII, the same in every page."""
    return quote(path, safe="/", errors="surrogatepass")


def reference(version: Version) -> str:
    """Return how a version is named on the page."""
    if version.ordinal is not None:
        return f"v{version.ordinal}"
    return {"rendering": "rendering", "edit": "edit"}.get(version.evidence, "unknown")


def _version(version: Version, pool: Pool) -> dict[str, Any]:
    values = {
        "v": reference(version),
        "o": version.order,
        "cid": pool.cid(version.cid),
        "ev": version.evidence,
        "w": list(version.wrote),
        "r": list(version.read),
        "rep": list(version.replaced),
        "rem": list(version.removed),
        "size": version.size,
        "held": 1 if version.withheld else None,
        "restores": version.restores,
    }
    return {key: value for key, value in values.items() if value not in (None, [], "")}


def _diff(run: Run, before: Version, after: Version, pool: Pool) -> dict[str, Any]:
    if max(before.size or 0, after.size or 0) > LONGEST:
        return {"dn": f"more than {LONGEST} bytes: ask eqty-lineage diff"}
    ask: Any = getattr(run, "file_diff", None)
    if ask is None:
        return {}
    diff = ask(before, after)
    if diff.note:
        return {"dn": diff.note}
    return {"d": pool.text("\n".join(diff.lines))}


def _blame(run: Run, version: Version, pool: Pool) -> dict[str, Any]:
    if (version.size or 0) > LONGEST:
        return {"bn": f"more than {LONGEST} bytes: ask eqty-lineage blame"}
    ask: Any = getattr(run, "blame", None)
    if ask is None:
        return {}
    blame = ask(Reference(_named(version), What.VERSION, None, version, None, version.cid))
    if blame.note or not blame.lines:
        return {"bn": blame.note} if blame.note else {}
    return {"b": _runs(blame), "bt": pool.text("\n".join(line.text for line in blame.lines))}


def _runs(blame: Blame) -> list[list[Any]]:
    """Neighbouring lines of one origin are told once: how many, version, step, agent, turn, its step, note."""
    runs = []
    for origin, lines in groupby(blame.lines, key=_origin):
        runs.append([sum(1 for _ in lines), *origin])
    return runs


def _origin(line: BlamedLine) -> tuple[Any, ...]:
    order = line.version.order if line.version else None
    return (order, line.step, line.agent, line.turn, line.turn_step, line.note)


def _named(version: Version) -> str:
    return f"{version.path}@{version.ordinal}" if version.ordinal is not None else version.cid
