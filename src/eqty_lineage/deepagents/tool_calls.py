"""What the callbacks of tools say: who asked for a call, what it returned, and what it did to files."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents import injected, prompts, results
from eqty_lineage.deepagents.chains import OF_AGENTS
from eqty_lineage.deepagents.drafting import Frame
from eqty_lineage.deepagents.endings import Ending
from eqty_lineage.deepagents.facts import Gap, Status, Why
from eqty_lineage.deepagents.filesystem import contents, reconstruction
from eqty_lineage.deepagents.filesystem.effects import Answers, Unknown
from eqty_lineage.deepagents.filesystem.reconstruction import FILE_TOOLS, Failed, Unclear
from eqty_lineage.deepagents.observing import observed
from eqty_lineage.deepagents.runs import Kind, OpenRun
from eqty_lineage.deepagents.saving import Saving
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from uuid import UUID


class ToolCalls(Saving):
    """The part of the handler that is told of tools."""

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
        run.tool_call_id = _call_id(kwargs.get("tool_call_id"), run)
        inputs = injected.given(inputs, name, run.tool_call_id, _calls_around(run))
        run.arguments = inputs
        run.owns_state = run.parent is not None and run.parent.owns_state
        memory = run.root.conversation.discretion.memory
        run.withheld = memory.meet(name, inputs, run.tool_call_id)
        if run.withheld is not None:
            memory.begin(run.tool_call_id)
        call = reconstruction.parse(name, inputs)
        lane.has_file_tools = lane.has_file_tools or name in FILE_TOOLS
        if call is not None:
            waiting = [around.ticket for around in run.ancestors() if around.ticket is not None]
            seen = self._ask(run, lane.files.asks_before(call))
            run.ticket = lane.files.begin(call, run.step, within=waiting, task=_task_of(run), seen=seen)
        self._spoil(run, call)
        with self._recording(run, Place.ARGUMENTS):
            super().on_tool_start(
                serialized or {},
                input_str,
                run_id=run_id,
                parent_run_id=run.parent_id,
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
        answer = lane.asked_by(run.tool_call_id, functools.partial(prompts.mark_of_call, run.name, run.arguments))
        message = lane.last_request
        if answer is None and message is not None and run.tool_call_id in prompts.asked_calls(message):
            payload = prompts.as_response(message, lane.agent)
            payload = self.pack("Reasoning", payload)
            answer = self.draft("Reasoning", payload, "response", "Chat model response, as the state has it.")
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
        if run.withheld is not None:
            run.root.conversation.discretion.memory.expect(run.tool_call_id, run.withheld)
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
                run.lane.results.note(run.tool_call_id, prompts.mark_of_result(output), frame.state)

    def _note_owner(self, run: OpenRun, output: Any) -> None:
        """A state update is the first sign of whose state it is, where the agent is not named and had none to show."""
        node = run.parent
        if (
            node is not None
            and node.parent is not None
            and self._open_runs.get(run.lane.owner) is None
            and results.update_in(output).keys() & OF_AGENTS
        ):
            run.lane.owner = node.parent.run_id
            run.owns_state = node.owns_state = True

    def _settle(self, run: OpenRun, output: Any, frame: Frame) -> None:
        """Work out what a file call did. An update of the file it names, in a ``Command``, is the extractor's."""
        ticket = run.ticket
        if ticket is None:
            return
        files = results.update_in(output).get("files")
        content = results.content_in(output)
        outcome = reconstruction.outcome_of(ticket.call, content, error=run.status is Status.ERROR)
        if isinstance(files, Mapping) and getattr(ticket.call, "path", None) in files and run.owns_state:
            if contents.is_filesystem(files, plain_strings=run.lane.has_file_tools):
                run.lane.files.abandon(ticket)
                run.lane.returns_files = True
                return
            # no extractor claims files of a form that nobody has seen yet
            outcome = Unclear()
        seen = self._ask(run, run.lane.files.asks_after(ticket, outcome, content))
        self._add_effect(run.lane.files.settle(ticket, outcome, content, seen), ticket.call, frame, content)

    def _ask(self, run: OpenRun, paths: list[str]) -> Answers:
        """Return what the witness says of some files; under the lock, so that no other call moves on meanwhile."""
        if self._witness is None or not paths:
            return {}
        testimony = self._witness.ask(paths)
        for why, what in testimony.missing:
            self.note_gap(run.root, Gap(why, what, run.lane.label))
        return testimony.answers

    @observed
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a tool call that raised; whatever it changed is not known."""
        run = self._open_runs.get(run_id)
        if run is not None and run.ticket is not None:
            ending = Ending.of(error)
            if ending is not Ending.FAILED:
                run.lane.files.abandon(run.ticket, may_go_on=ending is Ending.STOPPED)
            else:
                effect = run.lane.files.settle(run.ticket, Failed())
                if isinstance(effect, Unknown):
                    self.note_gap(run.root, Gap(effect.why, run.name, run.lane.label))
            run.ticket = None
        self._fail(run_id, error, functools.partial(super().on_tool_error, error, run_id=run_id, **kwargs))


def _task_of(run: OpenRun) -> str | None:
    """Return what names the node that a call is made in, if it was started for one call: all in it is one task."""
    nodes = (around for around in run.ancestors() if around.lane is run.lane and around.call is not None)
    return next((node.urn for node in nodes), None)


def _calls_around(run: OpenRun) -> list[Mapping[str, Any]]:
    """Return the tool calls that the node a tool runs in is to run."""
    for around in run.ancestors():
        if around.kind is not Kind.CHAIN or around.lane is not run.lane:
            break
        if around.calls:
            return around.calls
    return []


def _call_id(given: object, run: OpenRun) -> str | None:
    """Return a tool call's id: as the callback gives it, or from the node started for that one call."""
    if isinstance(given, str) and given:
        return given
    return None if run.parent is None else run.parent.call
