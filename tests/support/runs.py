"""Recorded runs for whoever reads manifests: real agents with scripted models, the real SDK, every statement signed.

Each function returns the bytes of an exported manifest, the same ones throughout a process. What a run did stands in
its script and nowhere else: tests take their expectations from the constants here, not from a reader.
"""

import functools
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import eqty_sdk
from deepagents.backends import LocalShellBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from eqty_sdk import Context
from eqty_sdk.context import graph_context
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from eqty_lineage.deepagents import EqtyCallbackHandler, EqtyDeepAgentsHandler
from support.agents import (
    agent,
    asked,
    asks,
    call,
    delete,
    edit,
    execute,
    model,
    read,
    says,
    script,
    subagent,
    task,
    todos,
    write,
)
from support.sdk import new_context, second, signing

# --- what the runs do

QUESTION = "How did sailors tell lighthouses apart?"
ANSWER = "By rhythm, by day by the tower."

REPORT = "# Lighthouses\n\nBy night, the rhythm.\nBy day, the tower.\n"
EDITED = REPORT.replace("the rhythm", "the rhythm of the light")
FIRST_PLAN = [{"content": "Write it", "status": "in_progress"}, {"content": "Check it", "status": "pending"}]
SECOND_PLAN = [{"content": "Write it", "status": "completed"}, {"content": "Check it", "status": "completed"}]

EAST, WEST = "east coast\n", "west coast\n"
SHORT = "Rhythm and tower.\n"
LONG = "Rhythm, tower and sound.\n"
SUMMARY = "Lights were collected; the report is being written."
MEMORY = "# Habits\n\nBe brief.\n"
SKILL = "---\nname: reports\ndescription: How reports are written\n---\nShort sentences.\n"
SECRET = "TOKEN=correct-horse-battery\n"

MARKUP = '</script><img src=x onerror="window.broken=1">'
ESCAPES = "\x1b[31mred\x1b[0m\x1b]0;title\x07\r\b"
BIDI = "\u202edrowssap\u202c\u2066x\u2069"
LONE = "\ud800"
HOSTILE_PATH = f"/a {MARKUP} {BIDI}.md"
HOSTILE_AGENT = f"agent {MARKUP}"
HOSTILE_CONTENT = f"{MARKUP}\n{ESCAPES}\n{BIDI}\nlast\n"


class ByQuestion(GenericFakeChatModel):
    """Follows one script for each question it is first asked, so that runs in parallel do not share one."""

    scripts: dict[str, list[AIMessage]]

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        question = next(message.text for message in messages if message.type == "human")
        said = sum(message.type == "ai" for message in messages)
        answer = self.scripts[question][said].model_copy()
        return ChatResult(generations=[ChatGeneration(message=answer)])


def by_question(**scripts: list[AIMessage]) -> ByQuestion:
    return ByQuestion(messages=iter(()), scripts=scripts)


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a light that shines and is eclipsed"


def _refuse(word: str) -> str:
    """Look a word up where there is nothing."""
    raise ToolException(f"no entry for {word}")


_refuse.__name__ = "look_elsewhere"
look_elsewhere = tool(_refuse)
look_elsewhere.handle_tool_error = True

# --- recording


@contextmanager
def _context(name: str) -> Iterator[Context]:
    context = new_context(name)
    with graph_context(context), second(), signing():
        yield context


def exported(context: Context) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "manifest.json")
        context.export(path)
        return path.read_bytes()


def recorded(runnable: Any, inputs: Any = None, *, raises: type[Exception] | None = None, **options: Any) -> bytes:
    """Run an agent once under a handler of its own, and export what that recorded."""
    with _context("run") as context:
        handler = EqtyDeepAgentsHandler(**options)
        config = {"callbacks": [handler], "recursion_limit": 120}
        try:
            runnable.invoke(asked(QUESTION) if inputs is None else inputs, config)
        except Exception as error:
            if raises is None or not isinstance(error, raises):
                raise
        assert handler.flush()
        return exported(context)


def _plan(call_id: str, items: list[dict[str, str]]) -> dict[str, Any]:
    return call("write_todos", call_id, todos=items)


@functools.cache
def simple() -> bytes:
    """A plan, a file written, edited and read, the plan revised: six turns, five calls."""
    return recorded(
        agent(
            _plan("p1", FIRST_PLAN),
            write("w1", "/report.md", REPORT),
            edit("e1", "/report.md", "the rhythm", "the rhythm of the light"),
            read("r1", "/report.md"),
            _plan("p2", SECOND_PLAN),
            says(ANSWER),
            plan=True,
        )
    )


EVENTFUL_PLANS = [
    todos("Collect", "Write", status="pending"),
    [{"content": "Collect", "status": "completed"}, {"content": "Write", "status": "in_progress"}],
    [{"content": "Collect", "status": "completed"}, {"content": "Write", "status": "completed"}],
]
EVENTFUL_TURNS = 12
"""Of the root agent, without the turns of its subagents and the one that sums up."""
EVENTFUL_CALLS = 13
"""Of the root agent."""


@functools.cache
def eventful() -> bytes:
    """Three subagents at once, two of them one and the same; a shell, a restore, a deletion, failures, a compaction."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "AGENTS.md").write_text(MEMORY)
        (place / "skills" / "reports").mkdir(parents=True)
        (place / "skills" / "reports" / "SKILL.md").write_text(SKILL)
        return recorded(_eventful(place))


def _eventful(folder: Path) -> Any:
    backend = LocalShellBackend(folder, virtual_mode=True, env={"PATH": "/usr/bin:/bin"})
    librarian = by_question(
        **{
            "Look east.": script(write("east", "/east.md", EAST), says("East is done.")),
            "Look west.": script(
                write("west", "/west.md", EAST), edit("west2", "/west.md", "east", "west"), says("West is done.")
            ),
        }
    )
    critic = by_question(**{"Criticise.": script(read("look", "/skills/reports/SKILL.md"), says("Be brief."))})
    turns = [
        _plan("p1", EVENTFUL_PLANS[0]),
        asks(
            task("t-east", "librarian", "Look east."),
            task("t-west", "librarian", "Look west."),
            task("t-critic", "critic", "Criticise."),
            text="Three at once.",
        ),
        _plan("p2", EVENTFUL_PLANS[1]),
        write("w1", "/report.md", SHORT),
        edit("e1", "/report.md", SHORT, LONG),
        edit("e2", "/report.md", LONG, SHORT),  # back to the first version's bytes
        delete("d1", "/east.md"),
        edit("e3", "/report.md", "not in it", "anything"),  # fails
        call("look_elsewhere", "f1", word="occulting"),  # fails
        execute("x1", "wc -l report.md"),
        _plan("p3", EVENTFUL_PLANS[2]),
        says(ANSWER),
    ]
    summing = SummarizationMiddleware(
        model=model(*(says(SUMMARY) for _ in range(6))), backend=backend, trigger=("messages", 14), keep=("messages", 4)
    )
    return agent(
        *turns,
        plan=True,
        tools=[look_up, look_elsewhere],
        backend=backend,
        skills=["/skills/"],
        memory=["/AGENTS.md"],
        middleware=[summing],
        subagents=[
            subagent("librarian", model=librarian),
            subagent("critic", model=critic),
        ],
    )


def _deep() -> Any:
    return agent(
        write("w1", "/report.md", REPORT),
        task("t1", "librarian"),
        edit("e1", "/report.md", "the rhythm", "the rhythm of the light"),
        says(ANSWER),
        subagents=[subagent("librarian", call("look_up", "l1", word="occulting"), says("Found."), tools=[look_up])],
    )


@functools.cache
def base_only() -> bytes:
    """A deep agent with a subagent, recorded by the base package's handler alone: four turns and two."""
    handler = EqtyCallbackHandler()
    with second(), signing():
        _deep().invoke(asked(QUESTION), {"callbacks": [handler], "configurable": {"thread_id": uuid.uuid4().hex}})
    return exported(handler.context)


@functools.cache
def deep() -> bytes:
    """The run of :func:`base_only`, under this package's handler."""
    return recorded(_deep())


@functools.cache
def withheld(identity: str = "content") -> bytes:
    """A file that the content policy withholds, and one that it does not."""
    return recorded(
        agent(
            write("w1", "/.env", SECRET),
            read("r1", "/.env"),
            write("w2", "/open.md", "open\n"),
            says(ANSWER),
        ),
        identity=identity,
    )


SECOND_QUESTION = "Say what rhythm."


def _conversation(**options: Any) -> Any:
    return agent(
        write("w1", "/report.md", REPORT),
        says("Written."),
        edit("e1", "/report.md", "the rhythm", "the rhythm of the light"),
        says("Edited."),
        **options,
    )


@functools.cache
def thread() -> bytes:
    """Two runs of one conversation in one context: the second edits what the first wrote."""
    runnable, handler, name = _conversation(checkpointer=InMemorySaver()), EqtyDeepAgentsHandler(), uuid.uuid4().hex
    with second(), signing():
        for question in (QUESTION, SECOND_QUESTION):
            runnable.invoke(asked(question), {"callbacks": [handler], "configurable": {"thread_id": name}})
        assert handler.flush()
        return exported(handler.contexts[name])


@functools.cache
def thread_by_runs() -> tuple[bytes, bytes]:
    """The two runs of a conversation, each in a context of its own."""
    runnable, handler = _conversation(), EqtyDeepAgentsHandler()
    given, manifests = asked(QUESTION), []
    for _ in range(2):
        with _context("run") as context:
            answer = runnable.invoke(given, {"callbacks": [handler]})
            assert handler.flush()
            manifests.append(exported(context))
        given = {**answer, "messages": [*answer["messages"], HumanMessage(SECOND_QUESTION)]}
    return manifests[0], manifests[1]


class BrokenError(Exception):
    """What a model raises."""


@functools.cache
def stopped() -> bytes:
    """One file is written, then the model raises."""
    chat = model(asks(write("w1", "/report.md", REPORT)), BrokenError("out of luck"))
    return recorded(agent(model=_Raising(messages=chat.messages)), raises=BrokenError)


class _Raising(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        message = next(self.messages)
        if isinstance(message, BaseException):
            raise message
        return ChatResult(generations=[ChatGeneration(message=message)])  # type: ignore[arg-type]


@functools.cache
def hostile() -> bytes:
    """Markup, escape sequences, bidirectional overrides and half characters wherever a model can put text."""
    return recorded(
        agent(
            _plan("p1", todos(MARKUP, ESCAPES, BIDI)),
            write("w1", HOSTILE_PATH, HOSTILE_CONTENT),
            edit("e1", HOSTILE_PATH, "last", f"{MARKUP} last"),
            read("r1", HOSTILE_PATH),
            call("look_up", f"l1 {MARKUP}", word=f"{MARKUP}{ESCAPES}{BIDI}{LONE}"),
            task("t1", HOSTILE_AGENT, f"{MARKUP}{ESCAPES}"),
            says(f"{MARKUP}{ESCAPES}{BIDI}{LONE}"),
            plan=True,
            name=f"root {MARKUP}",
            system_prompt=f"{MARKUP}{ESCAPES}",
            tools=[look_up],
            subagents=[subagent(HOSTILE_AGENT, write("w2", f"/{BIDI}.md", HOSTILE_CONTENT), says(MARKUP))],
        ),
        asked(f"{MARKUP}{ESCAPES}{BIDI}"),
    )


@functools.cache
def witnessed() -> bytes:
    """Files on disk that a witness sees: one written by a tool, one changed by a shell."""
    with tempfile.TemporaryDirectory() as folder:
        backend = LocalShellBackend(folder, virtual_mode=True, env={"PATH": "/usr/bin:/bin"})
        return recorded(
            agent(
                write("w1", "/report.md", REPORT),
                execute("x1", "printf 'changed\\n' > report.md"),
                read("r1", "/report.md"),
                says(ANSWER),
                backend=backend,
            ),
            witness=backend,
        )


class _Measured(TypedDict, total=False):
    word: str
    length: int


@functools.cache
def plain_langgraph() -> bytes:
    """A graph of the user's own, without DeepAgents: two nodes and no model."""
    graph = StateGraph(_Measured)
    graph.add_node("shout", lambda state: {"word": state["word"].upper()})
    graph.add_node("measure", lambda state: {"length": len(state["word"])})
    graph.add_edge(START, "shout")
    graph.add_edge("shout", "measure")
    graph.add_edge("measure", END)
    return recorded(graph.compile(name="measuring"), {"word": "light"})


@functools.cache
def foreign() -> bytes:
    """Made with the SDK alone, by a program that knows nothing of agents: one data set made from another."""
    with _context("foreign") as context:
        source = eqty_sdk.Dataset.from_object([1, 2, 3], name="numbers", description="some numbers")
        total = eqty_sdk.Dataset.from_object({"sum": 6}, name="total", description="their sum")
        computation = eqty_sdk.Computation.new(name="add them up")
        computation.add_input_cid(source.cid)
        computation.add_output_cid(total.cid)
        computation.finalize()
        return exported(context)


EVERY: dict[str, Callable[[], bytes]] = {
    "simple": simple,
    "eventful": eventful,
    "base_only": base_only,
    "deep": deep,
    "withheld": withheld,
    "hidden": lambda: withheld("hidden"),
    "thread": thread,
    "second_run": lambda: thread_by_runs()[1],
    "stopped": stopped,
    "hostile": hostile,
    "witnessed": witnessed,
    "plain_langgraph": plain_langgraph,
    "foreign": foreign,
}
"""Every run by name."""
