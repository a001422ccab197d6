"""Deep agents whose model follows a script, and running them under a handler.

Only :func:`agent` and a planning :func:`subagent` need DeepAgents: the rest also serves where it is not installed.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from eqty_sdk.context import graph_context
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.lineage import Lineage
from support.sdk import new_context, second

WRITTEN_AT = "2026-01-01T00:00:00+00:00"


class ScriptedModel(GenericFakeChatModel):
    """Gives the next message of its script, whatever it is asked."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        message = next(self.messages)
        for word in re.findall(r"\S+\s*", message.content):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        calls = [
            tool_call_chunk(name=asked_for["name"], args=json.dumps(asked_for["args"]), id=asked_for["id"], index=index)
            for index, asked_for in enumerate(message.tool_calls)
        ]
        if calls:
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=calls))


def model(*script: AIMessage | BaseException) -> ScriptedModel:
    return ScriptedModel(messages=iter(script))


def call(tool: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "id": call_id, "args": arguments}


def asks(*calls: dict[str, Any], text: str = "") -> AIMessage:
    """A model turn that asks for tool calls, all in one message."""
    return AIMessage(content=text, tool_calls=list(calls))


def says(text: str = "done") -> AIMessage:
    return AIMessage(content=text)


def script(*turns: dict[str, Any] | AIMessage) -> list[AIMessage]:
    """One call a turn, and a last word if the script has none."""
    messages = [turn if isinstance(turn, AIMessage) else asks(turn) for turn in turns]
    return messages if messages and not messages[-1].tool_calls else [*messages, says()]


def agent(
    *turns: dict[str, Any] | AIMessage, plan: bool = False, middleware: Sequence[Any] = (), **options: Any
) -> Any:
    """A deep agent that follows a script; with ``plan`` it has ``write_todos``."""
    from deepagents import create_deep_agent  # noqa: PLC0415 - the one function that needs it

    options.setdefault("model", model(*script(*turns)))
    options.setdefault("name", "researcher")
    options.setdefault("system_prompt", "You are a researcher.")
    planning = _planning() if plan else []
    return create_deep_agent(middleware=[*planning, *middleware], **options)


def subagent(
    name: str, *turns: dict[str, Any] | AIMessage, plan: bool = False, middleware: Sequence[Any] = (), **options: Any
) -> Any:
    """The specification of a subagent that follows a script of its own."""
    planning = _planning() if plan else []
    return {
        "name": name,
        "description": f"Helps as {name}.",
        "system_prompt": f"You are {name}.",
        "model": model(*script(*turns)),
        "middleware": [*planning, *middleware],
        **options,
    }


def _planning() -> list[Any]:
    from langchain.agents.middleware import TodoListMiddleware  # noqa: PLC0415 - the one function that needs it

    return [TodoListMiddleware()]


def write(call_id: str, path: str, content: str) -> dict[str, Any]:
    return call("write_file", call_id, file_path=path, content=content)


def edit(call_id: str, path: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    return call("edit_file", call_id, file_path=path, old_string=old, new_string=new, **more)


def read(call_id: str, path: str, **window: Any) -> dict[str, Any]:
    return call("read_file", call_id, file_path=path, **window)


def delete(call_id: str, path: str) -> dict[str, Any]:
    return call("delete", call_id, file_path=path)


def execute(call_id: str, command: str) -> dict[str, Any]:
    return call("execute", call_id, command=command)


def task(call_id: str, name: str, description: str = "Do it.") -> dict[str, Any]:
    return call("task", call_id, description=description, subagent_type=name)


def todos(*contents: str, status: str = "pending") -> list[dict[str, str]]:
    return [{"content": content, "status": status} for content in contents]


def file_data(content: str | list[str], **fields: Any) -> dict[str, Any]:
    return {"content": content, "encoding": "utf-8", "created_at": WRITTEN_AT, "modified_at": WRITTEN_AT, **fields}


def asked(text: str = "go", files: dict[str, Any] | None = None, **state: Any) -> dict[str, Any]:
    """What an agent is called with."""
    return {"messages": [HumanMessage(text)], **({} if files is None else {"files": files}), **state}


class Session:
    """One handler, a context of its own, and the turns that run under them."""

    def __init__(self, handler: EqtyDeepAgentsHandler | None = None, **options: Any) -> None:
        self.context = new_context()
        self.handler = handler or EqtyDeepAgentsHandler(**options)
        self.answer: Any = None

    def config(self, thread: str | None = None, **config: Any) -> dict[str, Any]:
        configurable = {**config.pop("configurable", {}), **({} if thread is None else {"thread_id": thread})}
        return {"callbacks": [self.handler], "recursion_limit": 120, "configurable": configurable, **config}

    def invoke(self, runnable: Any, inputs: Any = None, *, thread: str | None = None, **config: Any) -> Any:
        with graph_context(self.context), second():
            self.answer = runnable.invoke(asked() if inputs is None else inputs, self.config(thread, **config))
        return self.answer

    def ainvoke(self, runnable: Any, inputs: Any = None, *, thread: str | None = None, **config: Any) -> Any:
        async def run() -> Any:
            return await runnable.ainvoke(asked() if inputs is None else inputs, self.config(thread, **config))

        with graph_context(self.context), second():
            self.answer = asyncio.run(run())
        return self.answer

    def lineage(self, *, thread: str | None = None, **expected: Any) -> Lineage:
        """What was recorded, read from a manifest exported now; see :meth:`Lineage.of`."""
        if thread is not None:
            return Lineage.of(self.handler.contexts[thread], **expected)
        assert self.handler.flush()
        return Lineage.of(self.context, **expected)

    def results(self) -> dict[str, Any]:
        """The tool messages of the last answer by the id of their call."""
        return {message.tool_call_id: message for message in self.answer["messages"] if message.type == "tool"}


def run(runnable: Any, inputs: Any = None, **options: Any) -> tuple[Session, Lineage]:
    """Run an agent once under a handler of its own."""
    session = Session(**options)
    session.invoke(runnable, inputs)
    return session, session.lineage()


def reasons(handler: EqtyDeepAgentsHandler) -> set[str]:
    """Why a handler has gaps."""
    return {why.name for why in handler.gaps.counts}


def errors_of_callbacks(messages: Iterable[str]) -> list[str]:
    """The lines with which LangChain reports that a handler raised."""
    return [message for message in messages if message.startswith("Error in ")]
