"""Which of a tool's inputs the model gave, and which the framework added: the run's state, store, configuration.

Since langchain-core 1.1 a tool's start shows the model's arguments alone. Before, it also shows what was injected: the
whole state, or a ``ToolRuntime`` that holds it together with the store and the configuration, credentials included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_NAMES: Final = frozenset({"state", "runtime", "store", "config", "tool_call_id"})
"""What the arguments that LangChain injects are called, unless a tool calls them otherwise."""
_DEEPEST: Final = 50


def given(inputs: Any, tool: str, call_id: str | None, calls: Iterable[Mapping[str, Any]]) -> Any:
    """Return a tool's inputs without what the framework added.

    Args:
        inputs: What the start of the tool shows.
        tool: The tool's name.
        call_id: The id of the call, if it is known.
        calls: The tool calls that the node around the tool is to run, as the model asked for them.

    An argument that the model gave is kept whatever its name. One that it did not give is dropped if it has the name of
    an injected one, or is no JSON value. Where the model's call is not known, only what has such a name and is no JSON
    value is dropped: a program may call a tool with anything.
    """
    if not isinstance(inputs, Mapping):
        return inputs
    asked = [call["args"] for call in calls if call.get("name") == tool and call_id in (None, call.get("id"))]
    names = {name for arguments in asked for name in arguments}

    def injected(name: Any, value: Any) -> bool:
        if name in names or not asked:
            # the model's own, unless something was injected in its place
            return name in _NAMES and not _is_json(value)
        return name in _NAMES or not _is_json(value)

    dropped = {name for name, value in list(inputs.items()) if injected(name, value)}
    return {name: value for name, value in inputs.items() if name not in dropped} if dropped else inputs


def _is_json(value: Any, depth: int = 0) -> bool:
    """Whether a model could have written this value."""
    if value is None or isinstance(value, str | bool | int | float):
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(value, list):
        return all(_is_json(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item, depth + 1) for key, item in value.items())
    return False
