"""What a step says of a compaction of the talk: how much of it the model no longer sees.

Up to DeepAgents 0.3.12 a node rewrites the state's messages; since then the model call compacts, the state keeps every
message, and an event says from where on the model sees them (``middleware/summarization.py``, 0.7.32).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage

from eqty_lineage.deepagents import results

_SOURCE: Final = "summarization"
_NODE: Final = "SummarizationMiddleware"
_OLD_SUMMARY: Final = "Here is a summary of the conversation to date:"
_WRAPPED: Final = re.compile(r"<summary>\n(?P<summary>.*)\n</summary>", re.DOTALL)
_ALL: Final = "__remove_all__"


def noted(event: Mapping[str, Any], messages: int | None, before: int) -> dict[str, Any]:
    """Return what a computation says of a compaction.

    Args:
        event: What the step put into the state; ``cutoff_index`` counts from the first message of the state.
        messages: How many messages the state has, if that is known.
        before: The cut-off of the compaction before, 0 if there was none.

    """
    cutoff = _cutoff_of(event)
    if cutoff is None:
        return {"compaction": "lossy"}
    fields: dict[str, Any] = {"compaction": "lossy", "cutoff": cutoff, "messages_dropped": max(cutoff - before, 0)}
    if messages is not None and messages >= cutoff:
        fields["messages_kept"] = messages - cutoff
    return fields


def rewritten(node: str, outputs: Any, messages: int | None) -> dict[str, Any]:
    """Return what the computation of a node says that compacted by writing the messages anew (up to 0.3.12)."""
    if not node.startswith(_NODE):
        return {}
    update = _messages_of(outputs)
    if not any(isinstance(message, RemoveMessage) and message.id == _ALL for message in update):
        return {}
    kept = sum(not isinstance(message, RemoveMessage) and not is_summary(message) for message in update)
    fields: dict[str, Any] = {"compaction": "lossy", "messages_kept": kept}
    if messages is not None and messages >= kept:
        fields |= {"cutoff": messages - kept, "messages_dropped": messages - kept}
    return fields


def is_summary(message: Any) -> bool:
    """Whether a message of a prompt is the summary that a compaction put in place of what it dropped."""
    if not isinstance(message, HumanMessage):
        return False
    if message.additional_kwargs.get("lc_source") == _SOURCE:
        return True
    return isinstance(message.content, str) and message.content.startswith(_OLD_SUMMARY)


def summary_in(message: BaseMessage) -> str:
    """Return the summary that a message of a prompt wraps (deepagents 0.7.32; langchain up to 1.2)."""
    text = text_in(message)
    wrapped = _WRAPPED.search(text)
    return wrapped["summary"] if wrapped is not None else text.removeprefix(_OLD_SUMMARY)


def text_in(message: object) -> str:
    """Return the text of a message. Its ``text`` is missing in langchain-core 0.3.0 and a method later in 0.3."""
    content = getattr(message, "content", None)
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str))


def is_summary_call(metadata: Mapping[str, Any], node: str) -> bool:
    """Whether a model is called to sum up, by the call's metadata or the name of the node it is called in."""
    return metadata.get("lc_source") == _SOURCE or node.startswith(_NODE)


def cutoff_in(state: Mapping[str, Any], key: str) -> int:
    """Return how many messages the last compaction of a state has dropped."""
    event = state.get(key)
    return (_cutoff_of(event) or 0) if isinstance(event, Mapping) else 0


def _cutoff_of(event: Mapping[str, Any]) -> int | None:
    cutoff = event.get("cutoff_index")
    return cutoff if isinstance(cutoff, int) and not isinstance(cutoff, bool) else None


def count_after(outputs: Any, messages: int | None) -> int | None:
    """Return how many messages a state has once a step's output is applied; ``None`` where that cannot be told."""
    update = _messages_of(outputs)
    if messages is None or any(isinstance(message, RemoveMessage) for message in update):
        return None
    return messages + len(update)


def _messages_of(outputs: Any) -> list[Any]:
    return [
        message
        for update in results.updates_in(outputs)
        if isinstance(update.get("messages"), list)
        for message in update["messages"]
        if isinstance(message, BaseMessage)
    ]
