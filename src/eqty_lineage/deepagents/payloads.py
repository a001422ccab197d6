"""What a LangChain value looks like as plain JSON, the same in every process.

For ordinary values this gives what ``eqty_lineage.langchain`` 0.2.5 gives, so that both handlers record equal assets.
It differs where that function would not be repeatable or not be JSON: memory addresses, hash order, NaN, circular
values, values whose ``str()`` raises. A failed tool's status is kept, because prose is no place to read it from, and so
are the calls of a model that could not be parsed.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any, Final

from eqty_lineage.langchain import UNCLAIMED
from langchain_core.messages import BaseMessage

from eqty_lineage.deepagents.discretion.names import REDACTED, is_credential, redact_text


class StandIn(dict[str, Any]):
    """What an extractor leaves in place of a value: names and CIDs of this package's, stored as they are."""


Claim = Callable[[tuple[str, ...], Any, bool], Any]
"""Offered every value with the keys that led to it, and whether they led through a ``Command``'s update."""

_ADDRESS: Final = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+")
_DEEPEST: Final = 150
_COMMAND_FIELDS: Final = ("update", "goto", "graph", "resume")


def plain(value: Any, claim: Claim | None = None) -> Any:
    """Return ``value`` as JSON data: dicts with string keys, lists, strings, numbers, booleans and ``None``.

    ``claim`` may return a replacement for any value it is offered, or ``UNCLAIMED``. Never raises because of the
    value: what cannot be serialised is named by its type.
    """
    return _Plain(claim).convert(value, (), in_command=False)


def serialise(payload: Any) -> bytes:
    """Return the bytes the SDK would store for a payload that :func:`plain` made (or that is a string already)."""
    if isinstance(payload, str):
        return payload.encode("utf-8", "backslashreplace")
    if isinstance(payload, int | float):
        return str(payload).encode()
    return json.dumps(payload).encode()


def is_command(value: object) -> bool:
    """Whether ``value`` is a LangGraph ``Command``; by name, because langgraph is not imported."""
    return type(value).__name__ == "Command" and hasattr(value, "update") and hasattr(value, "goto")


class _Plain:
    def __init__(self, claim: Claim | None) -> None:
        self._claim = claim
        self._inside: set[int] = set()

    def convert(self, value: Any, path: tuple[str, ...], *, in_command: bool) -> Any:
        if self._claim is not None:
            claimed = self._claim(path, value, in_command)
            if claimed is not UNCLAIMED:
                return claimed
        if isinstance(value, str):
            return value if type(value) is str else str.__str__(value)
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else repr(value)
        if isinstance(value, PurePath):
            return str(value)
        if id(value) in self._inside:
            return "<circular>"
        if len(self._inside) >= _DEEPEST:
            return "<nested too deeply>"
        self._inside.add(id(value))
        try:
            return self._container(value, path, in_command=in_command)
        finally:
            self._inside.discard(id(value))

    def _container(self, value: Any, path: tuple[str, ...], *, in_command: bool) -> Any:
        if isinstance(value, BaseMessage):
            return self._message(value, path, in_command=in_command)
        if isinstance(value, Mapping):
            return {
                text_of(key): self.convert(item, (*path, text_of(key)), in_command=in_command)
                for key, item in _snapshot(value.items())
            }
        names = getattr(value, "_fields", None)
        if isinstance(value, tuple) and isinstance(names, tuple):
            return [
                REDACTED
                if is_credential(str(name)) and item is not None
                else self.convert(item, path, in_command=in_command)
                for name, item in zip(names, value, strict=False)
            ]
        if isinstance(value, list | tuple | deque):
            return [self.convert(item, path, in_command=in_command) for item in _snapshot(value)]
        if isinstance(value, AbstractSet):
            items = [self.convert(item, path, in_command=in_command) for item in _snapshot(value)]
            return sorted(items, key=json.dumps)
        if is_command(value):
            return {"command": self._command(value, path)}
        if type(value).__name__ == "Send" and hasattr(value, "node") and hasattr(value, "arg"):
            send = {"node": text_of(value.node), "arg": self.convert(value.arg, (*path, "arg"), in_command=False)}
            return {"send": send}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._fields(value, [field.name for field in dataclasses.fields(value)], path, in_command)
        if hasattr(type(value), "__attrs_attrs__"):
            return self._fields(value, [field.name for field in type(value).__attrs_attrs__], path, in_command)
        dump = getattr(value, "model_dump", None)
        if callable(dump) and not isinstance(value, type):
            try:
                return self.convert(dump(), path, in_command=in_command)
            except Exception:  # noqa: BLE001 - best effort: its text is the next best
                return text_of(value)
        return text_of(value)

    def _message(self, message: BaseMessage, path: tuple[str, ...], *, in_command: bool) -> dict[str, Any]:
        data: dict[str, Any] = {
            "role": message.type,
            "content": self.convert(message.content, path, in_command=in_command),
        }
        calls = getattr(message, "tool_calls", None)
        if calls:
            data["tool_calls"] = self.convert(calls, path, in_command=in_command)
        malformed = getattr(message, "invalid_tool_calls", None)
        if malformed:
            data["invalid_tool_calls"] = self.convert(malformed, path, in_command=in_command)
        for attribute in ("tool_call_id", "name"):
            value = getattr(message, attribute, None)
            if value:
                data[attribute] = value
        usage = getattr(message, "usage_metadata", None)
        if usage:
            data["usage"] = self.convert(usage, path, in_command=in_command)
        if getattr(message, "status", None) == "error":
            data["status"] = "error"
        return data

    def _command(self, command: Any, path: tuple[str, ...]) -> dict[str, Any]:
        return {
            # an update for another graph is no update of this one's state
            field: self.convert(
                getattr(command, field),
                (*path, field),
                in_command=field == "update" and getattr(command, "graph", None) is None,
            )
            for field in _COMMAND_FIELDS
            if getattr(command, field, None) is not None
        }

    def _fields(self, value: Any, names: list[str], path: tuple[str, ...], in_command: bool) -> dict[str, Any]:  # noqa: FBT001
        return {name: self.convert(getattr(value, name, None), (*path, name), in_command=in_command) for name in names}


def _snapshot(items: Iterable[Any]) -> list[Any]:
    """Copy what another thread may be changing; what cannot be copied is empty."""
    for _ in range(3):
        try:
            return list(items)
        except RuntimeError:
            continue
    return []


def text_of(value: Any) -> str:
    """Return ``str(value)`` without memory addresses and credentials, or the name of its type if there is none."""
    if isinstance(value, str):
        return value
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - any object can be in a state
        return f"<{type(value).__module__}.{type(value).__qualname__}>"
    return redact_text(_ADDRESS.sub("", text)) if isinstance(text, str) else repr(type(value))
