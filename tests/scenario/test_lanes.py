"""Agents side by side: what each has is its own, and what their caller has afterwards is what its next state shows."""

from typing import Any

from deepagents.backends.filesystem import FilesystemBackend
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from support.agents import (
    agent,
    asked,
    asks,
    call,
    edit,
    file_data,
    model,
    read,
    run,
    says,
    script,
    subagent,
    task,
    write,
)
from support.lineage import Lineage
from support.sdk import cid_of


def lanes(lineage: Lineage, agent_name: str) -> set[str]:
    return {step.fields["lane"] for step in lineage.all(agent=agent_name)}


def shown(lineage: Lineage) -> list[dict[str, str]]:
    """The files of each state that entered the root agent's model, in order."""
    found = []
    for step in lineage.all("model", "graph_node", agent="researcher"):
        (state,) = [cid for cid in step.inputs if lineage.metadata[cid][0]["name"] == "model: input state"]
        found.append({path: cid.removeprefix("urn:cid:") for path, cid in lineage.payload(state)["files"].items()})
    return found


def test_a_stale_copy_that_restores_old_content_is_no_write_of_that_content():
    """The second subagent's copy of what the first one edited comes back with its result."""
    first = subagent("first", edit("e1", "/seed.md", "old", "new"))
    second = subagent("second", write("w2", "/other.md", "other\n"))
    session, lineage = run(
        agent(asks(task("t1", "first"), task("t2", "second")), read("r", "/seed.md"), subagents=[first, second]),
        asked(files={"/seed.md": file_data("old\n")}),
    )
    assert session.answer["files"]["/seed.md"]["content"] == "old\n"
    assert [(step.name, step.fields["agent"]) for step in lineage.steps if "/seed.md" in step.files("wrote")] == [
        ("edit_file", "first")
    ]
    assert lineage.tool("r").files("read") == {"/seed.md": cid_of("old\n")}
    assert shown(lineage)[-1]["/seed.md"] == cid_of("old\n")


def test_a_subagent_beside_a_write_starts_from_the_state_of_before():
    helper = subagent("helper", read("r", "/a.md"), edit("e", "/a.md", "old", "older"))
    session, lineage = run(
        agent(asks(write("w", "/a.md", "brand new\n"), task("t", "helper")), read("r2", "/a.md"), subagents=[helper]),
        asked(files={"/a.md": file_data("old\n")}),
    )
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("old\n")}
    assert lineage.tool("e").files("replaced") == {"/a.md": cid_of("old\n")}
    last = session.answer["files"]["/a.md"]["content"]
    assert lineage.tool("r2").files("read") == {"/a.md": cid_of(last)}
    assert shown(lineage)[-1] == {"/a.md": cid_of(last)}


def test_no_merged_version_is_recorded_that_no_state_held():
    one = subagent("one", edit("e1", "/a.md", "x", "1"))
    two = subagent("two", edit("e2", "/a.md", "y", "2"))
    _, lineage = run(
        agent(asks(task("t1", "one"), task("t2", "two")), subagents=[one, two]),
        asked(files={"/a.md": file_data("x y\n")}),
    )
    assert lineage.versions("/a.md") == {cid_of("x y\n"), cid_of("1 y\n"), cid_of("x 2\n")}
    for call_id in ("e1", "e2"):
        assert lineage.tool(call_id).files("replaced") == {"/a.md": cid_of("x y\n")}


def test_agents_on_one_disk_share_its_files_once_it_has_shown_to_be_one(tmp_path: Any):
    one = subagent("one", edit("e1", "/a.md", "x", "1"))
    two = subagent("two", edit("e2", "/a.md", "y", "2"))
    _, lineage = run(
        agent(
            write("w", "/a.md", "x y\n"),
            task("t1", "one"),
            task("t2", "two"),
            subagents=[one, two],
            backend=FilesystemBackend(tmp_path, virtual_mode=True),
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1", "3 edit_file <- 2"]


# --- what is an agent, and what is none


def test_a_subagent_of_its_callers_name_has_a_lane_of_its_own():
    helper = subagent("researcher", write("w", "/a.md", "a\n"))
    _, lineage = run(agent(task("t", "researcher"), subagents=[helper]))
    assert len(lanes(lineage, "researcher")) == 2
    assert lineage.tool("w").fields["lane"] != ""


def test_a_compiled_subagent_is_recorded_under_the_name_it_was_given():
    inner = agent(write("w", "/a.md", "a\n"), name="inner name")
    compiled = {"name": "given name", "description": "Helps.", "runnable": inner}
    _, lineage = run(agent(task("t", "given name"), subagents=[compiled]))
    assert lineage.tool("w").fields["agent"] == "given name"
    assert lineage.assets("Agent", name="inner name") == []


def test_an_agent_without_a_name_has_the_root_lane():
    _, lineage = run(agent(write("w", "/a.md", "a\n"), name=None))
    assert lineage.tool("w").fields["lane"] == ""


def test_a_runnable_a_graph_and_a_model_called_in_a_tool_are_no_agents():
    graph = StateGraph(MessagesState)
    graph.add_node("step", lambda _: {"messages": [HumanMessage("stepped")]})
    graph.add_edge(START, "step")
    compiled = graph.compile(name="plain graph")
    inner = model(*script(says("a word")))

    @tool
    def work() -> str:
        """Work in several ways."""
        RunnableLambda(lambda value: value).invoke("x")
        compiled.invoke({"messages": []})
        return str(inner.invoke("say a word").text)

    _, lineage = run(agent(call("work", "k"), write("w", "/a.md", "a\n"), tools=[work]))
    assert {name for cid in lineage.assets("Agent") for name in [lineage.described(cid)["name"]]} == {"researcher"}
    assert {step.fields["lane"] for step in lineage.steps} == {""}
    assert lineage.history("/a.md") == ["1 write_file"]


def test_an_agent_called_in_a_tool_is_one():
    inner = agent(write("iw", "/in.md", "in\n"), name="inner")

    @tool
    def delegate() -> str:
        """Have another agent do it."""
        return str(inner.invoke({"messages": [("user", "go")]})["messages"][-1].text)

    _, lineage = run(agent(call("delegate", "d"), write("w", "/a.md", "a\n"), tools=[delegate]))
    assert lineage.tool("iw").fields["agent"] == "inner"
    assert lineage.tool("iw").fields["lane"] != ""
    assert lineage.assets("Agent", name="inner")
