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


def without_context(inputs: Any) -> Any:
    """Return what a ``tools`` node was started with, without the agent's state that langgraph 1.0 sends along.

    That state is the one the nodes before it left; later releases send the call alone.
    """
    if isinstance(inputs, Mapping) and inputs.get("__type") == "tool_call_with_context":
        return [inputs.get("tool_call")]
    return inputs


def calls_for(inputs: Any) -> list[Mapping[str, Any]]:
    """Return the tool calls that a node is to run: those it was started with, or the last ones its state asks for."""
    listed = inputs
    if isinstance(inputs, Mapping):
        messages = inputs.get("messages")
        last = messages[-1] if isinstance(messages, list) and messages else None
        listed = getattr(last, "tool_calls", None)
    calls = listed if isinstance(listed, list) else []
    return [call for call in calls if isinstance(call, Mapping) and isinstance(call.get("args"), Mapping)]


def only_call(inputs: Any) -> str | None:
    """Return the id of the tool call that a ``tools`` node was started for, if it was started for one."""
    if isinstance(inputs, list) and len(inputs) == 1 and isinstance(inputs[0], Mapping):
        call = inputs[0].get("id")
        return call if isinstance(call, str) else None
    return None


def is_paused(outputs: Any) -> bool:
    """Whether a graph's output says that it waits for a resumption."""
    return isinstance(outputs, Mapping) and bool(outputs.get("__interrupt__"))
