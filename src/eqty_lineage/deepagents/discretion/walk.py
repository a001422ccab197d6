"""How a payload is stored without credentials and without what a content policy withholds.

A payload is JSON data. What is replaced: values under a credential's name, at any depth and inside JSON text; what a
tool call would write to a withheld file, and what such a call returned; files under a withheld path; and wherever else
they turn up, the lines of withheld files. What is not changed is returned as it is, the same object. Mappings of
another class than ``dict`` are this package's own (references, marks, maps of paths to CIDs) and taken as they are.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from eqty_lineage.deepagents.discretion.calls import OF_CONTENT, OF_PATHS, Call, holds_bytes
from eqty_lineage.deepagents.discretion.glance import is_clean, is_clean_text, may_quote_credentials
from eqty_lineage.deepagents.discretion.lines import BLANK, SHORTEST
from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.names import (
    REDACTED,
    is_credential,
    is_path,
    may_stay,
    redact_command,
    redact_quoted,
)

_MANY: Final = 24
"""Values from which a list or mapping is glanced at before it is walked through."""
_MEMBER: Final = re.compile(r'(?P<name>"[^"\\]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[\[{].*|[^\s,}\]"]+)', re.DOTALL)
"""A name and its value in JSON text that may break off."""
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |(?:\+\+\+|---) (?:[ab](?=/))?)(\S+)", re.MULTILINE
)
"""Which files a patch is for."""
_OF_SCHEMAS: Final = frozenset({"default", "const", "enum", "example", "examples"})
"""What of a parameter's schema is a value."""
_OF_ARGUMENTS: Final = ("args", "arguments", "input", "partial_json")
"""Where a call has what it was asked with."""
_OF_CALLS: Final = frozenset({"tool_call", "tool_use", "function_call", "server_tool_use", "tool_call_chunk"})
_OF_RESULTS: Final = frozenset({"tool", "tool_result", "function_call_output"})
_OF_IDS: Final = ("tool_call_id", "tool_use_id", "call_id")
_OF_COMMANDS: Final = frozenset({"command", "cmd", "url", "uri", "href", "endpoint"})
_USAGE: Final = frozenset({"usage", "usage_metadata", "token_usage"})
_SHORT_TEXT: Final = 20_000
"""Characters up to which prose is searched for quoted values of credentials."""


class Discretion:
    """Refines the payloads of one conversation."""

    def __init__(self, memory: Memory) -> None:
        """``memory`` is what the conversation has shown so far, and learns from each payload."""
        self.memory = memory

    @property
    def generation(self) -> int:
        """A number that grows when what was refined before may have to be refined again."""
        return len(self.memory.lines)

    def refine(self, payload: Any, *, call: Call | None = None) -> Any:
        """Return a payload as it may be stored; ``call`` is the call it is the result of, if that is withheld."""
        before = self.generation
        refined = self._refined(payload, call)
        if self.generation != before:
            # what was learned at its end may stand at its beginning
            refined = self._refined(payload, call)
        return refined

    def _refined(self, payload: Any, call: Call | None) -> Any:
        if call is not None and type(payload) is dict and not call.may_show(payload.get("content")):
            content = payload.get("content")
            self.memory.learn_result(call, content)
            payload = {**payload, "content": self.memory.mark(content, call.path)}
        return self._walk(payload, glanced=False)

    def _walk(self, payload: Any, *, glanced: bool) -> Any:
        """``glanced`` says that what the payload stands in was found not to be clean."""
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
            # its source is what ran, to the letter
            return self.memory.lines.blank(payload) if isinstance(payload, str) else payload
        return {key: self._parameter(key, value) for key, value in payload.items()}

    def _parameter(self, name: str, value: Any) -> Any:
        if not is_credential(name) or may_stay(name, value):
            return self.refine_schema(value)
        return _without_values(value) if type(value) is dict else REDACTED

    def result(self, payload: Any, call: Call) -> Any:
        """Return the payload of a withheld call's result that is no message."""
        self.memory.learn_result(call, payload)
        return self.memory.mark(payload, call.path)

    def _list(self, payload: list[Any], glanced: bool) -> list[Any]:  # noqa: FBT001
        refined: list[Any] | None = None
        for at, item in enumerate(payload):
            new = self._walk(item, glanced=glanced)
            if new is not item:
                refined = list(payload) if refined is None else refined
                refined[at] = new
        return payload if refined is None else refined

    def _mapping(self, payload: dict[str, Any], glanced: bool) -> dict[str, Any]:  # noqa: FBT001
        carried = self._carried(payload) if self.memory.policy is not None else {}
        refined: dict[str, Any] | None = None
        for key, item in payload.items():
            if key in carried:
                new = carried[key]
            elif key in _USAGE:
                new = item
            elif key == "key" and "value" in payload and isinstance(item, str):
                # the name of what stands beside it
                new = item
            elif (is_credential(key) and not may_stay(key, item)) or (key == "value" and _is_credentials(payload)):
                new = REDACTED if item else item
            elif type(item) is str:
                new = self._member(key, item)
            else:
                new = self._walk(item, glanced=glanced)
            if new is not item:
                refined = dict(payload) if refined is None else refined
                refined[key] = new
        if refined is not None and any(refined[key] is not payload[key] for key in _OF_ARGUMENTS if key in payload):
            # what describes a call to a person says its arguments again
            refined |= {"description": BLANK} if isinstance(payload.get("description"), str) else {}
        return self._without_names(payload if refined is None else refined)

    def _member(self, key: str, text: str) -> Any:
        if key in OF_PATHS and not re.search(r"\s", text):
            # which file it is about may be told
            return text
        if key in _OF_COMMANDS and len(text) <= _SHORT_TEXT:
            text = redact_command(text)
        return self._arguments(text) if key in _OF_ARGUMENTS else self._text(text)

    def _without_names(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return a mapping without lines of withheld files among its names."""
        lines = self.memory.lines
        if not len(lines) or not any(
            len(key) >= SHORTEST and not is_path(key) and lines.found_in(key) for key in payload
        ):
            return payload
        return {key if is_path(key) else lines.blank(key): item for key, item in payload.items()}

    def _carried(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return what stands for the values that carry bytes of a withheld file."""
        memory = self.memory
        self._meet(payload)
        carried = self._of_result(payload)
        path = self._path_of(payload)
        if path is not None:
            for key in OF_CONTENT & payload.keys() - carried.keys():
                memory.learn(payload[key])
                carried[key] = memory.mark(payload[key], path)
        for key, item in payload.items():
            if key in carried or item is None:
                continue
            if _may_be_path(key) and type(item) in {str, dict, list} and memory.fits(key):
                memory.learn(item)
                carried[key] = memory.mark(item, key)
            elif key in {"command", "cmd"} and isinstance(item, str) and holds_bytes(item):
                named = memory.named_in(item)
                if named is not None:
                    carried[key] = memory.mark(item, named)
        return carried

    def _of_result(self, payload: dict[str, Any]) -> dict[str, Any]:
        if not _is(payload, "role", _OF_RESULTS) and not _is(payload, "type", _OF_RESULTS):
            return {}
        call = next((call for key in _OF_IDS if (call := self.memory.call(payload.get(key))) is not None), None)
        for key in ("content", "output"):
            content = payload.get(key)
            if call is None and payload.get("name") == "grep" and isinstance(content, str):
                path = self.memory.shown_by_search(content)
                call = None if path is None else Call("grep", path)
            if content and call is not None and not call.may_show(content):
                self.memory.learn_result(call, content)
                return {key: self.memory.mark(content, call.path)}
        return {}

    def _meet(self, payload: dict[str, Any]) -> None:
        """Look at the tool calls of a message before what else it says."""
        calls = payload.get("tool_calls", payload.get("action_requests"))
        if isinstance(calls, list):
            for call in calls:
                self._meet_call(call)
        elif _is(payload, "type", _OF_CALLS):
            self._meet_call(payload)

    def _meet_call(self, call: Any) -> None:
        if type(call) is not dict:
            return
        function = call.get("function")
        asked: dict[str, Any] = function if isinstance(function, dict) else call
        arguments = next((asked[key] for key in _OF_ARGUMENTS if key in asked), None)
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = None
        self.memory.meet(str(asked.get("name")), arguments, call.get("call_id", call.get("id")))

    def _path_of(self, payload: dict[str, Any]) -> str | None:
        named = [payload[key] for key in OF_PATHS if key in payload]
        if "name" in payload and not payload.keys() & {"role", "type", "args", "tool_calls"}:
            named.append(payload["name"] if _may_be_path(payload["name"]) else None)
        named += [found for key in ("patch", "diff", "input") for found in _PATCHED.findall(_as_text(payload.get(key)))]
        about = payload.get("metadata")
        if type(about) is dict and "page_content" in payload:
            named += [about.get(key) for key in OF_PATHS]
        return next((path for path in named if self.memory.fits(path)), None)

    def _text(self, text: str) -> str:
        if text in self.memory.texts:
            return BLANK
        start = text.lstrip()[:1] if text[:1] in " \t\r\n" else text[:1]
        if start and start in "{[":
            text = self._json(text)
        if len(text) <= _SHORT_TEXT and may_quote_credentials(text):
            text = redact_quoted(text)
        lines = self.memory.lines
        return lines.blank(text) if len(lines) else text

    def _json(self, text: str) -> str:
        """Refine JSON text, or lines of JSON; of what breaks off, the credentials go."""
        if is_clean_text(text, self.memory):
            return text
        try:
            payload = json.loads(text)
            refined = self._walk(payload, glanced=True)
        except (ValueError, RecursionError):
            rows = text.splitlines()
            if len(rows) > 1 and all(row[:1] in "{[" for row in rows if row):
                return "\n".join(self._json(row) if row else row for row in rows)
            return _MEMBER.sub(_redacted, text)
        return text if refined is payload else json.dumps(refined)

    def _arguments(self, text: str) -> Any:
        """Refine the arguments of a call as text; those that broke off are withheld whole, if they name a file."""
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            if any(f'"{key}"' in text for key in OF_PATHS):
                words = text.split('"', 2_000)
                path = next((word for word in words if len(word) < _SHORT_TEXT and self.memory.fits(word)), None)
                if path is not None:
                    return self.memory.mark(text, path)
        return self._text(text)


def _is(payload: dict[str, Any], key: str, kinds: frozenset[str]) -> bool:
    kind = payload.get(key)
    return isinstance(kind, str) and (kind in kinds or (kinds is _OF_RESULTS and kind.endswith("_tool_result")))


def _is_credentials(payload: dict[str, Any]) -> bool:
    """Whether a mapping gives the name of a credential beside its ``value``, as lists of variables and headers do."""
    return any(isinstance(name := payload.get(key), str) and is_credential(name) for key in ("name", "key", "header"))


def _may_be_path(name: object) -> bool:
    return isinstance(name, str) and ("/" in name or "." in name)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _redacted(member: re.Match[str]) -> str:
    return f'{member["name"]}"{REDACTED}"' if is_credential(member["name"].strip('": \n\t')) else member[0]


def _without_values(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: REDACTED if key in _OF_SCHEMAS and value is not None else value for key, value in schema.items()}
