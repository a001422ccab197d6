"""Which model turn asked for which tool call, and by which call a lane was started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eqty_lineage.deepagents.reading.document import Document
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.grouping import Group
from eqty_lineage.deepagents.reading.lanes import ROOT, Places
from eqty_lineage.deepagents.reading.model import Asker, Cid, Computation, How, Kind
from eqty_lineage.deepagents.reading.statements import Statements


class Asking:
    """Who asked for what, in groups that are numbered from 1."""

    def __init__(self, statements: Statements, document: Document, groups: Sequence[Group], places: Places) -> None:
        self._statements = statements
        self._document = document
        self._groups = groups
        self._places = places
        self._step_of = {part.id: at for at, group in enumerate(groups, 1) for part in group.parts}
        self._turn_for: dict[str, list[int]] | None = None

    def asker(self, at: int) -> Asker | None:
        """Return the turn that asked for a tool call: by its response, which the call has as an input, else by id."""
        group = self._groups[at - 1]
        if group.kind is not Kind.TOOL:
            return None
        for cid in group.first.inputs:
            maker = self._statements.producer(cid, group.first)
            step = self._step_of.get(maker.id) if maker else None
            if step and self._groups[step - 1].kind is Kind.TURN and self._is_response(cid):
                return Asker(step, How.SIGNED)
        call_id = self.call_id(group)
        before = [step for step in self._turns_asking().get(call_id, ()) if step < at] if call_id else []
        return Asker(before[-1], How.INFERRED) if before else None

    def call_id(self, group: Group) -> str:
        """Return the id of a tool call, as recorded, else as its result says; ``""`` if neither does."""
        first = group.first
        if first.call_id or group.kind is not Kind.TOOL:
            return first.call_id
        return next((id_ for cid in first.outputs for id_ in _answered(self._json(cid))), "")

    def starters(self) -> Mapping[str, int | None]:
        """Return, for each lane, the step in whose course it ran: the nearest run above it that is a tool call."""
        by_run: dict[str, Computation] = {}
        for one in self._statements.computations.values():
            if one.run_id and one.id in self._step_of and self._groups[self._step_of[one.id] - 1].kind is Kind.TOOL:
                by_run[one.run_id] = one
        above = {one.run_id: one.parent_run_id for one in self._statements.computations.values() if one.run_id}
        found: dict[str, int | None] = dict.fromkeys(self._places.agent)
        for one in self._statements.computations.values():
            lane = self._places.lane[one.id]
            if lane == ROOT or found[lane] is not None:
                continue
            seen: set[str] = set()
            run = one.parent_run_id
            while run and run not in seen:
                seen.add(run)
                if run in by_run and self._places.lane[by_run[run].id] != lane:
                    found[lane] = self._step_of[by_run[run].id]
                    break
                run = above.get(run, "")
        return found

    def _is_response(self, cid: Cid) -> bool:
        return any(one.get("assetType") == "Reasoning" for one in self._statements.metadata(cid))

    def _turns_asking(self) -> dict[str, list[int]]:
        """Return the turns that asked for a call, by the call's id."""
        if self._turn_for is None:
            self._turn_for = {}
            for at, group in enumerate(self._groups, 1):
                if group.kind is Kind.TURN:
                    for id_ in {id_ for part in group.parts for cid in part.outputs for id_ in _asked(self._json(cid))}:
                        self._turn_for.setdefault(id_, []).append(at)
        return self._turn_for

    def _json(self, cid: Cid) -> Any:
        try:
            return self._document.json(cid)
        except ReadingError:
            return None


def _asked(payload: Any) -> Iterator[str]:
    """Yield the ids of the calls in a response."""
    messages = payload.get("generations") if isinstance(payload, dict) else payload
    for message in messages if isinstance(messages, list) else ():
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                yield call["id"]


def _answered(payload: Any) -> Iterator[str]:
    """Yield the ids of the calls that a tool's result answers: it is a message, or an update with messages."""
    waiting = [payload]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            if value.get("role") == "tool" or value.get("type") == "tool":
                id_ = value.get("tool_call_id")
                if isinstance(id_, str):
                    yield id_
            waiting.extend(value[key] for key in ("messages", "update", "command", "result") if key in value)
