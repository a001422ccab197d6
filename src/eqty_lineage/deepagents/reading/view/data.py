"""What the page knows of a run: plain JSON values, made once, without what ``content=False`` leaves out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents.reading.model import Computation, How, Kind, PlanRevision, Root, Step
from eqty_lineage.deepagents.reading.verification.report import Report
from eqty_lineage.deepagents.reading.view import filed
from eqty_lineage.deepagents.reading.view.pool import Pool

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

STATUSES = frozenset({"pending", "in_progress", "completed"})


def model(run: Run, report: Report | None, *, content: bool) -> dict[str, Any]:
    """Return the page's model of a run.

    Args:
        run: The run.
        report: What a verification of this manifest said, or ``None``.
        content: Whether prompts, answers, arguments, outputs, bytes, plan texts and questions are in it. Names of
            agents, tools, models, files and lanes, CIDs and numbers always are.

    """
    pool = Pool(run.entities)
    lanes = {key: (number, lane.agent) for number, (key, lane) in enumerate(run.lanes.items())}
    paths = {path: number for number, path in enumerate(run.files)}
    signers: dict[str, int] = {}
    prompts: dict[str, tuple[int, list[int]]] = {}
    steps = []
    for step in run.steps:
        shown = _step(step, pool, lanes, paths, signers)
        if content:
            shown |= _detail(run, step, pool, prompts)
        steps.append(shown)
    made: dict[str, Any] = {
        "content": content,
        "head": _head(run, content=content),
        "verdict": None if report is None else _verdict(report, content=content),
        "lanes": [
            _filled(
                {
                    "key": lane.key,
                    "agent": lane.agent,
                    "how": str(lane.how),
                    "within": lane.within,
                    "turns": lane.turns,
                    "calls": lane.calls,
                }
            )
            for lane in run.lanes.values()
        ],
        "steps": steps,
        "files": [filed.file(run, file, pool, content=content) for file in run.files.values()],
        "plans": [_plan(revision, pool, content=content) for revision in run.plan],
        "gaps": [[gap.reason, *([gap.what, gap.where] if content else ["", ""])] for gap in run.gaps],
        "hidden": _hidden(run),
        "signers": list(signers),
    }
    return made | {"texts": pool.texts, "messages": pool.messages, "cids": pool.cids, "words": pool.words}


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what says nothing: at ten thousand steps it is most of the page."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {}, ())}


def _head(run: Run, *, content: bool) -> dict[str, Any]:
    recording = run.recording
    return {
        "roots": [_root(root, content=content) for root in run.roots],
        "recorder": recording.recorder,
        "framework": recording.framework,
        "versions": dict(recording.versions),
        "signers": list(recording.signers),
        "statements": recording.statements,
        "sealed": recording.sealed,
        "hidden": recording.hidden,
        "computations": len(run.computations),
        "notes": list(recording.notes),
        "manifest": hashlib.sha256(run.document.raw).hexdigest(),
    }


def _root(root: Root, *, content: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": root.run_id,
        "name": root.name,
        "status": root.status,
        "started": root.started_at,
        "ended": root.ended_at,
        "first": root.steps[0] if root.steps else None,
    }
    if content:
        values |= {"question": root.question, "answer": root.answer}
    return _filled(values)


def _verdict(report: Report, *, content: bool) -> dict[str, Any]:
    said = report.as_json()
    if not content:  # a fault quotes the manifest
        said["faults"] = [{"check": f["check"], "code": f["code"], "message": "", "where": ""} for f in said["faults"]]
    return said


def _step(
    step: Step, pool: Pool, lanes: Mapping[str, tuple[int, str]], paths: Mapping[str, int], signers: dict[str, int]
) -> dict[str, Any]:
    lane = lanes.get(step.lane)
    return _filled(
        {
            "n": step.number,
            "k": str(step.kind),
            "name": pool.word(step.name),
            "agent": None if lane and lane[1] == step.agent else pool.word(step.agent),
            "lane": lane[0] if lane else None,
            "turn": step.turn,
            "st": None if step.status == "ok" else step.status or "not recorded",
            "at": None if step.started_at else step.timestamp,
            "s": step.started_at,
            "e": _beyond(step.started_at, step.ended_at),
            "m": [str(mark) for mark in step.marks],
            "f": [
                [paths.get(use.path, -1), use.version, pool.word(use.role), pool.word(use.evidence), pool.cid(use.cid)]
                for use in step.files
            ],
            "plan": step.wrote_plan,
            "asked": [step.asked_by.step, *([] if step.asked_by.how is How.SIGNED else [1])] if step.asked_by else None,
            "within": step.within,
            "call": step.call_id,
            "i": [pool.cid(cid) for cid in step.inputs],
            "o": [pool.cid(cid) for cid in step.outputs],
            "p": [_part(part, step.name, pool, signers) for part in step.parts],
        }
    )


def _part(part: Computation, name: str, pool: Pool, signers: dict[str, int]) -> list[Any]:
    own = pool.word("" if part.name == name else part.name)
    signer = signers.setdefault(part.signer, len(signers))
    return [part.id, pool.word(part.type), own, pool.sequence(part.sequence), *([signer] if signer else [])]


def _beyond(first: str, second: str) -> Any:
    """Say a second text by how much of its beginning is the first's, and the rest: times of a step are close."""
    shared = next((at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), None)
    if shared is None:
        shared = min(len(first), len(second))
    return [shared, second[shared:]] if second else None


def _detail(run: Run, step: Step, pool: Pool, prompts: dict[str, tuple[int, list[int]]]) -> dict[str, Any]:
    detail = run.detail(step)
    shown: dict[str, Any] = {"miss": list(detail.missing)}
    if step.kind is Kind.TURN:
        shown["q"] = _prompt(step, [pool.message(message) for message in detail.prompt], prompts)
        shown["a"] = [pool.message(message) for message in detail.answer]
        shown["use"] = dict(detail.usage)
        if detail.model is not None:
            shown["mod"] = pool.value(detail.model)
    if isinstance(detail.arguments, Mapping):
        shown["args"] = [[str(key), *pool.value(value)] for key, value in detail.arguments.items()]
    elif detail.arguments is not None:
        shown["args"] = [["", *pool.value(detail.arguments)]]
    if detail.output is not None:
        shown["out"] = pool.value(detail.output)
    if detail.source:
        shown["src"] = pool.text(detail.source)
    return _filled(shown)


def _prompt(step: Step, messages: list[int], prompts: dict[str, tuple[int, list[int]]]) -> list[Any]:
    """Say a prompt by what it adds to the lane's last one: a conversation's prompts are each other's beginnings.

    Returns:
        The lane's last turn (0: none), how many messages it begins with of that turn's prompt, and of the others the
        first and how many in a row, again and again.

    """
    number, before = prompts.get(step.lane, (0, []))
    shared = _shared(before, messages)
    prompts[step.lane] = (step.number, messages)
    rows: list[int] = []
    for message in messages[shared:]:
        if rows and message == rows[-2] + rows[-1]:
            rows[-1] += 1
        else:
            rows += [message, 1]
    return [number, shared, *rows]


def _shared(first: list[int], second: list[int]) -> int:
    if second[: len(first)] == first:
        return len(first)
    return next((at for at, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), len(second))


def _plan(revision: PlanRevision, pool: Pool, *, content: bool) -> dict[str, Any]:
    if content:
        items = [[item.status, pool.text(item.content)] for item in revision.items]
    else:  # a status of the user's own is text
        items = [[item.status if item.status in STATUSES else "other"] for item in revision.items]
    return _filled(
        {
            "n": revision.number,
            "cid": pool.cid(revision.cid) if revision.cid else None,
            "items": items,
            "wrote": revision.wrote,
            "agent": revision.agent,
            "before": revision.before,
            "withheld": revision.withheld,
        }
    )


def _hidden(run: Run) -> list[list[Any]]:
    """List the computations that are part of no step: said to be hidden, and shown when asked for."""
    shown = {part.id for step in run.steps for part in step.parts}
    return [[c.id, c.type, c.name, c.agent] for c in _ordered(run) if c.id not in shown]


def _ordered(run: Run) -> Iterable[Any]:
    computations = run.computations
    values = computations.values() if isinstance(computations, Mapping) else computations
    return sorted(values, key=lambda computation: computation.position)
