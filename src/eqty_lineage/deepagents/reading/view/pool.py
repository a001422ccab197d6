"""What the page holds once, however often it is shown: texts, messages, CIDs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from eqty_lineage.deepagents.reading.model import Cid, Entity, Message

LONGEST: Final = 400_000
"""Characters of one text that the page holds; the manifest has the rest, and the page says how much that is."""


class Pool:
    """Texts, messages and CIDs by number, in the order first met."""

    def __init__(self, entities: Mapping[Cid, Entity]) -> None:
        self.texts: list[Any] = []
        self.messages: list[dict[str, Any]] = []
        self.cids: list[list[Any]] = []
        self.words: list[str] = []
        self._entities = entities
        self._text_numbers: dict[str, int] = {}
        self._message_numbers: dict[tuple[Any, ...], int] = {}
        self._known: dict[int, tuple[Message, int]] = {}
        self._cid_numbers: dict[str, int] = {}
        self._word_numbers: dict[str, int] = {}
        self._sequence = 0

    def text(self, text: str) -> int:
        """Return the number of a text."""
        number = self._text_numbers.get(text)
        if number is None:
            number = self._text_numbers[text] = len(self.texts)
            self.texts.append(text if len(text) <= LONGEST else {"cut": text[:LONGEST], "of": len(text)})
        return number

    def word(self, word: str) -> int:
        """Return the number of a name: few, and in every step."""
        number = self._word_numbers.get(word)
        if number is None:
            number = self._word_numbers[word] = len(self.words)
            self.words.append(word)
        return number

    def sequence(self, sequence: int | None) -> int | None:
        """Return how far a computation is from the one before it: shorter than sixteen digits."""
        if sequence is None:
            return None
        before, self._sequence = self._sequence, sequence
        return sequence - before

    def value(self, value: Any) -> list[Any]:
        """Return the number of a text, and whether it is JSON rather than the text itself."""
        return [self.text(value)] if isinstance(value, str) else [self.text(written(value)), 1]

    def message(self, message: Message) -> int:
        """Return the number of a message: equal messages are one, in however many prompts they stand."""
        known = self._known.get(id(message))
        if known is not None:
            return known[1]
        calls = tuple((call.id, call.name, written(call.arguments)) for call in message.calls)
        key = (message.role, message.text, message.name, message.call_id, calls, _others(message.raw))
        number = self._message_numbers.get(key)
        if number is None:
            number = self._message_numbers[key] = len(self.messages)
            self.messages.append(self._shown(message))
        self._known[id(message)] = (message, number)  # held, so that its id stays its own
        return number

    def cid(self, cid: str) -> int:
        """Return the number of a CID."""
        number = self._cid_numbers.get(cid)
        if number is None:
            number = self._cid_numbers[cid] = len(self.cids)
            entity = self._entities.get(Cid(cid))
            if entity is None:
                self.cids.append([cid])
            else:
                name = entity.names[0] if entity.names else ""
                self.cids.append([cid, self.word(name), entity.size, *([1] if entity.withheld else [])])
        return number

    def _shown(self, message: Message) -> dict[str, Any]:
        shown: dict[str, Any] = {"r": message.role, "t": self.text(message.text)}
        if message.calls:
            shown["c"] = [[call.name, call.id, *self.value(call.arguments)] for call in message.calls]
        if message.name:
            shown["n"] = message.name
        if message.call_id:
            shown["i"] = message.call_id
        if others := _others(message.raw):
            shown["o"] = list(others)
        return shown


def written(value: Any) -> str:
    """Return a JSON value as it is shown: indented, in its own script, its keys in the order recorded."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _others(raw: Any) -> tuple[str, ...]:
    """Return the types of a message's blocks that are no text: they are named, and not shown."""
    if not isinstance(raw, Mapping):
        return ()
    inner = next((raw[key] for key in ("data", "kwargs") if isinstance(raw.get(key), Mapping)), raw)
    blocks = inner.get("content")
    if not isinstance(blocks, list | tuple):
        return ()
    kinds = (str(block.get("type", "block")) if isinstance(block, Mapping) else "" for block in blocks)
    return tuple(kind for kind in kinds if kind not in {"", "text", "tool_use", "tool_call"})
