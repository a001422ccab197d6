"""LangGraph without DeepAgents, down to langchain-core 0.3.0: what runs is recorded, and no file is made up."""

import operator
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from support.agents import Session, asked, asks, call, edit, model, read, reasons, run, says, script, write
from support.lineage import Lineage
from support.releases import lack
from support.sdk import cid_of

SECRET = "sk-planted-where-no-argument-is"


class State(TypedDict, total=False):
    messages: Annotated[list[BaseMessage], operator.add]
    files: Any


def graph(**nodes: Any) -> Any:
    """A graph that runs its nodes in turn."""
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

    builder = StateGraph(State)
    for before, (name, node) in zip([START, *nodes], nodes.items(), strict=False):
        builder.add_node(name, node)
        builder.add_edge(before, name)
    builder.add_edge(name, END)
    return builder.compile()


def passing(_: Any) -> Any:
    """A node that changes nothing; early releases want it to write something."""
    return {"messages": []}


def react(*turns: Any, tools: list[Any]) -> Any:
    """LangGraph's own agent."""
    from langgraph.prebuilt import create_react_agent  # noqa: PLC0415

    return create_react_agent(model(*script(*turns)), tools)


def arguments(lineage: Lineage, name: str) -> Any:
    (cid,) = lineage.assets("Dataset", name=f"{name}: input")
    return lineage.payload(cid)


def test_the_package_is_imported_without_any_agent_framework():
    code = "import sys, eqty_lineage.deepagents; print({'langgraph', 'langchain', 'deepagents'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert printed.stdout.strip() == "set()"


def test_a_graph_is_recorded_node_by_node():
    _, lineage = run(graph(one=lambda _: {"messages": [AIMessage("1")]}, two=lambda _: {"messages": [AIMessage("2")]}))
    one, two = lineage.one("one", "graph_node"), lineage.one("two", "graph_node")
    assert one.fields["sequence"] < two.fields["sequence"]
    assert lineage.one(kind="graph").fields["status"] == "ok"
    assert not lineage.assets("Agent")


def test_an_agent_of_langgraph_is_recorded_with_its_turns_and_tools():
    @tool
    def search(query: str) -> str:
        """Search."""
        return f"found {query}"

    session, lineage = run(react(call("search", "s", query="tides"), says("done"), tools=[search]))
    assert session.answer["messages"][-1].content == "done"
    assert arguments(lineage, "search") == {"query": "tides"}
    step = lineage.one("search", "tool")
    assert step.fields["tool_call_id"] == "s"
    asking, showing = lineage.turns()
    assert asking[1].outputs[0] in step.inputs
    assert step.outputs[0] in showing[0].inputs
    assert len(session.handler.gaps) == 0
    assert " at 0x" not in lineage.everything()


def test_a_tools_injected_state_is_no_argument():
    from langgraph.prebuilt import InjectedState  # noqa: PLC0415

    @tool
    def look(what: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Look at something."""
        return f"{what} of {len(state['messages'])}"

    session, lineage = run(react(call("look", "l", what="x"), tools=[look]))
    assert [message.content for message in session.answer["messages"] if message.type == "tool"] == ["x of 2"]
    assert arguments(lineage, "look") == {"what": "x"}


def test_what_is_configured_is_in_no_asset():
    @tool
    def search(query: str) -> str:
        """Search."""
        return "found"

    session = Session()
    session.invoke(react(call("search", "s", query="x"), tools=[search]), configurable={"api_key": SECRET})
    assert SECRET not in session.lineage().everything()


def test_a_system_prompt_and_a_later_turn_are_recorded():
    chat = model(says("one"), says("two"))
    talk = [SystemMessage("Be brief."), HumanMessage("go")]
    _, lineage = run(graph(ask=lambda _: {"messages": [chat.invoke(talk), chat.invoke(talk)]}))
    (prompt,) = lineage.assets("System_Prompt")
    assert lineage.text(prompt) == "Be brief."
    assert all(prompt in request.inputs for request, _ in lineage.turns())


def test_a_message_that_begins_like_a_summary_is_a_message():
    chat = model(says("one"))
    talk = [HumanMessage("Here is a summary of the conversation to date:\n\nAll of it.")]
    session, lineage = run(graph(ask=lambda _: {"messages": [chat.invoke(talk)]}))
    assert len(lineage.turns()) == 1
    assert len(session.handler.gaps) == 0


FOREIGN_FILES: dict[str, Any] = {
    "names and contents": {"/a.md": "one\n"},
    "a list of names": ["/a.md"],
    "sizes": {"/a.md": 4},
    "fields of somebody's own": {"/a.md": {"content": "one\n", "owner": "me"}},
}


@pytest.mark.parametrize("shape", FOREIGN_FILES)
def test_somebodys_own_files_key_stays_in_the_state_and_is_no_version(shape: str):
    files = FOREIGN_FILES[shape]
    session, lineage = run(graph(one=lambda _: {"files": files}, two=passing), {"messages": [], "files": files})
    assert session.answer["files"] == files
    assert lineage.paths() == set()
    assert cid_of("one\n") not in lineage.registered
    (state,) = lineage.one("two", "graph_node").inputs[:1]
    assert lineage.payload(state)["files"] == (list(files) if isinstance(files, list) else files)


TEXTS = {"plain text": "old\n", "lines": {"content": ["old", ""], "created_at": "t", "modified_at": "t"}}
TEXTS["text and encoding"] = {"content": "old\n", "encoding": "utf-8", "created_at": "t", "modified_at": "t"}


@pytest.mark.parametrize("shape", TEXTS)
def test_each_shape_that_deepagents_ever_kept_files_in_is_read_in_a_graph_with_its_file_tools(shape: str):
    @tool
    def read_file(file_path: str) -> str:
        """Read a file."""
        return "     1\told"

    asking = asks(read("r", "/a.md"))
    nodes = {
        "ask": lambda _: {"messages": [asking]},
        "tools": lambda _: {"messages": [read_file.invoke({**asking.tool_calls[0], "type": "tool_call"})]},
        "look": passing,
    }
    _, lineage = run(graph(**nodes), asked(files={"/a.md": TEXTS[shape]}))
    assert lineage.versions("/a.md") == {cid_of("old\n")}
    assert not lineage.producers(cid_of("old\n"))


# --- a release that nobody has seen yet


@dataclass
class Written:
    path: str
    ok: bool = True


RESULTS: dict[str, Any] = {
    "another sentence": "Wrote 5 characters to /a.md.",
    "the sentence of another file": "Updated file /b.md",
    "the sentence and more": "Updated file /a.md (5 bytes)",
    "a mapping": {"path": "/a.md", "ok": True},
    "a tuple": ("Updated file /a.md", None),
    "a list": ["Updated file /a.md"],
    "a dataclass": Written("/a.md"),
    "nothing": None,
    "the arguments": {"file_path": "/a.md", "content": "new\n"},
    "files, and no command": {"files": {"/a.md": {"content": "new\n", "encoding": "utf-8"}}},
}


def answering(name: str, result: Any) -> Any:
    """A tool of a name that DeepAgents uses, with a result of its own."""

    @tool(name)
    def answer(file_path: str, content: str = "", old_string: str = "", new_string: str = "") -> Any:
        """Do something with a file."""
        return result

    return answer


CALLS = {
    "write_file": write("c", "/a.md", "new\n"),
    "edit_file": edit("c", "/a.md", "old", "new"),
    "read_file": read("c", "/a.md"),
    "delete": call("delete", "c", file_path="/a.md"),
}


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_that_no_release_gives_is_a_gap_and_no_version(result: str):
    """All four tools in one run: the gap names each."""
    tools = [answering(name, RESULTS[result]) for name in CALLS]
    turns = [{**asked_for, "id": f"{name}-call"} for name, asked_for in CALLS.items()]
    session, lineage = run(react(*turns, tools=tools))
    assert lineage.paths() == set()
    assert cid_of("new\n") not in lineage.registered
    assert not [step.name for step in lineage.steps if "files" in step.fields]
    assert len(lineage.all(kind="tool")) == len(CALLS)
    assert reasons(session.handler) == {"UNCLEAR"}
    assert len({gap["what"] for gap in lineage.gaps()}) == len(CALLS)


def _command(**fields: Any) -> Any:
    try:
        from langgraph.types import Command  # noqa: PLC0415
    except ImportError:
        lack("Command")
    return Command(**fields)


ENTRY = {"content": "new\n", "encoding": "utf-8"}
LAYOUTS: dict[str, Any] = {
    "a sentence of its own": {"update": {"messages": [ToolMessage("written, I think", tool_call_id="c")]}},
    "files of a new shape": {
        "update": {"files": {"/a.md": {"blocks": ["new\n"]}}, "messages": [ToolMessage("done", tool_call_id="c")]}
    },
    "a list of updates": {"update": [("files", {"/a.md": ENTRY}), ("messages", [ToolMessage("x", tool_call_id="c")])]},
    "another key": {"update": {"fs": {"/a.md": ENTRY}, "messages": [ToolMessage("done", tool_call_id="c")]}},
    "an entry of an unknown encoding": {
        "update": {
            "files": {"/a.md": {"content": "new\n", "encoding": "zstd"}},
            "messages": [ToolMessage("done", tool_call_id="c")],
        }
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_command_that_no_release_gives_is_a_gap_and_no_version(layout: str):
    command = _command(**LAYOUTS[layout])
    session = Session()
    tool_of_its_own = answering("write_file", command)

    def node(state: Any) -> Any:
        asking = AIMessage("", tool_calls=[CALLS["write_file"]])
        tool_of_its_own.invoke({**asking.tool_calls[0], "type": "tool_call"})
        return {"messages": [asking]}

    session.invoke(graph(tools=node, look=passing))
    lineage = session.lineage()
    assert len(lineage.all("write_file", "tool")) == 1
    assert lineage.paths() == set()
    assert cid_of("new\n") not in lineage.registered
    assert "UNCLEAR" in reasons(session.handler)
