"""A recorded run, read from its manifest: the one object that all questions are put to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from eqty_lineage.deepagents.reading import (
    accounts,
    blaming,
    comparing,
    differing,
    grouping,
    lanes,
    mermaid,
    naming,
    notebook,
    tracing,
    turns,
)
from eqty_lineage.deepagents.reading.answers import Blame, Comparison, FileDiff, Graph, Reference
from eqty_lineage.deepagents.reading.asking import Asking
from eqty_lineage.deepagents.reading.details import Details
from eqty_lineage.deepagents.reading.document import Document, Source, load
from eqty_lineage.deepagents.reading.errors import ReadingError, UnknownReferenceError
from eqty_lineage.deepagents.reading.files import Files
from eqty_lineage.deepagents.reading.grouping import Group
from eqty_lineage.deepagents.reading.lanes import Places
from eqty_lineage.deepagents.reading.model import (
    Agent,
    Cid,
    Computation,
    Detail,
    Entity,
    File,
    Gap,
    Lane,
    PlanRevision,
    Recording,
    Root,
    Step,
    Version,
)
from eqty_lineage.deepagents.reading.plan import Plans
from eqty_lineage.deepagents.reading.statements import Statements
from eqty_lineage.deepagents.reading.steps import Known, number


def read(source: Source) -> Run:
    """Read a manifest.

    Args:
        source: A path (``str`` or ``Path``), the manifest itself as ``bytes``, or a file open for reading bytes.

    Returns:
        The run in it. Nothing is verified by reading; statements are looked at when something is asked of them.

    Raises:
        ReadingError: It cannot be read, is too large, or is no manifest.

    """
    return Run(load(source))


class Run:
    """A recorded run, made by :func:`read`. All that it gives is as stated in the manifest, and not verified.

    Every property and method raises :class:`ReadingError`, with the JSON path of the fault, if what it needs from the
    manifest has not the form that manifests have.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        """The manifest as written: unknown fields, and the original bytes."""

    def __repr__(self) -> str:
        return f"<Run: {len(self.steps)} steps, {len(self.files)} files, {len(self.document.statements)} statements>"

    # --- what is stated

    @cached_property
    def statements(self) -> Statements:
        """The statements, joined by what they are about."""
        return Statements(self.document)

    @property
    def computations(self) -> Mapping[Cid, Computation]:
        """Every computation by id, in order."""
        return self.statements.computations

    @property
    def entities(self) -> Mapping[Cid, Entity]:
        """Everything that is registered, used or made, by CID."""
        return self.statements.entities

    # --- what that means

    @cached_property
    def _turns(self) -> tuple[tuple[Computation, ...], ...]:
        return turns.fold(self.statements)

    @cached_property
    def _places(self) -> Places:
        return lanes.place(self.statements, self.document, self._turns)

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return grouping.fold(self.statements, self.document, self._turns)

    @cached_property
    def _asking(self) -> Asking:
        return Asking(self.statements, self.document, self._groups, self._places)

    @cached_property
    def _within(self) -> Mapping[str, int | None]:
        return self._asking.starters()

    @cached_property
    def _plans(self) -> Plans:
        return Plans(self.statements, self.document)

    @cached_property
    def _files(self) -> Files:
        return Files(self.statements, self._places, self.steps)

    @cached_property
    def _details(self) -> Details:
        return Details(self.statements, self.document)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What the run did, in order: ``steps[12]`` is ``#13``."""
        known = Known(
            places=self._places,
            asking=self._asking,
            within=self._within,
            revisions=self._plans.numbers,
            withheld={cid for cid, entity in self.entities.items() if entity.withheld},
            merged=any(one.type.startswith("agent") for one in self.computations.values()),
        )
        return tuple(number(self._groups, known))

    @cached_property
    def lanes(self) -> Mapping[str, Lane]:
        """The lanes by key: the root agent's first, then in the order they began."""
        return {lane.key: lane for lane in accounts.lanes(self._places, self.steps, self._within)}

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """The agents, in the order they began; those that never ran last."""
        return tuple(accounts.agents(self.statements, self.document, tuple(self.lanes.values())))

    @cached_property
    def files(self) -> Mapping[str, File]:
        """The files by path, in order of path."""
        return self._files.all()

    @cached_property
    def plan(self) -> tuple[PlanRevision, ...]:
        """The revisions of the plan, in order."""
        return tuple(self._plans.revisions(self.steps))

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """The calls of the agent, in order."""
        return tuple(accounts.roots(self.statements, self.steps, self.detail))

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What the run says that it could not record."""
        return tuple(accounts.gaps(self.statements, self.document))

    @cached_property
    def recording(self) -> Recording:
        """How the manifest came about, as it says itself."""
        return accounts.recording(self.statements, self.document, self.steps, self._places.notes)

    # --- looking up

    def step(self, number: int) -> Step:
        """Return a step by its number.

        Raises:
            UnknownReferenceError: There is none.

        """
        if not 1 <= number <= len(self.steps):
            raise UnknownReferenceError(f"there is no step #{number}; the last one is #{len(self.steps)}")
        return self.steps[number - 1]

    def detail(self, step: Step | int) -> Detail:
        """Return what a step was given and what it gave."""
        return self._details.of(self.step(step) if isinstance(step, int) else step)

    def content(self, cid: Cid) -> bytes | None:
        """Return the bytes of an entity; ``None`` if they are withheld, not in the manifest, or not readable."""
        entity = self.entities.get(cid)
        if entity is not None and entity.withheld:
            return None
        try:
            return self.document.blob(cid)
        except ReadingError:
            return None

    def text(self, version: Version) -> str | None:
        """Return the text of a version; ``None`` if it is no version exactly known, not there, or no UTF-8."""
        content = self.content(version.cid) if version.exact else None
        if content is None:
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def files_at(self, step: int | None = None, lane: str = "") -> Mapping[str, Version]:
        """Return the files as a lane knew them after a step (``None``: at the end), by path in order of path."""
        return self._files.at(step, lane)

    # --- asking

    def find(self, reference: str) -> Reference:
        """Return what a reference names: ``/report.md``, ``/report.md@2``, ``#13``, ``plan@1``, part of a CID.

        Raises:
            UnknownReferenceError: It names nothing, or several things; the message lists near misses or candidates.

        """
        return naming.find(self, reference)

    def why(self, reference: str | Reference | Version, depth: int | None = None) -> Graph:
        """Return what something came from, so many steps back (``None``: to the beginning)."""
        return tracing.why(self, reference, depth)

    def downstream(self, reference: str | Reference | Version, depth: int | None = None) -> Graph:
        """Return what came of something, so many steps on (``None``: to the end)."""
        return tracing.downstream(self, reference, depth)

    def blame(self, reference: str | Reference | Version) -> Blame:
        """Return which version, agent, tool call and model turn wrote each line of a version."""
        return blaming.blame(self, reference)

    def file_diff(self, before: str | Reference | Version, after: str | Reference | Version) -> FileDiff:
        """Return what differs between two versions."""
        return differing.file_diff(self, before, after)

    def diff(self, other: Run) -> Comparison:
        """Return what differs between this run and another one."""
        return comparing.compare(self, other)

    # --- showing

    def draw_mermaid(self) -> str:
        """Return the run as the text of a Mermaid flowchart."""
        return mermaid.draw(self)

    def _repr_html_(self) -> str:
        """Return the run as a notebook shows it: static, bounded, and not verified."""
        return notebook.html(self)
