"""Which runs are open, which root each belongs to, and whether two roots run at once.

A root run is one whose parent this handler did not see, of whatever kind. A root that was abandoned (a stream nobody
reads any more) looks open for good, and what it had begun may still end: it counts as running at the same time as
another only if it goes on after the other has started, by beginning a step or by coming to its own end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eqty_lineage.deepagents.facts import AssetId, Computation, FileUse, Gap, Status, Version
from eqty_lineage.deepagents.gaps import KEPT
from eqty_lineage.deepagents.transcripts import Messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eqty_lineage.deepagents.discretion.calls import Call
    from eqty_lineage.deepagents.filesystem.effects import Ticket
    from eqty_lineage.deepagents.lanes import Conversation, Lane
    from eqty_lineage.deepagents.offloads import Saved
    from eqty_lineage.deepagents.recent import Recent
    from eqty_lineage.deepagents.recording.jobs import Store
    from eqty_lineage.deepagents.recording.sdk import Target


class Kind(StrEnum):
    """What kind of callback a run came with."""

    CHAIN = "chain"
    MODEL = "model"
    TOOL = "tool"
    RETRIEVER = "retriever"


@dataclass(slots=True)
class Withheld:
    """A computation that is not recorded before the next state of its agent shows the files it saved."""

    computation: Computation
    expected: list[Saved]
    before: dict[str, Version]
    """The versions it replaces."""
    spoiled: set[str] = field(default_factory=set)
    """Files that another call may have changed before the state shows them."""


@dataclass(slots=True)
class Root:
    """One invocation: what all its runs share."""

    run_id: UUID
    conversation: Conversation
    target: Target
    store: Store
    registered: Recent[bytes, None]
    lost: Recent[AssetId, None]
    """Assets that could not be stored, in this run or an earlier one of the conversation in this context."""
    turn: int
    messages: Messages
    framework: str | None = None
    stored: set[AssetId] = field(default_factory=set)
    drafted_files: set[tuple[str, AssetId]] = field(default_factory=set)
    gaps: deque[Gap] = field(default_factory=lambda: deque(maxlen=KEPT))
    gap_count: int = 0
    unreadable: set[tuple[str, str]] = field(default_factory=set)
    """What was counted as unreadable already: a state shows it again at every node."""
    withheld: dict[str, list[Withheld]] = field(default_factory=dict)
    """By lane."""
    paused: bool = False
    overlapping: set[UUID] = field(default_factory=set)
    """Roots that started since this one last went on."""


@dataclass(slots=True)
class OpenRun:
    """One run between its start and its end."""

    run_id: UUID
    parent: OpenRun | None
    root: Root
    kind: Kind
    name: str
    lane: Lane
    metadata: Mapping[str, Any]
    started_at: str
    step: int | None = None
    occurrence: str = ""
    recorded: bool = False
    status: Status = Status.OK
    children: int = 0
    starts_agent: bool = False
    owns_state: bool = False
    """Whether this node's state is the state of the lane's agent, not of some graph called inside it."""
    asked: bool = False
    """Whether the model turn that asked for this tool call is known."""
    stopped: bool = False
    """Whether the caller went away: cancelled, or a stream nobody reads."""
    call: str | None = None
    """The one tool call this node was started for."""
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    """The tool calls this node is to run, as far as its input says."""
    withheld: Call | None = None
    """This tool call, if its result may show a withheld file."""
    ticket: Ticket | None = None
    arguments: Any = None
    tool_call_id: str | None = None
    input_cid: AssetId | None = None
    uses: list[FileUse] = field(default_factory=list)
    applied: dict[str, AssetId | None] = field(default_factory=dict)
    """For a node: the files, by path, and the plan (under ``todos``) that its tools changed: it will repeat them."""
    given: list[AssetId] = field(default_factory=list)
    """The skills and memory files this node's state held."""
    returned: dict[str, Any] = field(default_factory=dict)
    """For a node: what its tool calls returned, by their ids, until it ends."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What else its computation says."""
    offered: list[tuple[str, AssetId, bytes]] = field(default_factory=list)
    """Files the caller passed in, until the graph shows that it took them up."""

    @property
    def urn(self) -> str:
        """The run as an identifier in a statement."""
        return f"urn:uuid:{self.run_id}"

    @property
    def is_whole(self) -> bool:
        """Whether this is a root or an agent's run, and not a step of one."""
        return self.parent is None or self.starts_agent

    @property
    def parent_id(self) -> UUID | None:
        """The parent as the base handler is to see it: a root has none, whatever LangChain says."""
        return None if self.parent is None else self.parent.run_id

    def ancestors(self) -> Iterator[OpenRun]:
        """Return the runs this one is nested in, nearest first."""
        run = self.parent
        while run is not None:
            yield run
            run = run.parent

    def nearest_recorded(self) -> OpenRun | None:
        """Return the nearest run around this one that is a computation of its own."""
        return next((run for run in self.ancestors() if run.recorded), None)


class OpenRuns:
    """The runs between start and end, and the roots among them."""

    def __init__(self) -> None:
        """Start with none."""
        self._runs: dict[UUID, OpenRun] = {}
        self._roots: dict[UUID, OpenRun] = {}

    def get(self, run_id: UUID | None) -> OpenRun | None:
        """Return an open run."""
        return None if run_id is None else self._runs.get(run_id)

    def find(self, run_id: object) -> OpenRun | None:
        """Return an open run by whatever a callback gave for its id."""
        return self._runs.get(run_id) if isinstance(run_id, UUID) else None

    def around(self, namespace: object) -> OpenRun | None:
        """Return the innermost open run with a checkpoint namespace, which is unique to one task of one graph."""
        if not isinstance(namespace, str) or not namespace:
            return None
        named = [run for run in self._runs.values() if run.metadata.get("langgraph_checkpoint_ns") == namespace]
        return named[-1] if named else None

    def only_tool_in(self, node: OpenRun) -> OpenRun | None:
        """Return the tool run that is open directly in a node, if it is one."""
        tools = [run for run in self._runs.values() if run.parent is node and run.kind is Kind.TOOL]
        return tools[0] if len(tools) == 1 else None

    @property
    def roots(self) -> int:
        """How many roots are open."""
        return len(self._roots)

    def add(self, run: OpenRun) -> int:
        """Open a run. Return how many roots are running at once, if that has just shown to be more than one."""
        self._runs[run.run_id] = run
        if run.parent is not None:
            run.parent.children += 1
            is_step = run.parent.parent is None and run.kind is Kind.CHAIN
            return self.goes_on(run.root) if is_step else 0
        for other in self._roots.values():
            other.root.overlapping.add(run.run_id)
        self._roots[run.run_id] = run
        return 0

    def goes_on(self, root: Root) -> int:
        """Note that a root went on. Return how many roots were running at once, if more than one."""
        if not root.overlapping:
            return 0
        seen = 1 + len(root.overlapping)
        root.overlapping.clear()
        return seen

    def remove(self, run: OpenRun) -> None:
        """Close a run."""
        self._runs.pop(run.run_id, None)
        self._roots.pop(run.run_id, None)

    def only_models(self) -> bool:
        """Return whether something is open, and nothing is done but by models."""
        around = {run.parent.run_id for run in self._runs.values() if run.parent is not None}
        innermost = [run for run_id, run in self._runs.items() if run_id not in around]
        return bool(innermost) and all(run.kind is Kind.MODEL for run in innermost)

    def left_open(self, root: Root) -> list[OpenRun]:
        """Return the runs of a root that never ended."""
        return [run for run in self._runs.values() if run.root is root]
