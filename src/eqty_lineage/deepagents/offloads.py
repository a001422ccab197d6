"""What a node's or tool's output says was moved to a file that no file tool wrote.

The forms are those of DeepAgents 0.7.32 (``middleware/_message_eviction.py``, ``filesystem.py``, ``summarization.py``):
a large tool result whose message was replaced by a preview, a large message of the person's, the history that a
compaction dropped, a binary block that was replaced by the hash of its bytes, and captured output of a shell.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from eqty_lineage.deepagents import results

EVENT: Final = "_summarization_event"
_STUB: Final = re.compile(
    r"\ATool result too large, the result of this tool call .* was saved in the filesystem at this path: (?P<path>.+)$",
    re.MULTILINE,
)
_LONGEST_NAME: Final = 128
"""Bytes above which a tool call's id gives way to its hash in the name of the file."""


@dataclass(frozen=True, slots=True)
class Saved:
    """Something was written to ``path``: ``text``, where that can be told, else what ``said`` describes."""

    path: str
    text: str | None = field(default=None, repr=False)
    said: Any = field(default=None, repr=False)
    is_history: bool = False
    """Whether it is what a compaction dropped."""


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of a content block were written to a file named by their hash; where, is not said."""

    sha256: str
    data: bytes = field(repr=False)


def saved_in(outputs: Any, returned: Mapping[str, Any], *, by_model: bool) -> Iterator[Saved | Blob]:
    """Return what an output says was saved.

    ``returned`` has the messages of tool calls before they were replaced. Only the node ``by_model`` calls moves a
    person's message, and says so in a command; anything else that shows such a message repeats it.
    """
    for update in results.updates_in(outputs):
        files = update.get("files")
        written = files if isinstance(files, Mapping) else {}
        messages = _messages(update.get("messages"))
        if any(isinstance(message, RemoveMessage) for message in messages):
            # a history that is written anew repeats what was saved long ago
            continue
        for message in messages:
            if isinstance(message, HumanMessage) and (update is outputs or not by_model):
                continue
            saved = _saved_by(message, returned)
            if saved is not None and saved.path not in written:
                yield saved
            yield from _blobs(message, returned)


def history_in(outputs: Any) -> Saved | None:
    """Return the file that the history dropped by a compaction was written to, if that could be done."""
    event = event_in(outputs)
    if event is None:
        return None
    path = event.get("file_path")
    return (
        Saved(path, said={"history": path, "cutoff": event.get("cutoff_index")}, is_history=True)
        if isinstance(path, str) and path
        else None
    )


def event_in(outputs: Any) -> Mapping[str, Any] | None:
    """Return what an output says of a compaction."""
    for update in results.updates_in(outputs):
        event = update.get(EVENT)
        if isinstance(event, Mapping):
            return event
    return None


def captured_in(output: Any) -> Saved | None:
    """Return the file that a shell's output was captured in, as the result's artifact names it."""
    message = results.message_in(output)
    artifact = getattr(message, "artifact", None)
    path = artifact.get("output_file") if isinstance(artifact, Mapping) else None
    if message is None or not isinstance(path, str) or not path:
        return None
    return Saved(path, said=message.content)


def _messages(value: Any) -> list[BaseMessage]:
    listed = value if isinstance(value, list) else [value]
    return [message for message in listed if isinstance(message, BaseMessage)]


def _saved_by(message: BaseMessage, returned: Mapping[str, Any]) -> Saved | None:
    if isinstance(message, HumanMessage):
        path = message.additional_kwargs.get("lc_evicted_to")
        if not isinstance(path, str):
            return None
        return Saved(path, message.content if isinstance(message.content, str) else None, {"message": path})
    if not isinstance(message, ToolMessage):
        return None
    said = _text_of(message.content)
    stub = None if said is None else _STUB.match(said)
    if stub is None or stub["path"].rpartition("/")[2] not in _names_for(message.tool_call_id):
        return None
    original = getattr(returned.get(message.tool_call_id), "content", None)
    if original is None or original == message.content:
        # it came like this: captured by the backend, or said by a tool of the user's
        return None
    return Saved(stub["path"], original if isinstance(original, str) else None, said)


def _text_of(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    blocks = [block.get("text") for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    return next((text for text in blocks if isinstance(text, str)), None)


def _names_for(call_id: str) -> tuple[str, ...]:
    """Return the names a call's result may be saved under (``sanitize_tool_call_id``, 0.7.32 and before)."""
    name = re.sub(r"[./\\]", "_", call_id)
    if len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME:
        return (name,)
    return (name, f"call-{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()}")


def _blobs(message: BaseMessage, returned: Mapping[str, Any]) -> Iterator[Blob]:
    if not isinstance(message, ToolMessage) or not isinstance(message.content, list):
        return
    hashes = {block.get("deepagents_blob") for block in message.content if isinstance(block, Mapping)}
    original = getattr(returned.get(message.tool_call_id), "content", None)
    for block in original if isinstance(original, list) else []:
        encoded = block.get("base64") if isinstance(block, Mapping) else None
        if not isinstance(encoded, str):
            continue
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 in hashes:
            yield Blob(sha256, data)
