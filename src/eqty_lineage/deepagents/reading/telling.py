"""What a turn was last told: by a person, or by the agent that gave it its task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.model import Kind, Step

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

SUMMING_UP: Final = "summarization"
"""The purpose of a turn that was to sum up the talk: nobody but the framework told it to."""


def told(run: Run, step: Step) -> str:
    """Return the last message by a person in a turn's prompt; in a subagent's, that is its task.

    Returns:
        ``""`` if the step is no turn, if its prompt is not there, or if all that it was told is a summary of the talk,
        which a framework puts in a person's place.

    """
    if step.kind is not Kind.TURN or sums_up(step):
        return ""
    summaries = [text for text in (_said(run, one) for one in _summed_up_by(run, step)) if text]
    for message in reversed(run.detail(step).prompt):
        if message.role == "human" and not any(summary in message.text for summary in summaries):
            return message.text
    return ""


def sums_up(step: Step) -> bool:
    """Whether a turn was to sum up the talk."""
    return any(part.metadata.get("purpose") == SUMMING_UP for part in step.parts)


def _summed_up_by(run: Run, step: Step) -> list[Step]:
    """Return the turns whose summary may stand in a turn's prompt: their responses are among its inputs."""
    makers = [run.statements.producer(cid, step.parts[0]) for cid in step.inputs]
    ids = {maker.id for maker in makers if maker is not None and maker.type.startswith("chat_")}
    if not ids:
        return []
    return [one for one in run.steps[: step.number - 1] if sums_up(one) and any(part.id in ids for part in one.parts)]


def _said(run: Run, step: Step) -> str:
    return "".join(message.text for message in run.detail(step).answer).strip()
