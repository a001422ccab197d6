"""The revisions of the plan: what it said, who wrote it, and what it replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import Document
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid, Computation, PlanItem, PlanRevision, Step
from eqty_lineage.deepagents.reading.statements import Statements

NAME: Final = "todo list"
"""What a revision of the plan is called (docs/manifest.md)."""


@dataclass(frozen=True, slots=True)
class _Written:
    cid: Cid
    by: Computation | None


class Plans:
    """The plan's revisions in a manifest, numbered in the order they were given or written."""

    def __init__(self, statements: Statements, document: Document) -> None:
        self._document = document
        self._statements = statements
        self._written = list(self._find())

    def _find(self) -> Iterator[_Written]:
        plans = {
            cid
            for cid, one in self._statements.entities.items()
            if any(said.get("name") == NAME and said.get("assetType") == "Dataset" for said in one.metadata)
        }
        known: set[Cid] = set()
        for one in self._statements.computations.values() if plans else ():
            for cid in one.inputs:
                if cid in plans and cid not in known:
                    known.add(cid)
                    yield _Written(cid, None)
            for cid in one.outputs:
                if cid in plans:
                    known.add(cid)
                    yield _Written(cid, one)

    @property
    def numbers(self) -> Mapping[Cid, int]:
        """The number of the revision that a computation made, by the computation's id."""
        return {one.by.id: at for at, one in enumerate(self._written, 1) if one.by}

    def revisions(self, steps: tuple[Step, ...]) -> Iterator[PlanRevision]:
        """Yield the revisions in order."""
        step_of = {part.id: step for step in steps for part in step.parts}
        number_of: dict[Cid, int] = {}
        for at, one in enumerate(self._written, 1):
            step = step_of.get(one.by.id) if one.by else None
            replaced = [number_of[cid] for cid in (one.by.inputs if one.by else ()) if cid in number_of]
            yield PlanRevision(
                number=at,
                cid=one.cid,
                items=tuple(self._items(one.cid)),
                wrote=step.number if step else None,
                agent=step.agent if step else "",
                lane=step.lane if step else "",
                before=max(replaced, default=None),
                withheld=self._statements.entities[one.cid].withheld,
            )
            number_of[one.cid] = at

    def _items(self, cid: Cid) -> Iterator[PlanItem]:
        try:
            items: Any = self._document.json(cid)
        except ReadingError:
            return
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield PlanItem(str(item.get("content", "")), str(item.get("status", "")))
