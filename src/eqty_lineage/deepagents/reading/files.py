"""The versions of each file: who made, read and replaced them, and which one a path held when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from eqty_lineage.deepagents.reading.lanes import ROOT, Places
from eqty_lineage.deepagents.reading.model import Cid, Computation, Entity, File, FileUse, Step, Version
from eqty_lineage.deepagents.reading.statements import Statements

Key = tuple[str, int | None, Cid]
"""A version: its path, its ordinal and its bytes."""


@dataclass(slots=True)
class _Seen:
    use: FileUse
    order: int
    steps: dict[str, list[int]] = field(default_factory=dict)
    lanes: dict[str, None] = field(default_factory=dict)

    def by(self, role: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.steps.get(role, ())))


@dataclass(frozen=True, slots=True)
class _Event:
    """Something that changed what is known of a path."""

    step: int
    """The step that did it; of plumbing, the one after which it ran."""
    lane: str
    key: Key
    role: str


class Files:
    """The files of a run."""

    def __init__(self, statements: Statements, places: Places, steps: tuple[Step, ...]) -> None:
        self._entities: Mapping[Cid, Entity] = statements.entities
        self._places = places
        self._step_of = {part.id: step.number for step in steps for part in step.parts}
        self._seen: dict[Key, _Seen] = {}
        self._events: list[_Event] = []
        self._latest = 0
        orders: dict[str, int] = {}
        for one in statements.computations.values():
            for use in one.files:
                self._note(one, use, orders)
        self._first: dict[tuple[str, Cid], _Seen] = {}
        for (path, ordinal, cid), seen in self._seen.items():
            if ordinal is not None:
                self._first.setdefault((path, cid), seen)
        self.versions: Mapping[Key, Version] = {key: self._version(key, seen) for key, seen in self._seen.items()}
        """Every version, in the order first met."""

    def _note(self, one: Computation, use: FileUse, orders: dict[str, int]) -> None:
        key = (use.path, use.version, use.cid)
        step = self._step_of.get(one.id)
        self._latest = max(self._latest, step or 0)
        lane = self._places.lane[one.id]
        if key not in self._seen:
            orders[use.path] = orders.get(use.path, 0) + 1
            self._seen[key] = _Seen(use, orders[use.path])
        seen = self._seen[key]
        if step is not None:
            seen.steps.setdefault(use.role, []).append(step)
        seen.lanes.setdefault(lane)
        self._events.append(_Event(step or self._latest, lane, key, use.role))

    def _version(self, key: Key, seen: _Seen) -> Version:
        path, ordinal, cid = key
        entity = self._entities.get(cid)
        earliest = self._first.get((path, cid), seen)
        return Version(
            path=path,
            cid=cid,
            ordinal=ordinal,
            evidence=seen.use.evidence,
            order=seen.order,
            wrote=seen.by("wrote"),
            read=seen.by("read"),
            replaced=seen.by("replaced"),
            removed=seen.by("removed"),
            lanes=tuple(seen.lanes),
            size=entity.size if entity else None,
            withheld=bool(entity and entity.withheld),
            restores=earliest.use.version if earliest.order < seen.order and ordinal is not None else None,
        )

    def all(self) -> Mapping[str, File]:
        """Return the files by path, in order of path."""
        by_path: dict[str, list[Version]] = {}
        for version in self.versions.values():
            by_path.setdefault(version.path, []).append(version)
        last, removed = self._known(None, ROOT)
        return MappingProxyType(
            {
                path: File(path, tuple(by_path[path]), last.get(path), removed=path in removed)
                for path in sorted(by_path)
            }
        )

    def at(self, step: int | None, lane: str) -> Mapping[str, Version]:
        """Return the files as a lane knew them after a step (``None``: at the end), by path."""
        return MappingProxyType(dict(sorted(self._known(step, lane)[0].items())))

    def _known(self, step: int | None, lane: str) -> tuple[dict[str, Version], set[str]]:
        """Follow what was written, found and removed.

        What one lane writes counts for all: a subagent's files go to its caller, files outside state are everyone's.
        What a lane *finds* counts for itself, and for others only where nothing was known: it may be of an older state.
        A read tells only where nothing was known.
        """
        known: dict[str, Version] = {}
        removed: set[str] = set()
        for event in self._events:
            if step is not None and event.step > step:
                continue
            path = event.key[0]
            if event.role == "removed":
                known.pop(path, None)
                removed.add(path)
            elif event.role == "wrote" or (event.role == "present" and event.lane == lane):
                known[path] = self.versions[event.key]
                removed.discard(path)
            elif event.role in {"present", "read"} and path not in known and path not in removed:
                known[path] = self.versions[event.key]
        return known, removed
