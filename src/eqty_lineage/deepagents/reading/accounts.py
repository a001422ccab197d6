"""Who took part in a run, how it began and ended, and what it says that it could not record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import Document
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.lanes import ROOT, Places
from eqty_lineage.deepagents.reading.model import (
    Agent,
    Cid,
    Computation,
    Detail,
    Gap,
    Kind,
    Lane,
    Recording,
    Root,
    Step,
)
from eqty_lineage.deepagents.reading.statements import Statements, text_of

SEAL: Final = "run seal"
GAPS: Final = "gaps"


def lanes(places: Places, steps: Sequence[Step], within: Mapping[str, int | None]) -> Iterator[Lane]:
    """Yield the lanes, the root's first, then in the order they began."""
    of: dict[str, list[Step]] = {key: [] for key in places.agent}
    for step in steps:
        of[step.lane].append(step)
    for key, its in of.items():
        yield Lane(
            key=key,
            agent=places.agent[key],
            how=places.how[key],
            within=within.get(key),
            steps=tuple(step.number for step in its),
            turns=_count(its, Kind.TURN),
            calls=_count(its, Kind.TOOL),
        )


def agents(statements: Statements, document: Document, its_lanes: Sequence[Lane]) -> Iterator[Agent]:
    """Yield the agents: those that ran in a lane, and those that the manifest describes."""
    described = dict(_described(statements, document))
    names = dict.fromkeys([*(lane.agent for lane in its_lanes if lane.agent), *described])
    for name in names:
        cid, role = described.get(name, (None, ""))
        ran = [lane for lane in its_lanes if lane.agent == name]
        yield Agent(
            name=name,
            role=role,
            cid=cid,
            lanes=tuple(lane.key for lane in ran),
            turns=sum(lane.turns for lane in ran),
            calls=sum(lane.calls for lane in ran),
        )


def roots(statements: Statements, steps: Sequence[Step], detail: Callable[[Step], Detail]) -> Iterator[Root]:
    """Yield the root runs, in the order they began."""
    of: dict[str, list[Step]] = {}
    for step in steps:
        of.setdefault(step.root, []).append(step)
    tops = {one.root_run_id: one for one in statements.computations.values() if _is_top(one)}
    for run_id, its in of.items():
        top = tops.get(run_id) or next((step.parts[-1] for step in reversed(its) if step.kind is Kind.RUN), None)
        turns = [step for step in its if step.kind is Kind.TURN and step.lane == _lane_of_root(its)]
        yield Root(
            run_id=run_id,
            name=top.name if top else "",
            status=top.status if top else "",
            steps=tuple(step.number for step in its),
            started_at=top.started_at if top else min((s.started_at for s in its if s.started_at), default=""),
            ended_at=top.ended_at if top else "",
            question=_question(turns, detail),
            answer=_answer(turns, detail),
        )


def gaps(statements: Statements, document: Document) -> Iterator[Gap]:
    """Yield what runs say that they could not record."""
    for cid, entity in statements.entities.items():
        if GAPS not in entity.names or not any(one.get("assetType") == "Dataset" for one in entity.metadata):
            continue
        value = _json(document, cid)
        listed = value.get("gaps") if isinstance(value, dict) else None
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict):
                yield Gap(text_of(one, "reason"), text_of(one, "what"), text_of(one, "where"))


def recording(statements: Statements, document: Document, steps: Sequence[Step], notes: tuple[str, ...]) -> Recording:
    """Say how the manifest came about."""
    ones = statements.computations.values()
    tops = [one for one in ones if text_of(one.metadata, "recorder")]
    vocabulary = next((one.metadata.get("vocabulary") for one in tops), None)
    shown = sum(len(step.parts) for step in steps)
    if ones and not statements.ordered_by_sequence:
        notes = ("The order is not recorded: it is told by when statements were signed, or by what needs what.", *notes)
    return Recording(
        recorder=text_of(tops[0].metadata, "recorder") if tops else "",
        vocabulary=vocabulary if isinstance(vocabulary, int) else None,
        framework=next((text_of(one.metadata, "framework") for one in reversed(tuple(ones))), ""),
        versions=_versions(statements, document),
        signers=statements.signers,
        statements=len(document.statements),
        sealed=any(SEAL in entity.names for entity in statements.entities.values()),
        hidden=len(ones) - shown,
        notes=notes,
    )


def _count(steps: Sequence[Step], kind: Kind) -> int:
    return sum(step.kind is kind for step in steps)


def _described(statements: Statements, document: Document) -> Iterator[tuple[str, tuple[Cid, str]]]:
    for cid, entity in statements.entities.items():
        if "Agent" not in entity.types:
            continue
        value = _json(document, cid)
        if isinstance(value, dict) and text_of(value, "name"):
            yield text_of(value, "name"), (cid, text_of(value, "role"))


def _versions(statements: Statements, document: Document) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for cid, entity in statements.entities.items():
        value = _json(document, cid) if "Agent" in entity.types else None
        versions = value.get("versions") if isinstance(value, dict) else None
        if isinstance(versions, dict):
            found.update((name, version) for name, version in versions.items() if isinstance(version, str))
    return dict(sorted(found.items()))


def _is_top(one: Computation) -> bool:
    return bool(text_of(one.metadata, "recorder")) or (bool(one.run_id) and one.run_id == one.root_run_id)


def _lane_of_root(steps: Sequence[Step]) -> str:
    return next((step.lane for step in steps if step.within is None), ROOT)


def _question(turns: Sequence[Step], detail: Callable[[Step], Detail]) -> str:
    if not turns:
        return ""
    asked = [message.text for message in detail(turns[0]).prompt if message.role == "human"]
    return asked[-1] if asked else ""


def _answer(turns: Sequence[Step], detail: Callable[[Step], Detail]) -> str:
    for turn in reversed(turns):
        said = [message.text for message in detail(turn).answer if message.text]
        if said:
            return said[-1]
    return ""


def _json(document: Document, cid: Cid) -> Any:
    try:
        return document.json(cid)
    except ReadingError:
        return None
