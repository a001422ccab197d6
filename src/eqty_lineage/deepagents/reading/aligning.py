"""Which steps of two runs stand side by side: by lane, kind and name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.model import Kind, Lane, Step

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

Pair = tuple[int | None, int | None]

_PAIRS: Final = 4_000_000
"""Pairs of steps of one kind and name that are looked at; in longer lanes the n-th is put beside the n-th."""


class Order:
    """The lanes of a run under names that another run of the same script gives them too, with their steps in order.

    Lanes are checkpoint namespaces, which are random, and what runs in parallel begins and ends in any order. So a lane
    is named by the agents down to it and by its place among the calls that the model asked for, and so are calls.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked: dict[int, dict[str, int]] = {}
        self.name: dict[str, str] = {}
        """The name of each lane."""
        lanes = run.lanes
        counts: Counter[str] = Counter()
        for lane in sorted(lanes.values(), key=self._key):
            self._name(lane, lanes, counts)
        self.steps: dict[str, list[Step]] = {
            self.name[lane.key]: sorted((run.steps[n - 1] for n in lane.steps), key=self.place)
            for lane in lanes.values()
        }
        """The steps of each lane, by its name."""

    def place(self, step: Step) -> tuple[int, int, int]:
        """Return where a step stands in its lane: a call after the turn that asked for it, as it was asked for."""
        if step.kind is not Kind.TOOL or step.asked_by is None:
            return step.number, 0, 0
        calls = self._calls(step.asked_by.step)
        return step.asked_by.step, 1 + calls.get(step.call_id, len(calls)), step.number

    def _key(self, lane: Lane) -> tuple[int, tuple[int, int, int], int]:
        """Lanes in order of depth, so that what a lane is named after has its name; then as they were asked for."""
        depth, above, seen = 0, lane, {lane.key}
        while above.within is not None:
            above = self._run.lanes[self._run.steps[above.within - 1].lane]
            if above.key in seen:
                break
            seen.add(above.key)
            depth += 1
        started = self.place(self._run.steps[lane.within - 1]) if lane.within is not None else (0, 0, 0)
        return depth, started, lane.steps[0] if lane.steps else 0

    def _name(self, lane: Lane, lanes: Mapping[str, Lane], counts: Counter[str]) -> None:
        if lane.key == "":
            self.name[""] = ""
            return
        above = ""
        if lane.within is not None:
            above = self.name.get(lanes[self._run.steps[lane.within - 1].lane].key, "")
        name = f"{above}/{lane.agent}" if above else lane.agent
        counts[name] += 1
        self.name[lane.key] = name if counts[name] == 1 else f"{name} ({counts[name]})"

    def _calls(self, turn: int) -> Mapping[str, int]:
        if turn not in self._asked:
            answer = self._run.detail(turn).answer
            ids = [call.id for message in answer for call in message.calls]
            self._asked[turn] = {id_: at for at, id_ in reversed(list(enumerate(ids)))}
        return self._asked[turn]


def align(first: Order, second: Order) -> list[Pair]:
    """Return the steps of the first run beside those of the second, in the order of the first."""
    pairs: list[Pair] = []
    for name in dict.fromkeys([*first.steps, *second.steps]):
        pairs.extend(_beside(first.steps.get(name, []), second.steps.get(name, [])))
    ends = {other: one for one, other in pairs if one is not None and other is not None}
    latest = _latest_before(ends, [other for one, other in pairs if one is None and other is not None])
    return sorted(pairs, key=lambda pair: (pair[0], 0) if pair[0] is not None else (latest[pair[1] or 0], pair[1] or 0))


def _latest_before(ends: Mapping[int, int], wanted: Sequence[int]) -> dict[int, int]:
    """Return, for steps of the second run only, the latest step of the first beside one before them."""
    found: dict[int, int] = {}
    latest, known = 0, sorted(ends)
    at = 0
    for other in sorted(wanted):
        while at < len(known) and known[at] < other:
            latest = max(latest, ends[known[at]])
            at += 1
        found[other] = latest
    return found


def _beside(first: Sequence[Step], second: Sequence[Step]) -> list[Pair]:
    ours, theirs = [(one.kind, one.name) for one in first], [(one.kind, one.name) for one in second]
    many, other = Counter(ours), Counter(theirs)
    if ours == theirs:
        return [(one.number, two.number) for one, two in zip(first, second, strict=True)]
    if sum(count * other[key] for key, count in many.items()) > _PAIRS:
        return _in_turn(first, second)
    pairs: list[Pair] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs.extend((one.number, two.number) for one, two in zip(first[i1:i2], second[j1:j2], strict=True))
            continue
        pairs.extend((one.number, None) for one in first[i1:i2])
        pairs.extend((None, two.number) for two in second[j1:j2])
    return pairs


def _in_turn(first: Sequence[Step], second: Sequence[Step]) -> list[Pair]:
    waiting: dict[tuple[Kind, str], list[Step]] = {}
    for step in reversed(second):
        waiting.setdefault((step.kind, step.name), []).append(step)
    pairs: list[Pair] = []
    for step in first:
        same = waiting.get((step.kind, step.name))
        pairs.append((step.number, same.pop().number if same else None))
    pairs.extend((None, step.number) for steps in waiting.values() for step in steps)
    return pairs
