"""Which computations are one step: a turn, a tool call, and what else a run did that must not be overlooked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from eqty_lineage.deepagents.reading.document import Document
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Computation, Kind
from eqty_lineage.deepagents.reading.statements import FAILED, Statements
from eqty_lineage.deepagents.reading.turns import is_part_of_turn

_KINDS: Final = {
    "tool": Kind.TOOL,
    "retriever": Kind.RETRIEVAL,
    "graph_node": Kind.NODE,
    "agent": Kind.AGENT,
    "graph": Kind.RUN,
}
_PLUMBING: Final = {"model", "tools", "agent", "call_model", "model_request", "__start__", "__end__"}
"""Nodes of the frameworks' own agents (langgraph ``create_react_agent``, langchain ``create_agent``)."""
_HOOK: Final = re.compile(r".+\.(before|after)_(agent|model)")
"""A middleware's hook, which is a node of its own (langchain 1.0 and newer)."""
_FRAMEWORK: Final = re.compile(
    r"_?(TodoList|Planning|Filesystem|SubAgent|Summarization|PatchToolCalls|Skills|Memory|AnthropicPromptCaching"
    r"|ParentNotifier|AsyncSubAgent|CompactConversation|ToolRetry|ModelRetry|LLMToolSelector|ContextEditing)\w*Middleware"
)
"""Middleware of deepagents 0.7 and langchain 1.x whose updates are the frameworks' own housekeeping."""
_CHANGED: Final = {"wrote", "replaced", "removed"}


@dataclass(frozen=True, slots=True)
class Group:
    """The computations of one step, before it has its number."""

    kind: Kind
    parts: tuple[Computation, ...]

    @property
    def first(self) -> Computation:
        """The one that gives the step its place."""
        return self.parts[0]


def fold(statements: Statements, document: Document, turns: Iterable[tuple[Computation, ...]]) -> tuple[Group, ...]:
    """Return the groups of computations that are steps, in order; a computation in none of them is plumbing."""
    groups = [Group(Kind.TURN, turn) for turn in turns]
    ones = statements.computations.values()
    runs: dict[str, list[Computation]] = {}
    for one in ones:
        if one.run_id:
            runs.setdefault(one.run_id, []).append(one)
    nodes: list[Computation] = []
    for one in ones:
        if is_part_of_turn(one):
            continue
        kind = _KINDS.get(one.type.removesuffix(FAILED), Kind.OTHER)
        if kind in {Kind.TOOL, Kind.RETRIEVAL, Kind.OTHER} or (kind is Kind.RUN and not one.parent_run_id):
            groups.append(Group(kind, (one,)))
        else:
            nodes.append(one)
    shown = {(part.run_id, part.status) for group in groups for part in group.parts if part.run_id}
    told = _told_within(groups, runs)
    for one in nodes:
        kind = _KINDS[one.type.removesuffix(FAILED)]
        if kind is Kind.NODE:
            worth = _says_something(one, document, told)
        else:
            called = (one.parent_run_id, one.status) in shown  # the call that started it stands for it
            worth = not called and not any(p.type.startswith("tool") for p in runs.get(one.parent_run_id, ()))
        if worth:
            groups.append(Group(Kind.AGENT if kind is Kind.RUN else kind, (one,)))
    return tuple(sorted(groups, key=lambda group: group.first.position))


def _told_within(groups: Iterable[Group], runs: Mapping[str, list[Computation]]) -> set[tuple[str, str]]:
    """Return which runs have a step within them that tells of an ending already, with the ending."""
    told: set[tuple[str, str]] = set()
    for group in groups:
        for part in group.parts:
            above = part.parent_run_id
            while part.status not in {"", "ok"} and above and (above, part.status) not in told:
                told.add((above, part.status))
                above = next((one.parent_run_id for one in runs.get(above, ())), "")
    return told


def _says_something(one: Computation, document: Document, told: set[tuple[str, str]]) -> bool:
    if one.status not in {"", "ok"}:
        return (one.run_id, one.status) not in told
    if "compaction" in one.metadata or any(use.role in _CHANGED for use in one.files):
        return True
    if one.name in _PLUMBING:
        return False
    if _HOOK.fullmatch(one.name):
        return not _FRAMEWORK.match(one.name) and not _changed_nothing(one, document)
    return True


def _changed_nothing(one: Computation, document: Document) -> bool:
    """Whether all that a node left was an update of nothing."""
    for cid in one.outputs:
        try:
            left = document.json(cid)
        except ReadingError:
            return False
        if not isinstance(left, dict) or left.get("state_update", left) is not None:
            return False
    return True
