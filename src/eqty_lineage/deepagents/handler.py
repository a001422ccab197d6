"""``EqtyDeepAgentsHandler``: what each callback says about a deep agent's run.

A callback advances the tables from what the run did, lets the base handler's logic draft assets and computations, and
completes them; :mod:`observing` makes it one critical section and hands the drafts on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from eqty_lineage.deepagents import agents, compaction, endings, file_effects, offloads, prompts, results
from eqty_lineage.deepagents.drafting import Frame, ids
from eqty_lineage.deepagents.endings import Ending
from eqty_lineage.deepagents.facts import AssetId, Gap, Status, Why
from eqty_lineage.deepagents.filesystem import reconstruction
from eqty_lineage.deepagents.filesystem.effects import Unknown
from eqty_lineage.deepagents.filesystem.reconstruction import FILE_TOOLS, Failed
from eqty_lineage.deepagents.observing import observed
from eqty_lineage.deepagents.payloads import plain
from eqty_lineage.deepagents.runs import Kind, OpenRun
from eqty_lineage.deepagents.saving import Saving
from eqty_lineage.deepagents.sinks import Place, StateSink

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.outputs import LLMResult

_CLAIMED: Final = frozenset({"files", "todos", "skills_metadata"})


class EqtyDeepAgentsHandler(Saving):
    """Records a DeepAgents run as signed EQTY lineage. Pass it in ``config={"callbacks": [handler]}``.

    One handler per conversation: turns that follow each other share what is known of files and plan. Every
    ``thread_id`` is a conversation of its own.

    Args:
        verbose: Attach each callback's raw context to its assets, as ``EqtyCallbackHandler`` does.
        integrity_service_url: Register each run's context with this service when the run is stored.
        recording: ``"background"`` (default) stores statements on one thread of the process, ``"inline"`` in the
            callbacks. The environment variable ``EQTY_LINEAGE_RECORDING`` sets the default.
        wait: Whether the end of a root run waits until all of it is stored. ``False`` for servers: then ``context``,
            ``flush`` and ``aflush`` wait.
        flush_timeout: Seconds that wait may last; ``None``, the default, for as long as it takes. If it is over
            before all is stored, storing goes on, and the log and a gap say so.
        queue_size: Jobs (an asset or a computation each) that may wait to be stored before a callback has to.
        inline_messages: Store prompts and states with all their messages and long values in place, instead of
            references to where each is stored once.
        journal: ``True``, or a path: note every job on disk before its callback returns, so that
            :func:`~eqty_lineage.deepagents.recover` can store what a killed process had not.
        progress: Show a line on standard error while the end of a run waits longer than a second; by default where
            that is a terminal.

    Raises:
        ConfigurationError: No active signer, an unknown ``recording``, or ``journal=True`` where it cannot be told
            where the SDK's store is.

    """

    # --- chains

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
        is_run = run.parent is None or run.starts_agent
        if not is_run:
            self._enter_node(run, inputs)
        run.call = results.only_call(inputs)
        run.occurrence = _occurrence(run, run.call)
        # a root is announced to every class between; what is nested is the base's logic alone
        start = super().on_chain_start if run.parent is None else self.nested_chain_start
        with self._recording(run, Place.RUN_IN if is_run else Place.NODE_IN) as frame:
            start(
                serialized or {},
                inputs,
                run_id=run_id,
                parent_run_id=_parent_id(run),
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
        if run.parent is not None and self._open_runs.get(lane.owner) is None and state.keys() & _CLAIMED:
            lane.owner = run.parent.run_id
        run.owns_state = run.parent is not None and lane.owner == run.parent.run_id
        if run.owns_state and "messages" in state:
            lane.last_request = prompts.last_request(state["messages"]) or lane.last_request
            lane.message_count = len(state["messages"]) if isinstance(state["messages"], list) else None
            lane.cutoff = compaction.cutoff_in(state, offloads.EVENT)
            if "todos" not in state:
                lane.plan = None

    def _link_subagent(self, run: OpenRun) -> None:
        agent = self._draft_agent(run)
        self.add_inputs(run.run_id, [agent])
        caller = next((around for around in run.ancestors() if around.kind is Kind.TOOL), None)
        if caller is not None and caller.lane is run.lane.parent:
            self.add_inputs(caller.run_id, [agent])
            task = [self.input_of(caller.run_id), caller.lane.asked_by(caller.tool_call_id)]
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
        is_run = run.parent is None or run.starts_agent
        if is_run and (results.is_paused(outputs) or (run.parent is None and run.root.paused)):
            # a root that pauses ends like one that is done (langgraph 1.2.24)
            run.status = Status.INTERRUPTED
            run.root.paused = True
        with self._ending(run), self._recording(run, Place.RUN_OUT if is_run else Place.NODE_OUT) as frame:
            if is_run and run.recorded:
                self._complete_run(run)
            if not is_run:
                self._note_saved(run, outputs, frame)
            super().on_chain_end(outputs, run_id=run.run_id, **more)
            self._withhold(run, frame)
            if is_run:
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
            self.add_inputs(run.run_id, [self.draft_bytes("Dataset", data, name, description)])
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
            if run.recorded and (run.parent is None or run.starts_agent) and Ending.of(error) is not Ending.PAUSED:
                self._complete_run(run)
            super().on_chain_error(error, run_id=run_id, **kwargs)
            if run.parent is None or run.starts_agent:
                self._release(run, frame)

    def _judge(self, run: OpenRun, error: BaseException) -> None:
        match Ending.of(error):
            case Ending.FAILED:
                run.status = Status.ERROR
            case Ending.STOPPED:
                run.status = Status.INTERRUPTED
                run.stopped = True
            case Ending.PAUSED:
                run.status = Status.INTERRUPTED
                if any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__):
                    run.root.paused = True

    # --- model turns

    @observed
    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a model turn, with its system prompt and the tool results its prompt shows."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "model"
        run = self._open(Kind.MODEL, str(name), run_id, parent_run_id, metadata)
        if run is None:
            return
        lane = run.lane
        with self._recording(run, Place.ELSEWHERE) as frame:
            frame.prompt = self.prompt_of(messages)
            super().on_chat_model_start(
                serialized or {},
                [],
                run_id=run_id,
                parent_run_id=_parent_id(run),
                tags=tags,
                metadata=metadata,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)
            shown = prompts.shown_results(messages)
            inputs = [lane.result_of(call) for call in shown]
            summing_up = compaction.is_summary_call(run.metadata, "" if run.parent is None else run.parent.name)
            if not summing_up:
                lane.shown = frozenset(shown)
                inputs += prompts.answers_shown(messages, lane.summaries)
            system = prompts.system_prompt(messages)
            if system is not None:
                model = self.name_of(run_id)
                inputs.append(
                    self.draft(
                        "System_Prompt", self._redact(system), f"{model}: system prompt", "The model's instructions."
                    )
                )
            inputs += lane.delegated
            if not summing_up:
                lane.delegated = []
            inputs += next((node.given for node in run.ancestors() if node.recorded), [])
            self.add_inputs(run_id, [cid for cid in inputs if cid is not None])

    @observed
    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Count a completion model's call: it has no messages, and the base handler does not record it either."""
        self.note_gap(None, Gap(Why.NOT_CHAT, str(kwargs.get("name") or "model")))

    @observed
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a model turn: request, inference and response, and which tool calls the response asks for."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        messages = [getattr(generation, "message", None) for batch in response.generations for generation in batch]
        envelope = SimpleNamespace(
            generations=[
                [
                    SimpleNamespace(message=plain(getattr(generation, "message", None)), text=generation.text)
                    for generation in batch
                ]
                for batch in response.generations
            ]
        )
        with self._ending(run), self._recording(run, Place.ELSEWHERE) as frame:
            frame.response = response
            super().on_llm_end(envelope, run_id=run_id, **kwargs)
            if frame.computations:
                answer = frame.computations[-1].outputs[0]
                for message in messages:
                    self._note_summary(run, message, answer)
                    run.lane.asked.update(dict.fromkeys(prompts.asked_calls(message), answer))

    @staticmethod
    def _note_summary(run: OpenRun, message: Any, answer: AssetId) -> None:
        """Remember the answer of a model that was to sum up the talk: later prompts will show it."""
        text = getattr(message, "text", "")
        node = "" if run.parent is None else run.parent.name
        if isinstance(text, str) and text.strip() and compaction.is_summary_call(run.metadata, node):
            run.lane.summaries[text.strip()] = answer

    @observed
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a model turn that raised."""
        self._fail(run_id, error, functools.partial(super().on_llm_error, error, run_id=run_id, **kwargs))

    # --- tool calls

    @observed
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a tool call, linked to the model turn that asked for it."""
        name = str((serialized or {}).get("name", "tool"))
        run = self._open(Kind.TOOL, name, run_id, parent_run_id, metadata)
        if run is None:
            return
        lane = run.lane
        run.arguments = inputs
        run.tool_call_id = _call_id(kwargs.get("tool_call_id"), run)
        run.owns_state = run.parent is not None and run.parent.owns_state
        call = reconstruction.parse(name, inputs)
        lane.has_file_tools = lane.has_file_tools or name in FILE_TOOLS
        if call is not None:
            waiting = [around.ticket for around in run.ancestors() if around.ticket is not None]
            run.ticket = lane.files.begin(call, run.step, within=waiting)
        with self._recording(run, Place.ARGUMENTS):
            super().on_tool_start(
                serialized or {},
                input_str,
                run_id=run_id,
                parent_run_id=_parent_id(run),
                tags=tags,
                metadata=metadata,
                inputs=inputs,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)
            run.input_cid = self.input_of(run_id)
            self._link_request(run)

    def _link_request(self, run: OpenRun) -> None:
        """Make the response that asked for a tool call its input; worked out from state where it was not seen."""
        lane = run.lane
        answer = lane.asked_by(run.tool_call_id)
        message = lane.last_request
        if answer is None and message is not None and run.tool_call_id in prompts.asked_calls(message):
            payload = prompts.as_response(message, lane.agent)
            payload = self.pack("Reasoning", payload)
            answer = self.draft("Reasoning", payload, "response", "Chat model response, including any tool calls.")
        if answer is not None:
            lane.acted = run.asked = True
            self.add_inputs(run.run_id, [answer])

    @observed
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a tool call that returned, and what it did to files."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        message = results.message_in(output)
        if run.tool_call_id is None and message is not None:
            run.tool_call_id = message.tool_call_id
        if results.is_error(output):
            run.status = Status.ERROR
        with self._ending(run), self._recording(run, Place.RESULT) as frame:
            self._link_request(run)
            if run.tool_call_id is not None and not run.asked:
                self.note_gap(run.root, Gap(Why.UNASKED, run.name, run.lane.label))
            self._note_owner(run, output)
            self._settle(run, output, frame)
            self._note_saved(run, output, frame)
            if run.name == "execute":
                self._note_captured(run, output, frame)
            if message is not None and run.parent is not None:
                run.parent.returned[message.tool_call_id] = message
            super().on_tool_end(output, run_id=run_id, **kwargs)
            self._withhold(run, frame)
            if run.tool_call_id is not None and frame.state is not None:
                run.lane.results[run.tool_call_id] = frame.state

    def _note_owner(self, run: OpenRun, output: Any) -> None:
        """A state update is the first sign of whose state it is, where the agent is not named and had none to show."""
        node = run.parent
        if (
            node is not None
            and node.parent is not None
            and self._open_runs.get(run.lane.owner) is None
            and results.update_in(output).keys() & _CLAIMED
        ):
            run.lane.owner = node.parent.run_id
            run.owns_state = node.owns_state = True

    def _settle(self, run: OpenRun, output: Any, frame: Frame) -> None:
        """Work out what a file call did. An update of the file it names, in a ``Command``, is the extractor's."""
        ticket = run.ticket
        if ticket is None:
            return
        files = results.update_in(output).get("files")
        if isinstance(files, Mapping) and getattr(ticket.call, "path", None) in files and run.owns_state:
            run.lane.files.abandon(ticket)
            return
        content = results.content_in(output)
        outcome = reconstruction.outcome_of(ticket.call, content, error=run.status is Status.ERROR)
        effect = run.lane.files.settle(ticket, outcome, content)
        sink = StateSink({}, Place.RESULT, run, self, None)
        file_effects.apply(effect, sink, call=ticket.call, result=content)
        frame.carried.extend(ids(sink.carried))
        frame.created.extend(ids(sink.created))

    @observed
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a tool call that raised; whatever it changed is not known."""
        run = self._open_runs.get(run_id)
        if run is not None and run.ticket is not None:
            if Ending.of(error) is Ending.PAUSED:
                run.lane.files.abandon(run.ticket)
            else:
                effect = run.lane.files.settle(run.ticket, Failed())
                if isinstance(effect, Unknown):
                    self.note_gap(run.root, Gap(effect.why, run.name, run.lane.label))
            run.ticket = None
        self._fail(run_id, error, functools.partial(super().on_tool_error, error, run_id=run_id, **kwargs))

    # --- retrievals

    @observed
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a retrieval."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "retriever"
        run = self._open(Kind.RETRIEVER, str(name), run_id, parent_run_id, metadata)
        if run is None:
            return
        with self._recording(run, Place.ELSEWHERE):
            super().on_retriever_start(
                serialized or {},
                query,
                run_id=run_id,
                parent_run_id=_parent_id(run),
                tags=tags,
                metadata=metadata,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)

    @observed
    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a retrieval; one without hits too."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        with self._ending(run), self._recording(run, Place.ELSEWHERE):
            super().on_retriever_end([plain(document) for document in documents or []], run_id=run_id, **kwargs)

    @observed
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a retrieval that raised."""
        self._fail(run_id, error, functools.partial(super().on_retriever_error, error, run_id=run_id, **kwargs))

    def _fail(self, run_id: UUID, error: BaseException, record: Callable[[], Any]) -> None:
        """Record a run other than a chain that raised."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        self._judge(run, error)
        with self._ending(run), self._recording(run, Place.ELSEWHERE):
            record()


def _parent_id(run: OpenRun) -> UUID | None:
    """Return the parent as the base handler is to see it: a root has none, whatever LangChain says."""
    return None if run.parent is None else run.parent.run_id


def _occurrence(run: OpenRun, call: str | None) -> str:
    """Name the place of a state in its run, the same in every run of one script."""
    if run.parent is None:
        return run.name
    step = run.step if run.step is not None else f"({run.parent.children})"
    return f"{run.lane.label}/{run.name} step {step}" + (f" [{call}]" if call else "")


def _call_id(given: object, run: OpenRun) -> str | None:
    """Return a tool call's id: as the callback gives it, or from the node started for that one call."""
    if isinstance(given, str) and given:
        return given
    return None if run.parent is None else run.parent.call
