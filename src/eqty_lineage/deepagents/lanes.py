"""Which conversation and which agent's lane a run belongs to, and what is remembered for each.

A conversation is a ``thread_id``, or the handler itself where there is none; its turns share what is remembered. A
lane is the root agent (``""``) or one subagent execution, keyed by its checkpoint namespace, which is stable across a
pause and its resumption. Each lane has its own plan and its own view of the filesystem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

from eqty_lineage.deepagents.discretion.walk import Discretion
from eqty_lineage.deepagents.facts import AssetId, PlanRevision, Version
from eqty_lineage.deepagents.filesystem.effects import CidOf
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.versions import LaneFiles
from eqty_lineage.deepagents.filesystem.watched import WatchedFiles
from eqty_lineage.deepagents.recent import Recent
from eqty_lineage.deepagents.transcripts import Transcript

NAMESPACE: Final = "langgraph_checkpoint_ns"
ROOT_LANE: Final = ""
CONTEXTS: Final = 8
REGISTERED: Final = 10_000
"""Assets remembered as registered, for each context of a conversation."""
SUMMARIES: Final = 100
BRANCHES: Final = 8
"""Calls of one id that are told apart."""
CALLS: Final = 5_000
"""Tool calls a lane remembers: more than any prompt shows."""


class Calls:
    """An asset for each tool call, by its id, and by what marks it where branches of a thread share an id."""

    def __init__(self) -> None:
        """Start with none."""
        self._calls: Recent[str, dict[str, AssetId]] = Recent(CALLS)

    def note(self, call_id: str, mark: str, asset: AssetId) -> None:
        """Remember an asset as the latest of a call."""
        known = self._calls.setdefault(call_id, {})
        known.pop(mark, None)
        known[mark] = asset
        while len(known) > BRANCHES:
            del known[next(iter(known))]

    def find(self, call_id: str, mark: Callable[[], str]) -> AssetId | None:
        """Return the only asset of a call, or of several the one that ``mark`` tells; asked for, it hashes content."""
        known = self._calls.get(call_id, {})
        return known.get(mark()) if len(known) > 1 else next(iter(known.values()), None)


class Lane:
    """What is remembered for one agent: its files, its plan, and who asked for which tool call."""

    def __init__(self, key: str, agent: str, label: str, files: LaneFiles, parent: Lane | None = None) -> None:
        """Start a lane; ``label`` names it the same way in every run of one script, which ``key`` does not."""
        self.key = key
        self.agent = agent
        self.label = label
        self.files = files
        self.parent = parent
        self.plan: PlanRevision | None = None
        self.asked = Calls()
        """The responses of the model turns that asked for tool calls."""
        self.results = Calls()
        """The outputs of tool calls."""
        self.shown: frozenset[str] = frozenset()
        """The tool calls whose results stood in the prompt of this agent's latest turn."""
        self.renderings: Recent[str, tuple[AssetId, str | None]] = Recent(CALLS)
        """By path: what the latest read returned of a file never seen exactly, and the id of that call."""
        self.remote: Recent[str, AssetId] = Recent(CALLS)
        """By id: the latest revision of what is known of a task that runs elsewhere."""
        self.memory: dict[str, Version] = {}
        """By path: the memory files that this agent's turns are given."""
        self.edits: Recent[str, AssetId] = Recent(CALLS)
        """By path: the latest edit of a file never seen exactly."""
        self.saved: Recent[str, AssetId] = Recent(CALLS)
        """By path: what is known of a file that was saved there and whose bytes are not known."""
        self.fresh: list[Version] = []
        """What the latest state showed for the first time."""
        self.message_count: int | None = None
        """How many messages this agent's state has, if that is known."""
        self.cutoff = 0
        """How many of them its last compaction dropped."""
        self.summaries: Recent[str, AssetId] = Recent(SUMMARIES)
        """By what marks each: the answers that were to sum up the talk so far."""
        self.delegated: list[AssetId] = []
        """The task that started this lane and the response that asked for it, until its first turn has used them."""
        self.acted = False
        """Whether a tool call that a model turn asked for has run: the sign of an agent where no name is given."""
        self.has_file_tools = False
        """Whether a file tool was called: then a ``files`` of plain strings (0.0.x) is a filesystem too."""
        self.returns_files = False
        """Whether a file tool returned what it wrote, as the state's backend has them do up to 0.4.12."""
        self.named: str | None = None
        """The ``lc_agent_name`` that this agent's runs carry."""
        self.owner: UUID | None = None
        """The graph run whose nodes' states are this agent's."""
        self.running = False
        self.last_request: Any = None
        """The last message in this lane's state that asks for tool calls."""
        self.transcript: Transcript | None = None
        """The messages this agent's last state showed."""
        self._revisions = 0

    def revise(self, cid: AssetId, open_items: int) -> PlanRevision:
        """Make this the lane's current plan and return it."""
        self._revisions += 1
        self.plan = PlanRevision(self._revisions, cid, open_items)
        return self.plan

    def asked_by(self, tool_call_id: str | None, mark: Callable[[], str]) -> AssetId | None:
        """Return the response of the model turn that asked for a tool call, if this lane saw it."""
        return None if tool_call_id is None else self.asked.find(tool_call_id, mark)

    def forget_saved(self, path: str | None) -> None:
        """Forget what is known of a file that was saved at ``path``, or of all of them: it may hold something else."""
        for lane in self._with_callers():
            if path is None:
                lane.saved.clear()
            else:
                lane.saved.pop(path, None)

    def saved_at(self, path: str) -> AssetId | None:
        """Return what is known of a file that this agent, or one that called it, saved at ``path``."""
        return next((lane.saved[path] for lane in self._with_callers() if path in lane.saved), None)

    def result_of(self, tool_call_id: str, mark: Callable[[], str]) -> AssetId | None:
        """Return a tool call's output; a forked subagent's prompt also shows its parents' results."""
        found = (lane.results.find(tool_call_id, mark) for lane in self._with_callers())
        return next((result for result in found if result is not None), None)

    def _with_callers(self) -> Iterator[Lane]:
        """Return this lane and those that called it, nearest first."""
        lane: Lane | None = self
        while lane is not None:
            yield lane
            lane = lane.parent


class Conversation:
    """What the turns of one conversation share."""

    def __init__(self, cid_of: CidOf, discretion: Discretion, *, witnessed: bool = False) -> None:
        """Start with the root agent's lane alone.

        ``discretion`` says what of the conversation is stored, ``witnessed`` whether there is somebody to ask what its
        files hold.
        """
        self.discretion = discretion
        self.told_of_lines = False
        """Whether a gap says that more lines are withheld than are looked for."""
        self._shared = WatchedFiles(cid_of) if witnessed else SharedFiles(cid_of)
        self.lanes: dict[str, Lane] = {ROOT_LANE: Lane(ROOT_LANE, "", "", LaneFiles(self._shared, cid_of))}
        self.registered: Recent[Any, Recent[bytes, None]] = Recent(CONTEXTS)
        """By context: what lasts from run to run and need not be registered again."""
        self.lost: Recent[Any, Recent[AssetId, None]] = Recent(CONTEXTS)
        """By context: what could not be registered, so that a later turn does not refer to it."""
        self.turns = 0
        self.open_runs = 0
        self.path_versions: dict[Any, Any] = {}
        self.path_latest: dict[str, Any] = {}

    @property
    def root(self) -> Lane:
        """The root agent's lane."""
        return self.lanes[ROOT_LANE]

    def enter(self, key: str, agent: str, caller: Lane, call: str, *, same_backend: bool) -> Lane:
        """Return the lane of a subagent: the one a pause left, or a new one forked from its caller's.

        ``call`` is the delegating call's id; it tells two subagents of one name apart in the label. ``same_backend``
        says whether it is known to have its caller's.
        """
        while (lane := self.lanes.get(key)) is not None and lane.running:
            # another agent runs under the same namespace: two agents called by one tool at once
            key += "'"
        if lane is None:
            label = f"{caller.label}/{agent}[{call}]" if call else f"{caller.label}/{agent}"
            lane = Lane(key, agent, label, caller.files.fork(same_backend=same_backend), caller)
            lane.has_file_tools = caller.has_file_tools
            lane.returns_files = caller.returns_files
            self.lanes[key] = lane
        lane.running = True
        return lane

    def leave(self, lane: Lane) -> None:
        """Close a subagent's lane: its run is over, and its caller may be handed its files."""
        if lane.parent is not None:
            lane.parent.files.give_back(lane.files)
            if lane.files.shared is not lane.parent.files.shared:
                lane.files.shared.close()
            self.lanes.pop(lane.key, None)

    def rest(self, *, paused: bool) -> None:
        """Drop what only an open run needs. A paused run keeps its subagents' lanes for the resumption."""
        self._shared.rest()
        if not paused:
            self.lanes = {ROOT_LANE: self.root}
            self._shared.together.files[:] = [self._shared]
        for lane in self.lanes.values():
            lane.files.rest()
            lane.last_request = None
            lane.fresh = []
            lane.shown = frozenset()
            lane.memory = {}
            lane.edits = Recent(CALLS)
