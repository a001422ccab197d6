"""What each step took from outside, and from where: the links that ``why`` and ``downstream`` follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.answers import What
from eqty_lineage.deepagents.reading.model import Cid, Computation, How, Kind, PlanRevision, Step, Version
from eqty_lineage.deepagents.reading.naming import kind_of

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

_STATES: Final = (": input", ": output", ": input state", ": output state")
"""What the names of a framework's states, and of what calls were given and returned, end in."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node, before it is told what it says. The same place has one key, wherever it is met."""

    key: str
    what: What
    step: int | None = None
    """The step it is, or the step that made it."""
    cid: Cid | None = None
    version: Version | None = None
    plan: int | None = None

    @property
    def rank(self) -> float:
        """Its place in the order of the run. A link leads from a higher rank to a lower one, so there is no cycle."""
        if self.step is None:
            return 0
        return self.step + (0 if self.what is What.STEP else 0.5)


Found = tuple[Place, How]


class Links:
    """The links of a run, from what was made to what it was made from."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._statements = run.statements
        self.step_of = {part.id: step for step in run.steps for part in step.parts}
        self._versions: dict[tuple[str, int | None, Cid], Version] = {}
        self._with: dict[Cid, list[Version]] = {}
        for file in run.files.values():
            for one in file.versions:
                self._versions[one.path, one.ordinal, one.cid] = one
                self._with.setdefault(one.cid, []).append(one)
        self._plans: dict[Cid, list[PlanRevision]] = {}
        for revision in run.plan:
            self._plans.setdefault(revision.cid, []).append(revision)
        tops = [step.parts[-1] for step in run.steps if step.kind is Kind.RUN]
        self._given = {
            cid
            for one in tops
            for cid in one.inputs
            if cid not in self._statements.producers and f"{one.name}: input state" in run.entities[cid].names
        }
        self.prompted: dict[Cid, Step] = {}
        """The first turn that was given a prompt."""
        for step in reversed(run.steps):
            if step.kind is Kind.TURN:
                self.prompted |= dict.fromkeys(step.inputs, step)
        self._calls: dict[str, int] | None = None

    # --- places

    def of_step(self, step: Step) -> Place:
        """Return the place of a step."""
        return Place(f"#{step.number}", What.STEP, step.number)

    def of_version(self, version: Version, writer: int | None) -> Place:
        """Return the place of a version, as one step wrote it."""
        key = f"version {version.order} {version.path}" + (f" by #{writer}" if writer else "")
        return Place(key, What.VERSION, writer, version.cid, version)

    def of_plan(self, revision: PlanRevision) -> Place:
        """Return the place of a revision of the plan."""
        return Place(f"plan@{revision.number}", What.PLAN, revision.wrote, revision.cid, plan=revision.number)

    def of_entity(self, cid: Cid, maker: Step | None = None) -> Place:
        """Return the place of an entity, as one step made it; ``None`` if no step did."""
        what = What.GIVEN if cid in self._given else kind_of(self._run.entities[cid])
        return Place(cid + (f" by #{maker.number}" if maker else ""), what, maker.number if maker else None, cid)

    # --- links

    def before(self, place: Place) -> list[Found]:
        """Return what a place came from, what says most first; nothing twice."""
        found: dict[str, Found] = {}
        for one, how in self._before(place):
            if one.rank < place.rank and (one.key not in found or how is How.SIGNED):
                found[one.key] = (one, how)
        return sorted(found.values(), key=lambda link: (_order(link[0]), link[0].rank, link[0].key))

    def _before(self, place: Place) -> Iterator[Found]:
        if place.what is not What.STEP:
            if place.step is not None:
                step = self._run.steps[place.step - 1]
                made = any(place.cid in part.outputs for part in step.parts)
                yield self.of_step(step), How.SIGNED if made else How.INFERRED
            return
        step = self._run.steps[(place.step or 1) - 1]
        for part in step.parts:
            own = {cid for other in step.parts for cid in other.outputs}
            for cid in part.inputs:
                if cid not in own:
                    yield from ((one, How.SIGNED) for one in self.source(part, cid, step))
        if step.asked_by is not None:
            yield self.of_step(self._run.steps[step.asked_by.step - 1]), step.asked_by.how
        if step.kind is Kind.TURN and step.parts[0].lane is None:
            yield from self._answers_in_prompt(step)

    def _answers_in_prompt(self, step: Step) -> Iterator[Found]:
        """Yield the calls whose results a prompt shows, by their ids: older manifests do not say it otherwise."""
        if self._calls is None:
            self._calls = {one.call_id: one.number for one in reversed(self._run.steps) if one.call_id}
        for message in self._run.detail(step).prompt:
            at = self._calls.get(message.call_id) if message.call_id else None
            if at is not None and at < step.number:
                yield self.of_step(self._run.steps[at - 1]), How.INFERRED

    def source(self, one: Computation, cid: Cid, step: Step | None) -> list[Place]:
        """Return what stands for an input: its version or revision, the step that made it, or itself.

        What hidden computations made is gone through: it stands for the nearest steps, versions and revisions behind
        it. Beyond a turn or a call only other nodes are looked for: what a turn and a call took is theirs to tell.
        """
        found: list[Place] = []
        waiting: list[tuple[Computation, Cid, bool]] = [(one, cid, False)]
        seen: set[str] = set()
        while waiting:
            user, wanted, beyond = waiting.pop(0)
            places, hidden = self._nearest(user, wanted, step)
            found.extend(p for p in places if not beyond or self._is_node(p))
            if hidden is None or hidden.id in seen:
                continue
            seen.add(hidden.id)
            inner = [(hidden, other, self._nearest(hidden, other, step)[0]) for other in hidden.inputs]
            told = beyond or any(p.what is What.STEP and not self._is_node(p) for _, _, ps in inner for p in ps)
            stop = any(self._is_node(p) for _, _, ps in inner for p in ps)
            for user_, other, places_ in inner:
                if places_:
                    found.extend(p for p in places_ if not beyond or self._is_node(p))
                elif not stop:
                    waiting.append((user_, other, told))
        return list({p.key: p for p in found}.values())

    def _is_node(self, place: Place) -> bool:
        return place.what is What.STEP and self._run.steps[(place.step or 1) - 1].kind is Kind.NODE

    def _nearest(self, one: Computation, cid: Cid, step: Step | None) -> tuple[list[Place], Computation | None]:
        """Return what an input is; if a hidden computation made it and it says nothing of itself, that one."""
        maker = self._statements.producer(cid, one)
        by = self.step_of.get(maker.id) if maker else None
        versions = self._version(one, cid, maker)
        if versions:
            before = step.number if step else len(self._run.steps) + 1
            return [self.of_version(version, self._writer(version, by, before)) for version in versions], None
        if cid in self._plans:
            revisions = [r for r in self._plans[cid] if r.wrote == (by.number if by else None)]
            return [self.of_plan((revisions or self._plans[cid])[0])], None
        if by is not None:
            return [self.of_step(by) if step is None or by.number < step.number else self.of_entity(cid)], None
        if maker is not None:
            return [], maker
        entity = self._run.entities[cid]
        states = bool(entity.names) and all(name.endswith(_STATES) for name in entity.names)
        hidden = states and cid not in self._given and kind_of(entity) is What.ENTITY
        return ([] if hidden else [self.of_entity(cid)]), None

    def _version(self, one: Computation, cid: Cid, maker: Computation | None) -> list[Version]:
        uses = [use for use in one.files if use.cid == cid and use.role != "wrote"]
        uses = uses or [use for use in (maker.files if maker else ()) if use.cid == cid and use.role == "wrote"]
        known = list(dict.fromkeys(self._versions[use.path, use.version, use.cid] for use in uses))
        alone = self._with.get(cid, ())
        return known or (list(alone) if maker is None and len(alone) == 1 else [])

    @staticmethod
    def _writer(version: Version, by: Step | None, before: int) -> int | None:
        if by is not None and by.number in version.wrote:
            return by.number
        return max((number for number in version.wrote if number < before), default=None)


_FIRST: Final = (What.VERSION, What.PLAN, What.STEP, What.PROMPT, What.GIVEN, What.SKILL, What.ENTITY)


def _order(place: Place) -> int:
    return _FIRST.index(place.what) if place.what in _FIRST else len(_FIRST)
