"""Which messages a state or prompt has, each stored once however often it is shown.

Messages are the same objects from node to node, so what is worked out for one is kept while the run is open. A message
can be changed in place (LangChain names the answer after the agent once it has it), so what is kept is used only for
the same message with the same parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import BaseMessage

from eqty_lineage.deepagents import references
from eqty_lineage.deepagents.discretion.calls import Call
from eqty_lineage.deepagents.discretion.walk import Discretion
from eqty_lineage.deepagents.facts import AssetId
from eqty_lineage.deepagents.payloads import plain
from eqty_lineage.deepagents.references import Keep

_MOST_PARTS: Final = 500
"""Taking a larger message apart would cost more than working it out again; a circular one would have no end."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A list of messages, by their CIDs, and the CID of the blob that lists them."""

    cid: AssetId
    messages: tuple[AssetId, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    message: BaseMessage
    parts: tuple[Any, ...]
    source: Any
    """The message as plain data."""
    call: Call | None
    refined: Any
    payload: Any
    cid: AssetId | None
    generation: int
    """Up to which it is refined."""


class Messages:
    """The messages of one root run, as payloads and CIDs."""

    def __init__(self, discretion: Discretion) -> None:
        """Start with none; ``discretion`` says what of them is stored."""
        self._kept: dict[int, _Kept] = {}
        self._calls: dict[int, Call | None] = {}
        """By message: the withheld call it is the result of. A later call may have the same id."""
        self._discretion = discretion

    def look_at(self, messages: Iterable[Any]) -> None:
        """Learn from messages not met before what none of them may show; before any of them becomes a payload."""
        memory = self._discretion.memory
        for message in messages:
            if id(message) in self._kept:
                continue
            for call in getattr(message, "tool_calls", None) or []:
                memory.meet(str(call.get("name")), plain(call.get("args")), call.get("id"))
            answered = memory.call(getattr(message, "tool_call_id", None))
            self._calls[id(message)] = answered
            content = getattr(message, "content", None)
            if answered is not None and not answered.may_show(content):
                memory.learn_result(answered, plain(content))

    def payload(self, message: Any, keep: Keep) -> Any:
        """Return a message as a payload, its long values kept apart."""
        return self._of(message, keep).payload

    def cid(self, message: BaseMessage, keep: Keep) -> AssetId:
        """Return the CID of a message, storing it."""
        kept = self._of(message, keep)
        if kept.cid is None:
            cid = keep(json.dumps(kept.payload).encode())
            kept = replace(kept, cid=cid)
            self._kept[id(message)] = kept
            return cid
        return kept.cid

    def _of(self, message: Any, keep: Keep) -> _Kept:
        parts = _parts(message)
        kept = self._kept.get(id(message))
        generation = self._discretion.generation
        if kept is not None and parts is not None and _same(kept.parts, parts):
            if kept.generation == generation:
                return kept
            refined = self._discretion.refine(kept.source, call=kept.call)
            if refined == kept.refined:
                kept = replace(kept, generation=generation)
            else:
                payload = references.shorten(refined, keep)
                kept = replace(kept, refined=refined, payload=payload, cid=None, generation=generation)
        else:
            source = plain(message)
            call = self._calls.pop(id(message), None)
            refined = self._discretion.refine(source, call=call)
            payload = references.shorten(refined, keep)
            now = self._discretion.generation
            kept = _Kept(message, parts or (), source, call, refined, payload, None, now)
        if parts is not None:
            self._kept[id(message)] = kept
        return kept


def _parts(message: Any) -> tuple[Any, ...] | None:
    """Return what of a message goes into its payload, or ``None`` if that could change without a trace."""
    if not isinstance(message, BaseMessage):
        return None
    parts: list[Any] = []
    left: list[Any] = [
        message.content,
        getattr(message, "tool_calls", None),
        getattr(message, "invalid_tool_calls", None),
        getattr(message, "name", None),
        getattr(message, "tool_call_id", None),
        getattr(message, "status", None),
        getattr(message, "usage_metadata", None),
    ]
    while left:
        value = left.pop()
        if value is None or type(value) in (str, int, float, bool):
            # what cannot change
            parts.append(value)
        elif type(value) in (dict, list) and len(parts) < _MOST_PARTS:
            parts += (type(value), len(value))
            left += value if isinstance(value, list) else [part for entry in list(value.items()) for part in entry]
        else:
            return None
    return tuple(parts)


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def extend(before: Transcript | None, messages: tuple[AssetId, ...], keep: Keep) -> Transcript:
    """Return the transcript of ``messages``: the one before, what was appended to it, or a new one."""
    if before is not None and before.messages == messages:
        return before
    start = None
    appended = messages
    if before is not None and before.messages and messages[: len(before.messages)] == before.messages:
        start = str(before.cid)
        appended = messages[len(before.messages) :]
    blob = json.dumps({"before": start, "messages": [str(cid) for cid in appended]}).encode()
    return Transcript(keep(blob), messages)
