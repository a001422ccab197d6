"""What a tool returned: the message the model will read, whether it reports a failure, and a state update if any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolMessage

from eqty_lineage.deepagents.payloads import is_command


def message_in(output: Any) -> ToolMessage | None:
    """Return the tool message of a result, which a ``Command`` carries in its update."""
    if isinstance(output, ToolMessage):
        return output
    messages = update_in(output).get("messages")
    if isinstance(messages, list):
        return next((message for message in messages if isinstance(message, ToolMessage)), None)
    return None


def content_in(output: Any) -> Any:
    """Return the content of a result: text, or content blocks."""
    message = message_in(output)
    return message.content if message is not None else output


def is_error(output: Any) -> bool:
    """Whether a result says by its status that the call failed."""
    message = message_in(output)
    return message is not None and message.status == "error"


def update_in(output: Any) -> Mapping[str, Any]:
    """Return the state update of a ``Command`` for its own graph, or an empty mapping."""
    update = output.update if is_command(output) and getattr(output, "graph", None) is None else None
    return update if isinstance(update, Mapping) else {}


def updates_in(output: Any) -> list[Mapping[str, Any]]:
    """Return the state updates of an output: a mapping, a ``Command`` for its own graph, or a list of those."""
    listed = output if isinstance(output, list) else [output]
    updates = [one if isinstance(one, Mapping) else update_in(one) for one in listed]
    return [update for update in updates if update]


def only_call(inputs: Any) -> str | None:
    """Return the id of the tool call that a ``tools`` node was started for, if it was started for one."""
    if isinstance(inputs, list) and len(inputs) == 1 and isinstance(inputs[0], Mapping):
        call = inputs[0].get("id")
        return call if isinstance(call, str) else None
    return None


def is_paused(outputs: Any) -> bool:
    """Whether a graph's output says that it waits for a resumption."""
    return isinstance(outputs, Mapping) and bool(outputs.get("__interrupt__"))
