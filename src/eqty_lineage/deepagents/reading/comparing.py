"""What differs between two runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from eqty_lineage.deepagents.reading import blaming, naming
from eqty_lineage.deepagents.reading.aligning import Order, Pair, align
from eqty_lineage.deepagents.reading.answers import Change, Comparison
from eqty_lineage.deepagents.reading.differing import unified
from eqty_lineage.deepagents.reading.model import Cid, Detail, File, Kind, Message, Step, Version

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

Topic = Literal["files", "steps", "tools", "model", "system prompt", "prompt", "plan", "agents", "recording"]
TOPICS: Final[tuple[Topic, ...]] = (
    "files",
    "steps",
    "tools",
    "model",
    "system prompt",
    "prompt",
    "plan",
    "agents",
    "recording",
)
_DETAIL: Final = 200
"""Lines of a change's diff."""
_IDENTITIES: Final = {"id", "tool_call_id"}
"""Keys whose values are made anew in each run."""


def compare(run: Run, other: Run) -> Comparison:
    """Return what differs between two runs.

    Steps are put side by side by lane, kind and name; lanes by the agents down to them, in the order that their tasks
    were asked for. Compared are: what each path held last, and its versions; of steps beside one another how they
    ended, what was asked and what came of it; the source of tools of one name; models; system prompts and plans, agent
    by agent; the persons' questions; agents; and what recorded the runs. Run ids, call ids and times are not compared.

    What cannot be compared is in neither :attr:`Comparison.changes` nor :attr:`Comparison.same`: contents that are
    withheld and whose identity is hidden too.
    """
    found = _Found()
    first, second = Order(run), Order(other)
    _files(found, run, other)
    aligned = align(first, second)
    _steps(found, run, other, aligned, (first, second))
    _named(found, "tools", _tools(run), _tools(other))
    _named(found, "model", _models(run), _models(other))
    _listed(found, "system prompt", _system_prompts(run, first), _system_prompts(other, second))
    questions = [{"question": [root.question for root in one.roots]} for one in (run, other)]
    _listed(found, "prompt", questions[0], questions[1])
    _listed(found, "plan", _plans(run, first), _plans(other, second))
    agents = [{one.name: one.role or "agent" for one in each.agents} for each in (run, other)]
    _valued(found, "agents", agents[0], agents[1])
    _valued(found, "recording", _recording(run), _recording(other))
    order = {topic: at for at, topic in enumerate(TOPICS)}
    return Comparison(
        changes=tuple(sorted(found.changes, key=lambda change: order[change.topic])),
        same={topic: found.same[topic] for topic in TOPICS},
        aligned=tuple(aligned),
    )


class _Found:
    """What has been found so far."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.same: Counter[str] = Counter()

    def note(self, topic: Topic, what: str, before: str | None, after: str | None, detail: Sequence[str] = ()) -> None:
        """Note a change; ``None`` is what is not there."""
        kind: Literal["added", "removed", "changed"] = "changed"
        if before is None or after is None:
            kind = "added" if before is None else "removed"
        self.changes.append(Change(topic, kind, what, before or "", after or "", tuple(detail)))


# --- files


def _files(found: _Found, run: Run, other: Run) -> None:
    for path in sorted({*run.files, *other.files}):
        one, two = run.files.get(path), other.files.get(path)
        if one is None or two is None:
            found.note("files", path, _held(run, one), _held(other, two))
            continue
        if _hidden(run, one) or _hidden(other, two):
            continue
        ends = (one.last, two.last)
        if _same_end(one, two):
            ours, theirs = _versions(one), _versions(two)
            if ours == theirs:
                found.same["files"] += 1
            else:
                detail = unified("\n".join(ours), "\n".join(theirs), "versions", "versions", limit=_DETAIL)
                found.note("files", path, f"{len(ours)} versions", f"{len(theirs)} versions", detail)
            continue
        detail = ()
        if ends[0] is not None and ends[1] is not None:
            texts = run.text(ends[0]), other.text(ends[1])
            if texts[0] is not None and texts[1] is not None:
                detail = unified(texts[0], texts[1], path, path, limit=_DETAIL)
        found.note("files", path, _held(run, one), _held(other, two), detail)


def _same_end(one: File, two: File) -> bool:
    if one.last is None or two.last is None:
        return one.last is two.last and one.removed == two.removed
    return (one.last.cid, one.last.exact) == (two.last.cid, two.last.exact)


def _held(run: Run, file: File | None) -> str | None:
    if file is None:
        return None
    if file.last is None:
        return "removed" if file.removed else "not known"
    return f"{naming.name(run, file.last)} {file.last.cid}" if file.last.exact else blaming.why_no_text(run, file.last)


def _versions(file: File) -> list[str]:
    """Return the versions, whichever of two agents at once was first."""
    return sorted(_written(one) for one in file.versions)


def _written(version: Version) -> str:
    ordinal = "unknown" if version.ordinal is None else f"{version.ordinal}"
    return f"{ordinal} {version.cid} {'given' if not version.wrote else 'written'}"


def _hidden(run: Run, file: File) -> bool:
    """Whether a file's CIDs are those of marks, numbered at random, and say nothing of its content."""
    return any(one.withheld and one.cid in run.document.blobs for one in file.versions)


# --- steps


def _steps(found: _Found, run: Run, other: Run, aligned: Iterable[Pair], orders: tuple[Order, Order]) -> None:
    for one, two in aligned:
        if one is None or two is None:
            step = run.steps[one - 1] if one is not None else other.steps[(two or 1) - 1]
            what = _called(step, orders[0] if one is not None else orders[1])
            numbers = tuple(None if at is None else f"#{at}" for at in (one, two))
            found.note("steps", what, numbers[0], numbers[1])
            continue
        first, second = run.steps[one - 1], other.steps[two - 1]
        what = _called(first, orders[0])
        differs = False
        if first.status != second.status:
            states = (f"#{one} {first.status or 'not recorded'}", f"#{two} {second.status or 'not recorded'}")
            found.note("steps", what, *states)
            differs = True
        if first.kind in {Kind.TURN, Kind.TOOL, Kind.RETRIEVAL} and not _same_assets(run, first, other, second):
            for part, ours, theirs in _contents(run.detail(first), other.detail(second)):
                if ours != theirs:
                    detail = unified(ours, theirs, f"#{one} {part}", f"#{two} {part}", limit=_DETAIL)
                    found.note("steps", f"{what}: {part}", f"#{one}", f"#{two}", detail)
                    differs = True
        found.same["steps"] += not differs


def _called(step: Step, order: Order) -> str:
    lane = order.name[step.lane] or step.agent
    return f"{lane}: {step.name}" if lane else step.name


def _same_assets(run: Run, first: Step, other: Run, second: Step) -> bool:
    """Whether two steps were given and gave the very same, so that nothing needs to be looked up."""
    return _assets(run, first) == _assets(other, second)


def _assets(run: Run, step: Step) -> set[Cid]:
    own = {f"{step.name}: input", f"{step.name}: output"}
    cids = step.outputs if step.kind is Kind.TURN else (*step.inputs, *step.outputs)
    return {cid for cid in cids if step.kind is Kind.TURN or own & set(run.entities[cid].names)}


def _contents(first: Detail, second: Detail) -> Iterator[tuple[str, str, str]]:
    yield "answer", _said(first.answer), _said(second.answer)
    yield "arguments", _text(first.arguments), _text(second.arguments)
    yield "result", _text(first.output), _text(second.output)


def _said(messages: Iterable[Message]) -> str:
    return "\n".join(
        "\n".join([message.text, *(f"{call.name} {_text(call.arguments)}" for call in message.calls)])
        for message in messages
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(_without_identities(value), indent=1, sort_keys=True, ensure_ascii=False)


def _without_identities(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = _IDENTITIES | ({"content"} if "eqty:withheld" in value else set())  # a mark, numbered at random
        return {key: _without_identities(inner) for key, inner in value.items() if key not in dropped}
    return [_without_identities(inner) for inner in value] if isinstance(value, list) else value


# --- what they were made with


def _tools(run: Run) -> Mapping[str, Mapping[Cid, str]]:
    return _of_type(run, "Tool")


def _models(run: Run) -> Mapping[str, Mapping[Cid, str]]:
    return _of_type(run, "Model")


def _of_type(run: Run, kind: str) -> Mapping[str, Mapping[Cid, str]]:
    """Return the entities of a type, by their names, each with its content and description."""
    found: dict[str, dict[Cid, str]] = {}
    for cid, entity in run.entities.items():
        if kind in entity.types:
            for name in entity.names:
                said = sorted({text for one in entity.metadata if (text := one.get("description")) and text != name})
                found.setdefault(name, {})[cid] = "\n".join([_readable(run.content(cid)), *map(str, said)])
    return found


def _readable(content: bytes | None) -> str:
    if content is None:
        return ""
    text = content.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)


def _named(
    found: _Found, topic: Topic, ours: Mapping[str, Mapping[Cid, str]], theirs: Mapping[str, Mapping[Cid, str]]
) -> None:
    """Compare what stands under one name."""
    for name in sorted({*ours, *theirs}):
        one, two = ours.get(name), theirs.get(name)
        if one is None or two is None:
            cids = [None if each is None else ", ".join(sorted(each)) for each in (one, two)]
            found.note(topic, name, cids[0], cids[1])
        elif one == two:
            found.same[topic] += 1
        else:
            gone, come = (
                [text for cid, text in sorted(each.items()) if rest.get(cid) != text]
                for each, rest in ((one, two), (two, one))
            )
            detail = unified("\n".join(gone), "\n".join(come), name, name, limit=_DETAIL)
            found.note(topic, name, ", ".join(sorted(one)), ", ".join(sorted(two)), detail)


def _system_prompts(run: Run, order: Order) -> Mapping[str, list[str]]:
    """Return the system prompts of each lane's turns, each as it changed."""
    found: dict[str, list[str]] = {}
    for step in run.steps:
        for cid in step.inputs if step.kind is Kind.TURN else ():
            if "System_Prompt" in run.entities[cid].types:
                texts = found.setdefault(order.name[step.lane] or step.agent, [])
                text = _readable(run.content(cid)) or cid
                if texts[-1:] != [text]:
                    texts.append(text)
    return found


def _plans(run: Run, order: Order) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in run.plan:
        items = "\n".join(f"[{item.status}] {item.content}" for item in one.items)
        text = f"withheld: {one.cid}" if one.withheld else items
        found.setdefault(order.name.get(one.lane, "") or one.agent, []).append(text)
    return found


def _listed(found: _Found, topic: Topic, ours: Mapping[str, list[str]], theirs: Mapping[str, list[str]]) -> None:
    """Compare lists of texts, the n-th with the n-th."""
    for name in dict.fromkeys([*ours, *theirs]):
        first, second = ours.get(name, []), theirs.get(name, [])
        for at in range(max(len(first), len(second))):
            one, two = (texts[at] if at < len(texts) else None for texts in (first, second))
            if one == two:
                found.same[topic] += 1
                continue
            what = name if max(len(first), len(second)) == 1 else f"{name} {at + 1}"
            detail = unified(one, two, what, what, limit=_DETAIL) if one is not None and two is not None else ()
            found.note(topic, what, one, two, detail)


def _recording(run: Run) -> Mapping[str, str]:
    said = run.recording
    named = {"recorder": said.recorder, "framework": said.framework, **said.versions}
    return {name: value for name, value in named.items() if value}


def _valued(found: _Found, topic: Topic, ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) == theirs.get(name):
            found.same[topic] += 1
        else:
            found.note(topic, name, ours.get(name), theirs.get(name))
