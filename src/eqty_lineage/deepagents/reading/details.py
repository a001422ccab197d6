"""What a step was given and what it gave: prompts, answers, arguments, outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import Document, parsed
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Call, Cid, Detail, Entity, Kind, Message, Step
from eqty_lineage.deepagents.reading.statements import Statements
from eqty_lineage.deepagents.references import NotExpandableError, expand

_ROLES: Final = {"user": "human", "assistant": "ai"}


class Details:
    """Looks up the contents of steps."""

    def __init__(self, statements: Statements, document: Document) -> None:
        self._entities: Mapping[Cid, Entity] = statements.entities
        self._document = document
        self._blobs = {"blobs": document.blobs}

    def of(self, step: Step) -> Detail:
        """Return what a step was given and gave."""
        missing: list[str] = []
        if step.kind is Kind.TURN:
            model = self._first(step.inputs, "Model", missing)
            answers = [cid for part in step.parts for cid in part.outputs if self._is(cid, "Reasoning")]
            answer = tuple(messages(self._payload(answers[-1], missing))) if answers else ()
            return Detail(
                prompt=self.prompt(step, missing),
                answer=answer,
                arguments=None,
                output=None if answers else self._output(step, missing),
                model=model,
                source="",
                usage=next((use for message in answer if (use := _usage(message.raw))), {}),
                missing=tuple(missing),
            )
        given = [cid for cid in step.inputs if self._named(cid, f"{step.name}: input", f"{step.name}: input state")]
        given.sort(key=lambda cid: not self._named(cid, f"{step.name}: input"))
        return Detail(
            prompt=(),
            answer=(),
            arguments=self._payload(given[0], missing) if given else None,
            output=self._output(step, missing),
            model=None,
            source=self._source(step, missing),
            usage={},
            missing=tuple(missing),
        )

    def prompt(self, step: Step, missing: list[str]) -> tuple[Message, ...]:
        """Return a turn's prompt."""
        cid = next((cid for cid in step.inputs if self._is(cid, "Prompt")), None)
        return tuple(messages(self._payload(cid, missing))) if cid else ()

    def _output(self, step: Step, missing: list[str]) -> Any:
        """Return a result: an asset that says so by its name, else the first that is no file."""
        last = step.parts[-1].outputs
        made = [cid for cid in last if self._named(cid, f"{step.name}: output", f"{step.name}: output state")]
        made = made or [cid for cid in last if not any("file_path" in one for one in self._entities[cid].metadata)]
        return self._payload(made[0], missing) if made else None

    def _source(self, step: Step, missing: list[str]) -> str:
        cid = next((cid for cid in step.inputs if self._is(cid, "Tool")), None)
        content = self._bytes(cid, missing) if cid else None
        return content.decode("utf-8", "replace") if content else ""

    def _first(self, cids: Iterable[Cid], kind: str, missing: list[str]) -> Any:
        return next((self._payload(cid, missing) for cid in cids if self._is(cid, kind)), None)

    def _is(self, cid: Cid, kind: str) -> bool:
        return kind in self._entities[cid].types

    def _named(self, cid: Cid, *names: str) -> bool:
        return any(name in names for name in self._entities[cid].names)

    def _bytes(self, cid: Cid, missing: list[str]) -> bytes | None:
        entity = self._entities[cid]
        name = entity.names[0] if entity.names else "a content"
        if entity.withheld:
            missing.append(f"{name} ({cid}) is withheld")
            return None
        try:
            content = self._document.blob(cid)
        except ReadingError as error:
            missing.append(f"{name}: {error}")
            return None
        if content is None:
            missing.append(f"{name} ({cid}) is not in the manifest")
        return content

    def _payload(self, cid: Cid, missing: list[str]) -> Any:
        """Return a content with what it refers to in its place: a JSON value, or text where it is no JSON."""
        content = self._bytes(cid, missing)
        if content is None:
            return None
        try:
            value = parsed(content)
        except ReadingError:
            return content.decode("utf-8", "replace")
        try:
            return expand(value, self._blobs)
        except (NotExpandableError, RecursionError, KeyError, TypeError, AttributeError) as error:
            missing.append(f"not all that {cid} refers to is there: {str(error) or type(error).__name__}")
            return value


def messages(payload: Any) -> Iterator[Message]:
    """Yield the messages of a prompt or a response, which is a list of them, or of such lists."""
    if isinstance(payload, dict) and isinstance(payload.get("generations"), list):
        payload = payload["generations"]
    for outer in payload if isinstance(payload, list) else [payload]:
        for one in outer if isinstance(outer, list) else [outer]:
            if isinstance(one, dict):
                yield _message(one)
            elif isinstance(one, str):
                yield Message("human", one, (), "", "", one)


def _message(raw: Mapping[str, Any]) -> Message:
    role = raw.get("role") or raw.get("type")
    role = role if isinstance(role, str) else ""
    return Message(
        role=_ROLES.get(role, role),
        text=text(raw.get("content")),
        calls=tuple(_calls(raw)),
        name=str(raw.get("name") or ""),
        call_id=str(raw.get("tool_call_id") or ""),
        raw=raw,
    )


def text(content: Any) -> str:
    """Return the text of a message's content: itself, or its text blocks, joined."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    parts = [one if isinstance(one, str) else one.get("text") for one in blocks if isinstance(one, str | dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _calls(raw: Mapping[str, Any]) -> Iterator[Call]:
    for key in ("tool_calls", "invalid_tool_calls"):
        calls = raw.get(key)
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield Call(str(call.get("id") or ""), str(call.get("name") or ""), call.get("args"))


def _usage(raw: Any) -> Mapping[str, Any]:
    for key in ("usage", "usage_metadata"):
        usage = raw.get(key) if isinstance(raw, dict) else None
        if isinstance(usage, dict):
            return usage
    return {}
