"""What a model turn was asked: its system prompt, and the tool calls whose results stand in its prompt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from eqty_lineage.deepagents import results
from eqty_lineage.deepagents.compaction import is_summary, summary_in
from eqty_lineage.deepagents.facts import AssetId
from eqty_lineage.deepagents.payloads import plain


def system_prompt(messages: Iterable[Iterable[BaseMessage]]) -> Any | None:
    """Return the system prompt as the model got it, or ``None`` if there is none.

    One message gives its content, text or blocks; several (some models get later ones too) give a list of contents.
    Empty messages do not count.
    """
    contents = [
        plain(message.content)
        for batch in messages
        for message in batch
        if isinstance(message, SystemMessage) and message.content
    ]
    if not contents:
        return None
    return contents[0] if len(contents) == 1 else contents


def shown_results(messages: Iterable[Iterable[BaseMessage]]) -> dict[str, ToolMessage]:
    """Return the tool results that stand in a prompt, each once, in order, by the ids of their calls."""
    return {
        message.tool_call_id: message for batch in messages for message in batch if isinstance(message, ToolMessage)
    }


def mark_of_result(output: object) -> str:
    """Return what tells a call's result from that of another call with the same id."""
    return _mark(plain(results.content_in(output)))


def mark_of_call(name: str, arguments: object) -> str:
    """Return what tells a call from another one with the same id."""
    return _mark([name, plain(arguments)])


def _mark(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def answers_shown(messages: Iterable[Iterable[BaseMessage]], answers: Mapping[str, AssetId]) -> list[AssetId]:
    """Return those of the answers (by :func:`mark_of_summary`) that a prompt shows in place of what it leaves out."""
    shown = [mark_of_summary(summary_in(message)) for batch in messages for message in batch if is_summary(message)]
    return [answers[mark] for mark in dict.fromkeys(shown) if mark in answers]


def mark_of_summary(text: str) -> str:
    """Return what tells a summary from another one."""
    return _mark(text.strip())


def last_request(messages: object) -> AIMessage | None:
    """Return the last message of a state that asks for tool calls."""
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, AIMessage) and message.tool_calls:
                return message
    return None


def as_response(message: AIMessage, agent: str) -> list[Any]:
    """Return the content of the response asset of the model turn that gave a message found in state.

    LangChain names the message after the agent once the model has answered (1.5.2), so that name is left out.
    """
    data = plain(message)
    if data.get("name") == agent:
        del data["name"]
    return [data]


def asked_calls(message: object) -> dict[str, str]:
    """Return the ids of the tool calls a message asks for, and what marks each."""
    return {
        call["id"]: mark_of_call(call.get("name", ""), call.get("args"))
        for call in getattr(message, "tool_calls", None) or []
        if isinstance(call.get("id"), str)
    }
