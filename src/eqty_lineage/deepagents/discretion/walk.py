"""How a payload is stored without credentials and without what a content policy withholds.

A payload is JSON data. What is replaced: values under a credential's name, at any depth and inside JSON text; what a
tool call would write to a withheld file, and what such a call returned; files under a withheld path; and wherever else
they turn up, the lines of withheld files. What is not changed is returned as it is, the same object. Mappings of
another class than ``dict`` are this package's own (references, maps of paths to CIDs) and taken as they are.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from eqty_lineage.deepagents.discretion.glance import is_clean, is_clean_text
from eqty_lineage.deepagents.discretion.memory import KEY, OF_CONTENT, OF_PATHS, Memory
from eqty_lineage.deepagents.discretion.names import REDACTED, is_credential, may_stay
from eqty_lineage.deepagents.filesystem.contents import is_file_data

_MANY: Final = 24
"""Values from which a list or mapping is glanced at before it is walked through."""
_MEMBER: Final = re.compile(r'(?P<name>"[^"\\]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s,}\]"]+)')
"""A name and its value in JSON text that may break off."""
_OF_SCHEMAS: Final = frozenset({"default", "const", "enum", "example", "examples"})
"""What of a parameter's schema is a value."""


class Discretion:
    """Refines the payloads of one conversation."""

    def __init__(self, memory: Memory) -> None:
        """``memory`` is what the conversation has shown so far, and learns from each payload."""
        self.memory = memory

    @property
    def generation(self) -> int:
        """A number that grows when what was refined before may have to be refined again."""
        return len(self.memory.lines)

    def refine(self, payload: Any, *, glanced: bool = False) -> Any:
        """Return a payload as it may be stored; ``glanced`` says that what it stands in was found not to be clean."""
        if isinstance(payload, str):
            return self._text(payload)
        kind = type(payload)
        if kind is not dict and kind is not list:
            return payload
        if not glanced and len(payload) >= _MANY:
            if is_clean(payload, self.memory):
                return payload
            glanced = True
        refined: Any = self._mapping(payload, glanced) if kind is dict else self._list(payload, glanced)
        return refined

    def refine_schema(self, payload: Any) -> Any:
        """Return the description of a tool: a parameter named like a credential is a name, its default a value."""
        if type(payload) is list:
            return [self.refine_schema(item) for item in payload]
        if type(payload) is not dict:
            return self.refine(payload)
        return {key: self._parameter(key, value) for key, value in payload.items()}

    def _parameter(self, name: str, value: Any) -> Any:
        if not is_credential(name) or may_stay(name, value):
            return self.refine_schema(value)
        return _without_values(value) if type(value) is dict else REDACTED

    def result(self, payload: Any, path: str) -> Any:
        """Return the payload of a withheld call's result that is no message."""
        self.memory.learn_result(payload)
        return self.memory.mark(payload, path)

    def _list(self, payload: list[Any], glanced: bool) -> list[Any]:  # noqa: FBT001
        refined: list[Any] | None = None
        for at, item in enumerate(payload):
            new = self.refine(item, glanced=glanced)
            if new is not item:
                refined = list(payload) if refined is None else refined
                refined[at] = new
        return payload if refined is None else refined

    def _mapping(self, payload: dict[str, Any], glanced: bool) -> dict[str, Any]:  # noqa: FBT001
        if KEY in payload:
            return payload
        carried = self._carried(payload) if self.memory.policy is not None else {}
        refined: dict[str, Any] | None = None
        for key, item in payload.items():
            if key in carried:
                new = carried[key]
            elif is_credential(key) and not may_stay(key, item) and not is_file_data(item):
                new = REDACTED
            elif type(item) is str:
                new = self._text(item)
            else:
                new = self.refine(item, glanced=glanced)
            if new is not item:
                refined = dict(payload) if refined is None else refined
                refined[key] = new
        return payload if refined is None else refined

    def _carried(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return what stands for the values that carry bytes of a withheld file."""
        memory = self.memory
        self._meet(payload)
        carried: dict[str, Any] = {}
        role = payload.get("role")
        if role == "tool" or payload.get("type") == "tool":
            path = self._path_of_result(payload)
            if path is not None:
                memory.learn_result(payload.get("content"))
                carried["content"] = memory.mark(payload.get("content"), path)
        path = self._path_of(payload)
        if path is not None:
            carried |= {key: memory.mark(payload[key], path) for key in OF_CONTENT & payload.keys() - carried.keys()}
        for key, item in payload.items():
            if key in carried or item is None:
                continue
            if ("/" in key or is_file_data(item)) and type(item) in (str, dict, list) and memory.fits(key):
                memory.learn_result(item)
                carried[key] = memory.mark(item, key)
            elif key == "command" and isinstance(item, str) and memory.holds_bytes(item):
                named = memory.policy.path_in(item) if memory.policy is not None else None
                if named is not None:
                    carried[key] = memory.mark(item, named)
        return carried

    def _meet(self, payload: dict[str, Any]) -> None:
        """Look at the tool calls of a message before what else it says."""
        calls = payload.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:
                if isinstance(call, dict):
                    self.memory.meet(str(call.get("name")), call.get("args"), call.get("id"))
        elif payload.get("type") in {"tool_call", "tool_use"}:
            arguments = payload.get("args", payload.get("input"))
            self.memory.meet(str(payload.get("name")), arguments, payload.get("id"))

    def _path_of_result(self, payload: dict[str, Any]) -> str | None:
        content = payload.get("content")
        call = self.memory.call(payload.get("tool_call_id"))
        if call is not None:
            return None if call.may_show(content) else call.path
        if payload.get("name") == "grep" and isinstance(content, str):
            return self.memory.shown_by_search(content)
        return None

    def _path_of(self, payload: dict[str, Any]) -> str | None:
        for key in OF_PATHS:
            if key in payload and self.memory.fits(payload[key]):
                return str(payload[key])
        about = payload.get("metadata")
        source = about.get("source") if isinstance(about, dict) and "page_content" in payload else None
        return source if self.memory.fits(source) else None

    def _text(self, text: str) -> str:
        if text[:1] in "{[" and text:
            text = self._json(text)
        lines = self.memory.lines
        return lines.blank(text) if len(lines) else text

    def _json(self, text: str) -> str:
        """Refine JSON text; arguments of a call that broke off are withheld whole, if they name what is withheld."""
        if is_clean_text(text, self.memory):
            return text
        try:
            payload = json.loads(text)
        except (ValueError, RecursionError):
            return self._broken(text)
        refined = self.refine(payload)
        return text if refined is payload else json.dumps(refined)

    def _broken(self, text: str) -> str:
        if any(f'"{key}"' in text for key in OF_PATHS) and any(self.memory.fits(word) for word in text.split('"')):
            return json.dumps({KEY: "arguments that could not be read"})
        return _MEMBER.sub(_redacted, text)


def _redacted(member: re.Match[str]) -> str:
    return f'{member["name"]}"{REDACTED}"' if is_credential(member["name"].strip('": \n\t')) else member[0]


def _without_values(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: REDACTED if key in _OF_SCHEMAS and value is not None else value for key, value in schema.items()}
