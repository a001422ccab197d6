"""Where things stand in the drawing: steps in order from left to right, a lane for each agent, a rail for each file.

One pass over the steps and their files; nothing is searched for. A subagent that was called several times keeps its
row unless two of its lanes ran at once. The drawing is cut into segments, so that a browser paints those it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.model import Kind, Step
from eqty_lineage.deepagents.reading.view.escape import html

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

SEGMENT: Final = 60
"""Steps of a segment."""
RAILS: Final = 120
"""Files that get a rail, those met first; the page's list of files has them all, and the drawing says so."""
COLOURS: Final = 8
TOP, ROW, RAIL, GAP = 34, 50, 28, 14
NAME: Final = 16
"""Characters of a tool's name that its box shows."""
PATH: Final = 21
"""Characters of a path that its rail shows: the last ones."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step stands: its left edge, its width, its row."""

    left: int
    width: int
    row: int

    @property
    def middle(self) -> int:
        """The middle, from left to right."""
        return self.left + self.width // 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing as SVG: the names of its rows, and its segments from left to right."""

    names: str
    segments: tuple[str, ...]
    left_out: int
    """Files without a rail."""


@dataclass(frozen=True, slots=True)
class _Row:
    agent: str
    colour: int
    first: bool


def draw(run: Run) -> Drawing:
    """Lay out a run and draw it."""
    return _Layout(run).drawing()


class _Layout:
    def __init__(self, run: Run) -> None:
        self.steps = list(run.steps)
        self.lanes = run.lanes
        self.numbers = {step.number: step for step in self.steps}
        self.rows, self.row_of = _rows(run)
        self.files = list(run.files.values())
        self.rails = {file.path: number for number, file in enumerate(self.files[:RAILS])}
        self.rail_top = TOP + ROW * len(self.rows) + GAP
        self.height = self.rail_top + RAIL * len(self.rails) + GAP
        self.places: dict[int, Place] = {}
        left = 12
        for step in self.steps:
            width = _width(step)
            self.places[step.number] = Place(left, width, self.row_of.get(step.lane, 0))
            left += width + 14
        self.width = left
        self.spans = self._spans()
        self.met, self.ends = self._uses()

    def _spans(self) -> dict[str, tuple[int, int]]:
        spans: dict[str, tuple[int, int]] = {}
        for step in self.steps:
            place = self.places[step.number]
            start, _ = spans.get(step.lane, (place.left, 0))
            spans[step.lane] = (start, place.left + place.width)
        return spans

    def _uses(self) -> tuple[dict[str, int], dict[str, int]]:
        met: dict[str, int] = {}
        ends: dict[str, int] = {}
        for step in self.steps:
            x = self.places[step.number].middle
            for use in step.files:
                met.setdefault(use.path, x)
                ends[use.path] = x
        for file in self.files:
            if not file.removed and file.path in met:
                ends[file.path] = self.width
        return met, ends

    def drawing(self) -> Drawing:
        segments = []
        left = 0
        for start in range(0, len(self.steps), SEGMENT):
            steps = self.steps[start : start + SEGMENT]
            after = start + SEGMENT
            right = self.places[self.steps[after].number].left - 7 if after < len(self.steps) else self.width + 12
            segments.append(self._segment(steps, left, right))
            left = right
        return Drawing(self._names(), tuple(segments), len(self.files) - len(self.rails))

    def _names(self) -> str:
        parts = [f'<svg class="names" width="176" height="{self.height}" role="presentation">']
        for number, row in enumerate(self.rows):
            y = self._y(number)
            if row.first:
                name = html(row.agent or "agent not recorded", 22)
                parts.append(
                    f'<circle class="dot c{row.colour}" cx="16" cy="{y}" r="5"/>'
                    f'<text class="agent" x="28" y="{y + 4}">{name}<title>{html(row.agent)}</title></text>'
                )
        for path, number in self.rails.items():
            shown = html(path if len(path) <= PATH else "…" + path[1 - PATH :])
            parts.append(
                f'<text class="path" x="28" y="{self._rail(number) + 4}">{shown}<title>{html(path)}</title></text>'
            )
        return "".join(parts) + "</svg>"

    def _segment(self, steps: list[Step], left: int, right: int) -> str:
        width = right - left
        parts = [
            f'<svg class="seg" width="{width}" height="{self.height}" viewBox="{left} 0 {width} {self.height}">',
            *self._lines(left, right),
        ]
        for step in steps:
            parts.extend(self._connections(step))
        for step in steps:
            parts.extend(self._handovers(step))
            parts.append(self._step(step))
            parts.extend(self._versions(step))
        return "".join(parts) + "</svg>"

    def _lines(self, left: int, right: int) -> Iterator[str]:
        for key, (start, end) in self.spans.items():
            if start < right and end > left:
                row = self.row_of.get(key, 0)
                y = self._y(row)
                yield f'<path class="lane c{self.rows[row].colour}" d="M{max(start, left)} {y}H{min(end, right)}"/>'
        rails = []
        for path, number in self.rails.items():
            start, end = self.met.get(path, right), self.ends.get(path, left)
            if start < right and end > left:
                rails.append(f"M{max(start, left)} {self._rail(number)}H{min(end, right)}")
        if rails:
            yield f'<path class="rail" d="{"".join(rails)}"/>'

    def _connections(self, step: Step) -> Iterator[str]:
        place = self.places[step.number]
        y = self._y(place.row) + 12
        for number, role in self._touched(step):
            kind = {"wrote": "w", "removed": "x"}.get(role, "r")
            yield f'<path class="use {kind}" data-s="{step.number}" d="M{place.middle} {y}V{self._rail(number)}"/>'

    def _touched(self, step: Step) -> list[tuple[int, str]]:
        """Each rail once: what was written also replaced something, and says more."""
        roles: dict[int, str] = {}
        rank = {"wrote": 3, "removed": 2, "read": 1}
        for use in step.files:
            number = self.rails.get(use.path)
            role = use.role if use.role in rank else "read"
            if number is not None and use.role != "replaced" and rank[role] > rank.get(roles.get(number, ""), 0):
                roles[number] = role
        return sorted(roles.items())

    def _versions(self, step: Step) -> Iterator[str]:
        x = self.places[step.number].middle
        drawn: set[int] = set()
        for use in step.files:
            number = self.rails.get(use.path)
            if number is None or use.role == "replaced":
                continue
            y = self._rail(number)
            if use.role == "wrote":
                name = f"v{use.version}" if use.version is not None else "?"
                width = 10 + 7 * len(name)
                yield (
                    f'<g class="ver"><rect x="{x - width // 2}" y="{y - 8}" width="{width}" height="16" rx="8"/>'
                    f'<text x="{x}" y="{y + 4}">{name}</text></g>'
                )
            elif use.role == "removed":
                yield f'<path class="gone" d="M{x - 4} {y - 4}l8 8m0 -8l-8 8"/>'
            elif number not in drawn and not any(u.path == use.path and u.role == "wrote" for u in step.files):
                drawn.add(number)
                yield f'<circle class="seen" cx="{x}" cy="{y}" r="3.5"/>'

    def _handovers(self, step: Step) -> Iterator[str]:
        lane = self.lanes.get(step.lane)
        place = self.places[step.number]
        if lane is None or lane.within is None or lane.within not in self.numbers:
            return
        caller = self.row_of.get(self.numbers[lane.within].lane, 0)
        if caller == place.row:
            return
        y, above = self._y(place.row), self._y(caller)
        colour = self.rows[place.row].colour
        if lane.steps and step.number == lane.steps[0]:
            x = place.left
            yield f'<path class="hand c{colour}" d="M{x - 10} {above}C{x - 2} {above} {x - 10} {y} {x} {y}"/>'
        if lane.steps and step.number == lane.steps[-1]:
            x = place.left + place.width
            yield f'<path class="hand c{colour}" d="M{x} {y}C{x + 10} {y} {x + 2} {above} {x + 10} {above}"/>'

    def _step(self, step: Step) -> str:
        place = self.places[step.number]
        x, y = place.left, self._y(place.row)
        kind = step.kind.value if step.kind in {Kind.TURN, Kind.TOOL} else "other"
        failed = " bad" if step.status == "error" else " paused" if step.status == "interrupted" else ""
        if step.kind is Kind.TURN:
            shape = (
                f'<circle cx="{place.middle}" cy="{y}" r="13"/>'
                f'<text x="{place.middle}" y="{y + 4}">{step.turn if step.turn is not None else "·"}</text>'
            )
        else:
            shape = (
                f'<rect x="{x}" y="{y - 12}" width="{place.width}" height="24" rx="5"/>'
                f'<text x="{place.middle}" y="{y + 4}">{html(step.name or str(step.kind), NAME)}</text>'
            )
        marks = f'<circle class="mark" cx="{x + place.width - 2}" cy="{y - 12}" r="4.5"/>' if step.marks else ""
        colour = self.rows[place.row].colour if self.rows else 0
        return (
            f'<a href="#step-{step.number}" class="s {kind} c{colour}{failed}">'
            f'<text class="num" x="{place.middle}" y="14">{step.number}</text>{shape}{marks}</a>'
        )

    def _y(self, row: int) -> int:
        return TOP + ROW * row + ROW // 2

    def _rail(self, number: int) -> int:
        return self.rail_top + RAIL * number + RAIL // 2


def _width(step: Step) -> int:
    return 26 if step.kind is Kind.TURN else 16 + 67 * min(len(step.name or str(step.kind)), NAME) // 10


def _rows(run: Run) -> tuple[list[_Row], dict[str, int]]:
    """Give each lane a row: the first of its agent's that no other lane is on at the time."""
    agents: dict[str, list[tuple[int, list[str]]]] = {}
    for lane in sorted(run.lanes.values(), key=lambda lane: lane.steps[0] if lane.steps else 0):
        first, last = (lane.steps[0], lane.steps[-1]) if lane.steps else (0, 0)
        rows = agents.setdefault(lane.agent, [])
        for number, (end, keys) in enumerate(rows):
            if end < first:
                keys.append(lane.key)
                rows[number] = (last, keys)
                break
        else:
            rows.append((last, [lane.key]))
    made: list[_Row] = []
    row_of: dict[str, int] = {}
    for colour, (agent, rows) in enumerate(agents.items()):
        for number, (_, keys) in enumerate(rows):
            row_of |= dict.fromkeys(keys, len(made))
            made.append(_Row(agent, colour % COLOURS, number == 0))
    return made or [_Row("", 0, first=True)], row_of
