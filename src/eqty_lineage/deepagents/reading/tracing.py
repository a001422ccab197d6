"""What something came from, and what came of it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from eqty_lineage.deepagents.reading import naming
from eqty_lineage.deepagents.reading.answers import Graph, Link, Node, Reference, What
from eqty_lineage.deepagents.reading.linking import Found, Links, Place
from eqty_lineage.deepagents.reading.model import Cid, How, Kind, Version
from eqty_lineage.deepagents.reading.telling import sums_up, told

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

_LONGEST: Final = 200
"""Characters of a message in a label."""


def why(run: Run, reference: str | Reference | Version, depth: int | None = None) -> Graph:
    """Return what something came from.

    A version or a plan revision came from the step that wrote it; a step from the versions, revisions and results it
    took, the turn that asked for it, and its prompt, tool, model and agent. An input is the work of the latest
    computation before it that made it, so the graph has no cycles even where equal content was made twice. States of
    the frameworks are gone through and not shown. A link is signed if a computation has its end as an input or its
    start as an output, and inferred if a call's id says so.

    Args:
        run: The run.
        reference: What is asked about.
        depth: How many steps to go back; ``None``: to the beginning.

    Raises:
        UnknownReferenceError: The reference names nothing, or several things.

    """
    links = Links(run)
    root, starts = _root(run, links, naming.resolved(run, reference), down=False)

    def after(place: Place) -> list[Found]:
        if place.key != root.key:
            return links.before(place)
        found = {one.key: (one, how) for start in starts for one, how in links.before(start)}
        return list(found.values()) or _behind(run, links, root)

    return _walk(run, links, root, after, depth, "up")


def downstream(run: Run, reference: str | Reference | Version, depth: int | None = None) -> Graph:
    """Return what came of something: the links of :func:`why`, the other way round.

    Args:
        run: The run.
        reference: What is asked about.
        depth: How many steps to go on; ``None``: to the end.

    Raises:
        UnknownReferenceError: The reference names nothing, or several things.

    """
    links = Links(run)
    root, starts = _root(run, links, naming.resolved(run, reference), down=True)
    users: dict[str, list[Found]] = {}
    made: dict[str, Place] = {}
    for step in run.steps:
        place = links.of_step(step)
        for source, how in links.before(place):
            users.setdefault(source.key, []).append((place, how))
            made[source.key] = source
    for file in run.files.values():
        for version in file.versions:
            made |= {p.key: p for p in (links.of_version(version, writer) for writer in version.wrote)}
    made |= {p.key: p for p in map(links.of_plan, run.plan)}
    for place in made.values():
        if place.what is not What.STEP:
            for source, how in links.before(place):
                users.setdefault(source.key, []).append((place, how))

    def after(place: Place) -> list[Found]:
        keys = [start.key for start in starts] if place.key == root.key else [place.key]
        found = {one.key: (one, how) for key in keys for one, how in users.get(key, ())}
        if place.key == root.key and not found and root.cid is not None:
            using = (step for step in run.steps if any(root.cid in part.inputs for part in step.parts))
            found = {f"#{step.number}": (links.of_step(step), How.SIGNED) for step in using}
        return sorted(found.values(), key=lambda link: (link[0].rank, link[0].key))

    return _walk(run, links, root, after, depth, "down")


def _root(run: Run, links: Links, reference: Reference, *, down: bool) -> tuple[Place, list[Place]]:
    """Return the place that a reference names, and the places that it stands for: one for each step that made it."""
    if reference.step is not None:
        place = links.of_step(run.step(reference.step))
        return place, [place]
    if reference.version is not None:
        version = reference.version
        starts = [links.of_version(version, writer) for writer in version.wrote or (None,)]
        if down and version.wrote:
            starts.append(links.of_version(version, None))
        if len(version.wrote) <= 1:
            return starts[0], starts
        return replace(links.of_version(version, None), step=max(version.wrote)), starts
    if reference.plan is not None:
        place = links.of_plan(run.plan[reference.plan - 1])
        return place, [place]
    cid = reference.cid or Cid("")
    if cid in run.computations:
        return Place(cid, What.ENTITY, None, cid), []
    makers = [links.step_of[one.id] for one in run.statements.producers.get(cid, ()) if one.id in links.step_of]
    place = links.of_entity(cid, makers[-1] if makers else None)
    return place, [place]


def _behind(run: Run, links: Links, root: Place) -> list[Found]:
    """Return what stands behind what only hidden computations made, or behind a hidden computation itself."""
    if root.step is not None or root.cid is None:
        return []
    own = run.computations.get(root.cid)
    one = own or next(reversed(run.statements.producers.get(root.cid, ())), None)
    sources = (place for cid in (one.inputs if one else ()) for place in links.source(one, cid, None)) if one else ()
    return [(place, How.SIGNED) for place in {place.key: place for place in sources}.values()]


def _walk(  # noqa: PLR0913 - what is walked, from where, which way and how far
    run: Run,
    links: Links,
    root: Place,
    after: Callable[[Place], Iterable[Found]],
    depth: int | None,
    direction: Literal["up", "down"],
) -> Graph:
    """Follow links in the order of the run, backwards or forwards: what is met has been reached on every way there."""
    sign = -1 if direction == "up" else 1
    places = {root.key: root}
    far = {root.key: 0}
    waiting = [(float("-inf"), root.key)]
    found: list[Link] = []
    while waiting:
        _, key = heapq.heappop(waiting)
        for place, how in after(places[key]):
            steps = far[key] + (place.what is What.STEP)
            if place.key == root.key or (depth is not None and steps > depth):
                continue
            if place.key not in places:
                places[place.key] = place
                heapq.heappush(waiting, (sign * place.rank, place.key))
            far[place.key] = min(steps, far.get(place.key, steps))
            found.append(Link(key, place.key, how))
    nodes = {key: _node(run, links, place) for key, place in places.items()}
    return Graph(root=root.key, nodes=nodes, links=tuple(found), direction=direction)


def _node(run: Run, links: Links, place: Place) -> Node:
    label, reference = _label(run, links, place)
    label = " ".join(label.split())
    label = label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
    return Node(place.key, place.what, label, reference, place.step, place.cid)


def _label(run: Run, links: Links, place: Place) -> tuple[str, str]:
    if place.version is not None:
        version = place.version
        which = f"v{version.ordinal}" if version.exact else f"({version.evidence or 'not known exactly'})"
        return f"{version.path} {which}", naming.name(run, version)
    if place.plan is not None:
        return f"plan revision {place.plan}", f"plan@{place.plan}"
    if place.what is What.STEP and place.step is not None:
        step = run.steps[place.step - 1]
        turn = f"turn {step.turn} " if step.kind is Kind.TURN else ""
        failed = f" ({step.status})" if step.status not in {"", "ok"} else ""
        return f"#{step.number} {step.agent} {turn}{step.name}{failed}", f"#{step.number}"
    cid = place.cid or Cid("")
    if place.what is What.PROMPT:
        return _asked(run, links, cid), cid
    if place.what is What.GIVEN:
        return _given(run, cid), cid
    entity = run.entities.get(cid)
    one = run.computations.get(cid)
    names = entity.names if entity else (one.name,) if one else ()
    return (names[0] if names else cid), cid


def _asked(run: Run, links: Links, cid: Cid) -> str:
    """Return what a prompt says last in a person's name."""
    step = links.prompted.get(cid)
    if step is None:
        return "a prompt"
    if sums_up(step):
        return "the talk so far, to be summed up"
    return told(run, step) or "a prompt without a message by a person"


def _given(run: Run, cid: Cid) -> str:
    """Return what the person said when a run was called with a state."""
    roots = {step.root for step in run.steps if step.kind is Kind.RUN and cid in step.inputs}
    return next((root.question for root in run.roots if root.run_id in roots and root.question), "a run's first state")
