"""A run as the text of a Mermaid flowchart: agents, their steps, and the versions of files they wrote and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.model import How, Kind, Step, Version

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

NODES: Final = 60
"""Nodes that are drawn; Mermaid lays out some hundred before it gives up, and nobody reads those."""
_LABEL: Final = 60
"""Characters of a label."""
_PLAIN: Final = re.compile(r"[^A-Za-z0-9 ./_-]")
_END: Final = re.compile(r"\bend\b")
"""What ends a subgraph, in some versions of Mermaid wherever it stands."""


def draw(run: Run) -> str:
    """Return the text of a flowchart, for whatever shows Mermaid.

    Each lane is a subgraph. A turn or call points to what came next in its lane, or to the lane it started; a solid
    arrow leads to a version that a step wrote, a dashed one from a version that it read. Steps are drawn from the
    first on, and with them the versions they touched; beyond :data:`NODES` a last node says how many are left out.
    Every character of a label but letters, digits and a few signs is written as its number, so that no name ends a
    label, makes a link, or is taken for a word of Mermaid's own.
    """
    shown, versions, left = _chosen(run)
    lines = ["flowchart TD"]
    lanes = list(dict.fromkeys(step.lane for step in shown))
    for at, lane in enumerate(lanes):
        agent = run.lanes[lane].agent or "agent"
        lines.append(f'  subgraph lane{at}["{label(agent)}"]')
        lines.extend(f'    s{step.number}["{label(_said(step))}"]' for step in shown if step.lane == lane)
        lines.append("  end")
    ids = {_key(version): f"v{at}" for at, version in enumerate(versions)}
    lines.extend(f'  {ids[_key(one)]}[("{label(_version(one))}")]' for one in versions)
    if left:
        lines.append(f'  rest["{left} more not drawn"]')
    lines.extend(f"  {line}" for line in dict.fromkeys(_links(run, shown, ids)))
    return "\n".join(lines) + "\n"


def label(text: str) -> str:
    """Return text as it may stand between the quotes of a label."""
    cut = " ".join(text.split())
    cut = cut if len(cut) <= _LABEL else cut[: _LABEL - 1] + "…"
    return (
        _END.sub(
            lambda match: f"#{ord(match[0][0])};{match[0][1:]}", _PLAIN.sub(lambda match: f"#{ord(match[0])};", cut)
        )
        or " "
    )


def _chosen(run: Run) -> tuple[list[Step], list[Version], int]:
    """Return the steps and versions that are drawn, and how many are not."""
    by_key = {_key(one): one for file in run.files.values() for one in file.versions}
    shown: list[Step] = []
    versions: dict[tuple[str, int | None, str], Version] = {}
    for step in run.steps:
        new = [key for use in step.files if (key := (use.path, use.version, use.cid)) not in versions and key in by_key]
        if len(shown) + len(versions) + 1 + len(dict.fromkeys(new)) > NODES:
            break
        shown.append(step)
        versions |= {key: by_key[key] for key in new}
    whole = len(run.steps) + len(by_key)
    return shown, list(versions.values()), whole - len(shown) - len(versions)


def _links(run: Run, shown: list[Step], ids: dict[tuple[str, int | None, str], str]) -> Iterator[str]:
    drawn = {step.number for step in shown}
    before: dict[str, int] = {}
    for step in shown:
        above = before.get(step.lane)
        asked = step.asked_by
        if asked is not None and asked.step in drawn:
            arrow = "-->" if asked.how is How.SIGNED else "-- inferred -->"
            yield f"s{asked.step} {arrow} s{step.number}"
        elif above is not None:
            yield f"s{above} --> s{step.number}"
        started = run.lanes[step.lane].within
        if above is None and started in drawn:
            yield f"s{step.number} -- within --> s{started}"
        before[step.lane] = step.number
        for use in step.files:
            version = ids.get((use.path, use.version, use.cid))
            if version is not None and use.role == "wrote":
                yield f"s{step.number} --> {version}"
            elif version is not None:
                yield f"{version} -.-> s{step.number}"


def _key(version: Version) -> tuple[str, int | None, str]:
    return version.path, version.ordinal, version.cid


def _said(step: Step) -> str:
    turn = f"turn {step.turn}" if step.kind is Kind.TURN else step.name
    failed = "" if step.status in {"", "ok"} else f" ({step.status})"
    return f"{step.number} {turn}{failed}"


def _version(version: Version) -> str:
    return f"{version.path} v{version.ordinal}" if version.exact else f"{version.path} ({version.evidence})"
