"""What the callbacks of chains say: graphs, nodes and agents begin and end.

A callback advances the tables from what the run did, lets the base handler's logic draft assets and computations, and
completes them; :mod:`observing` makes it one critical section and hands the drafts on.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from eqty_lineage.deepagents import agents, compaction, endings, offloads, prompts, results
from eqty_lineage.deepagents.endings import Ending
from eqty_lineage.deepagents.facts import AssetId, Gap, Status, Why
from eqty_lineage.deepagents.observing import observed
from eqty_lineage.deepagents.runs import Kind, OpenRun
from eqty_lineage.deepagents.saving import Saving
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from uuid import UUID

OF_AGENTS: Final = frozenset({"files", "todos", "skills_metadata"})
"""State keys by which a state shows that it is an agent's."""


class Chains(Saving):
    """The part of the handler that is told of chains."""

    @observed
    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a graph, node or subagent run; other chains are only remembered as links of the run tree."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "graph"
        run = self._open(Kind.CHAIN, str(name), run_id, parent_run_id, metadata)
        if run is None:
            return
        if not run.is_whole:
            self._enter_node(run, inputs)
        inputs = results.without_context(inputs)
        run.call = results.only_call(inputs)
        run.calls = results.calls_for(inputs)
        run.occurrence = _occurrence(run, run.call)
        # a root is announced to every class between; what is nested is the base's logic alone
        start = super().on_chain_start if run.parent is None else self.nested_chain_start
        with self._recording(run, Place.RUN_IN if run.is_whole else Place.NODE_IN) as frame:
            start(
                serialized or {},
                inputs,
                run_id=run_id,
                parent_run_id=run.parent_id,
                tags=tags,
                metadata=metadata,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)
            if run.starts_agent:
                self._link_subagent(run)
            if run.owns_state and isinstance(inputs, Mapping):
                self._release(run, frame)

    def _enter_node(self, run: OpenRun, inputs: Any) -> None:
        """Note what a node's input state says about its agent's lane, beyond what the extractors lift out."""
        lane = run.lane
        state = inputs if isinstance(inputs, Mapping) else {}
        if run.parent is not None and self._open_runs.get(lane.owner) is None and state.keys() & OF_AGENTS:
            lane.owner = run.parent.run_id
        run.owns_state = run.parent is not None and lane.owner == run.parent.run_id
        if run.owns_state and "messages" in state:
            lane.last_request = prompts.last_request(state["messages"]) or lane.last_request
            lane.message_count = len(state["messages"]) if isinstance(state["messages"], list) else None
            lane.cutoff = compaction.cutoff_in(state, offloads.EVENT)
            if "todos" not in state:
                lane.plan = None
            if "files" not in state:
                lane.files.show_none(run.step)

    def _link_subagent(self, run: OpenRun) -> None:
        agent = self._draft_agent(run)
        self.add_inputs(run.run_id, [agent])
        caller = next((around for around in run.ancestors() if around.kind is Kind.TOOL), None)
        if caller is not None and caller.lane is run.lane.parent:
            self.add_inputs(caller.run_id, [agent])
            task = [
                self.input_of(caller.run_id),
                caller.lane.asked_by(
                    caller.tool_call_id, functools.partial(prompts.mark_of_call, caller.name, caller.arguments)
                ),
            ]
            run.lane.delegated = [cid for cid in task if cid is not None]

    def _draft_agent(self, run: OpenRun) -> AssetId:
        payload = agents.agent_payload(
            run.lane.agent, run.metadata, self._caller_metadata(dict(run.metadata)), nested=run.parent is not None
        )
        return self.draft("Agent", payload, run.lane.agent, f"The {payload['role']} '{run.lane.agent}'.")

    @observed
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a graph, node or subagent run that ended."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        self._end_chain(run, outputs, kwargs)

    def _end_chain(self, run: OpenRun, outputs: Any, more: dict[str, Any]) -> None:
        if run.is_whole and (results.is_paused(outputs) or (run.parent is None and run.root.paused)):
            # a root that pauses ends like one that is done (langgraph 1.2.24)
            run.status = Status.INTERRUPTED
            run.root.paused = True
        with self._ending(run), self._recording(run, Place.RUN_OUT if run.is_whole else Place.NODE_OUT) as frame:
            if run.is_whole and run.recorded:
                self._complete_run(run)
            if not run.is_whole:
                self._note_saved(run, outputs, frame)
            super().on_chain_end(outputs, run_id=run.run_id, **more)
            self._withhold(run, frame)
            if run.is_whole:
                self._release(run, frame)

    def _complete_run(self, run: OpenRun) -> None:
        """Add what can only be told once a graph or agent has run."""
        if run.parent is None and (agents.is_agent(run.metadata) or run.lane.acted):
            self.add_inputs(run.run_id, [self._draft_agent(run)])
        for path, cid, data in run.offered:
            if run.lane.parent is not None and run.lane.parent.files.knows(path, cid) is not None:
                # a subagent is handed its caller's whole filesystem, and may have no use for one
                continue
            self.note_gap(run.root, Gap(Why.UNUSED_INPUT, path, run.lane.label))
            name, description = f"{path}: passed in, not taken up", "A file the graph did not keep."
            if self.memory.withholds(path, cid, data):
                given = self.draft_withheld("Dataset", cid, name, description)
            else:
                given = self.draft_bytes("Dataset", data, name, description)
            self.add_inputs(run.run_id, [given])
        run.offered.clear()

    @observed
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a graph, node or subagent run that raised; a pause is not recorded, it is resumed."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        command = endings.handed_over(error)
        if command is not None:
            self._end_chain(run, command, kwargs)
            return
        self._judge(run, error)
        with self._ending(run), self._recording(run, Place.ELSEWHERE) as frame:
            if run.recorded and run.is_whole and Ending.of(error) is not Ending.PAUSED:
                self._complete_run(run)
            super().on_chain_error(error, run_id=run_id, **kwargs)
            if run.is_whole:
                self._release(run, frame)


def _occurrence(run: OpenRun, call: str | None) -> str:
    """Name the place of a state in its run, the same in every run of one script."""
    if run.parent is None:
        return run.name
    step = run.step if run.step is not None else f"({run.parent.children})"
    return f"{run.lane.label}/{run.name} step {step}" + (f" [{call}]" if call else "")
