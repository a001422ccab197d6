"""The steps of a run: groups of computations with their numbers, agents, askers and marks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from eqty_lineage.deepagents.reading.asking import Asking
from eqty_lineage.deepagents.reading.grouping import Group
from eqty_lineage.deepagents.reading.lanes import Places
from eqty_lineage.deepagents.reading.model import Cid, Computation, FileUse, How, Kind, Mark, Step

_SHELLS: Final = {"execute", "shell", "bash"}
_NO_BYTES: Final = {"rendering", "edit"}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a run beside its groups."""

    places: Places
    """The lane of each computation."""
    asking: Asking
    """Which turn asked for which call."""
    within: Mapping[str, int | None]
    """The step that started each lane."""
    revisions: Mapping[Cid, int]
    """The number of the plan revision that a computation made."""
    withheld: Collection[Cid]
    """Entities whose content was left out."""
    merged: bool
    """Whether steps of several agents may stand in one lane."""


def number(groups: Iterable[Group], known: Known) -> Iterator[Step]:
    """Yield the steps, numbered from 1 in the order of the groups."""
    places, asking = known.places, known.asking
    turns: dict[str, int] = {}
    turn_at: dict[int, int] = {}
    for at, group in enumerate(groups, 1):
        first = group.first
        lane = places.lane[first.id]
        asked = asking.asker(at)
        turn = turn_at.get(asked.step) if asked else None
        if group.kind is Kind.TURN:
            turn = turn_at[at] = turns[lane] = turns.get(lane, 0) + 1
        yield Step(
            number=at,
            kind=group.kind,
            name=_name(group),
            agent=first.agent or places.agent.get(lane, ""),
            lane=lane,
            turn=turn,
            status=_status(group.parts),
            parts=group.parts,
            inputs=_inputs(group.parts),
            outputs=_outputs(group.parts),
            call_id=asking.call_id(group),
            asked_by=asked,
            within=known.within.get(lane),
            files=_files(group.parts),
            wrote_plan=next((known.revisions[p.id] for p in group.parts if p.id in known.revisions), None),
            marks=tuple(_marks(group, known)),
            started_at=min((part.started_at for part in group.parts if part.started_at), default=""),
            ended_at=max((part.ended_at for part in group.parts if part.ended_at), default=""),
            timestamp=first.timestamp,
            root=first.root_run_id,
        )


def _name(group: Group) -> str:
    if group.kind is not Kind.TURN:
        return group.first.name
    return next((p.name for p in group.parts if "inference" in p.type), group.first.name.removesuffix(": request"))


def _status(parts: tuple[Computation, ...]) -> str:
    said = {part.status for part in parts}
    return next((status for status in ("error", "interrupted") if status in said), parts[-1].status)


def _inputs(parts: tuple[Computation, ...]) -> tuple[Cid, ...]:
    own = {cid for part in parts for cid in part.outputs}
    return tuple(dict.fromkeys(cid for part in parts for cid in part.inputs if cid not in own))


def _outputs(parts: tuple[Computation, ...]) -> tuple[Cid, ...]:
    passed = {cid for part in parts[1:] for cid in part.inputs}
    return tuple(dict.fromkeys(cid for part in parts for cid in part.outputs if cid not in passed))


def _files(parts: tuple[Computation, ...]) -> tuple[FileUse, ...]:
    return tuple(dict.fromkeys(use for part in parts for use in part.files))


def _marks(group: Group, known: Known) -> Iterator[Mark]:
    parts = group.parts
    status = _status(parts)
    if status == "error":
        yield Mark.ERROR
    if status == "interrupted":
        yield Mark.INTERRUPTED
    if any("compaction" in part.metadata for part in parts):
        yield Mark.COMPACTED
    if group.kind is Kind.TOOL and group.first.name in _SHELLS:
        yield Mark.FILES_UNKNOWN
    if any(use.evidence in _NO_BYTES for part in parts for use in part.files):
        yield Mark.RENDERING
    if any(cid in known.withheld for part in parts for cid in (*part.inputs, *part.outputs)):
        yield Mark.WITHHELD
    if known.merged and known.places.how[known.places.lane[group.first.id]] is How.INFERRED:
        yield Mark.MERGED_LANE
