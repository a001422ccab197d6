"""A program that runs an agent, run twice: as it stands and with a handler; what both left, and what was recorded."""

import contextlib
import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eqty_sdk.context import graph_context
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.lineage import Lineage, Step
from support.sdk import new_context, second

TIMES = {"created_at", "modified_at", "last_checked_at", "last_updated_at"}


class SharedModel(BaseChatModel):
    """A model that several agents share, at once too: it goes on with the script of the talk it is shown.

    A script belongs to the first talk whose first message of a person holds its key, and its next turn is the one
    after as many as the talk has.
    """

    model_name: str = "shared"
    scripts: dict[str, list[Any]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = next(message.text for message in messages if message.type == "human")
        turns = next(turns for key, turns in self.scripts.items() if key in asked)
        turn = turns[sum(message.type == "ai" for message in messages)]
        if isinstance(turn, Exception):
            raise turn
        return ChatResult(generations=[ChatGeneration(message=turn.model_copy(deep=True))])


def attached(handler: EqtyDeepAgentsHandler | None, **config: Any) -> dict[str, Any]:
    """A run's configuration, with the handler if there is one."""
    return config if handler is None else {**config, "callbacks": [handler]}


def outcome(value: Any) -> Any:
    """What a program returned, without what no two runs have in common: the ids of messages, and times."""
    if isinstance(value, BaseMessage):
        return value.model_dump(exclude={"id"})
    if isinstance(value, dict):
        return {key: outcome(one) for key, one in value.items() if key not in TIMES}
    return [outcome(one) for one in value] if isinstance(value, list | tuple) else value


def tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder, but for manifests."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.parent.name != "manifests"}


@dataclass(frozen=True)
class Twice:
    """A program's runs."""

    plain: tuple[Any, dict[str, bytes]]
    """What it returned and the files it left, without a handler."""
    recorded: tuple[Any, dict[str, bytes]]
    result: Any
    """What it returned with the handler, as it is."""
    folder: Path
    handler: EqtyDeepAgentsHandler
    said: list[str]
    """What the handler logged."""

    def lineage(self, manifest: str, **expected: Any) -> Lineage:
        """A manifest the program exported, held to the rules."""
        return Lineage(json.loads((self.folder / manifest).read_bytes())).held(**expected)


def twice(
    folder: Path,
    prepare: Callable[[Path], None],
    program: Callable[[Path, EqtyDeepAgentsHandler | None], Any],
    **options: Any,
) -> Twice:
    """Run a program without a handler and with one, each time in the same folder, prepared anew, as current folder."""
    handler = EqtyDeepAgentsHandler(**options)
    left, result = [], None
    records: list[logging.LogRecord] = []
    listener = logging.Handler()
    listener.emit = records.append  # type: ignore[method-assign]
    logging.getLogger("eqty.deepagents").addHandler(listener)
    for attach in (None, handler):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        prepare(folder)
        with graph_context(new_context()), second(), contextlib.chdir(folder):
            result = program(folder, attach)
        left.append((outcome(result), tree(folder)))
    logging.getLogger("eqty.deepagents").removeHandler(listener)
    return Twice(left[0], left[1], result, folder, handler, [record.getMessage() for record in records])


# --- what an example's manifest is asked


def given(lineage: Lineage, call_id: str) -> Any:
    """The arguments a tool call was recorded with."""
    return _payload(lineage, lineage.tool(call_id).inputs, "input")


def returned(lineage: Lineage, call_id: str) -> Any:
    """The result a tool call was recorded with."""
    return _payload(lineage, lineage.tool(call_id).outputs, "output")


def _payload(lineage: Lineage, cids: tuple[str, ...], side: str) -> Any:
    (cid,) = [
        cid for cid in cids if any(str(one.get("name", "")).endswith(f": {side}") for one in lineage.metadata[cid])
    ]
    return lineage.payload(cid)


def asked_in(lineage: Lineage, call_id: str) -> tuple[Step, dict[str, Any]]:
    """The model turn that asked for a tool call, and what it asked for; the call has that turn's answer as an input."""
    ((answer, asked),) = [
        (cid, call)
        for cid in set(lineage.tool(call_id).inputs) & set(lineage.assets("Reasoning"))
        for message in lineage.payload(cid)
        for call in message.get("tool_calls", [])
        if call["id"] == call_id
    ]
    (turn,) = [turn for _, turn in lineage.turns() if answer in turn.outputs]
    return turn, asked


def prompts(lineage: Lineage, agent: str | None = None) -> list[str]:
    """What the model was shown, turn by turn, as text."""
    shown = set(lineage.assets("Prompt"))
    return [json.dumps(lineage.payload(cid)) for one, _ in lineage.turns(agent) for cid in one.inputs if cid in shown]


def agents(lineage: Lineage) -> set[str]:
    return {str(step.fields["agent"]) for step in lineage.steps}
