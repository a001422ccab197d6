"""What the callbacks of models say: a turn begins with a prompt and ends with a response."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents import compaction, prompts
from eqty_lineage.deepagents.facts import AssetId, Gap, Why
from eqty_lineage.deepagents.observing import observed
from eqty_lineage.deepagents.payloads import plain
from eqty_lineage.deepagents.runs import Kind, OpenRun
from eqty_lineage.deepagents.saving import Saving
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.outputs import LLMResult


class ModelTurns(Saving):
    """The part of the handler that is told of models."""

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
            summing_up = compaction.is_summary_call(run.metadata, "" if run.parent is None else run.parent.name)
            frame.prompt = self.prompt_of(messages, is_talk=summing_up)
            super().on_chat_model_start(
                serialized or {},
                [],
                run_id=run_id,
                parent_run_id=run.parent_id,
                tags=tags,
                metadata=metadata,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)
            shown = prompts.shown_results(messages)
            inputs = [
                lane.result_of(call, functools.partial(prompts.mark_of_result, result))
                for call, result in shown.items()
            ]
            if summing_up:
                run.notes["purpose"] = "summarization"
            else:
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
            if not summing_up:
                inputs += lane.delegated
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
                    for call, mark in prompts.asked_calls(message).items():
                        run.lane.asked.note(call, mark, answer)

    @staticmethod
    def _note_summary(run: OpenRun, message: Any, answer: AssetId) -> None:
        """Remember the answer of a model that was to sum up the talk: later prompts will show it."""
        text = compaction.text_in(message)
        if text.strip() and "purpose" in run.notes:
            run.lane.summaries[prompts.mark_of_summary(text)] = answer

    @observed
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a model turn that raised."""
        self._fail(run_id, error, functools.partial(super().on_llm_error, error, run_id=run_id, **kwargs))
