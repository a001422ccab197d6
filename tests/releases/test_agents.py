"""Agents, subagents and plans, on the release that is installed: who did what, and in whose view of the files."""

import contextlib
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from support.agents import Session, asks, call, edit, read, run, says, task, todos, write
from support.lineage import Lineage
from support.releases import agent, needs_deepagents, subagent, texts
from support.sdk import cid_of


@pytest.fixture(autouse=True)
def _deepagents() -> None:
    needs_deepagents()


@pytest.fixture(scope="module")
def delegated() -> Lineage:
    needs_deepagents()
    helper = subagent("helper", write("hw", "/b.md", "b\n"), edit("he", "/b.md", "b", "c"), says("helped"))
    runnable = agent(write("w", "/a.md", "a\n"), task("t", "helper"), read("r", "/b.md"), subagents=[helper])
    return run(runnable)[1]


def test_a_subagent_has_its_name_and_lane_and_is_an_input_of_its_run_and_of_the_call(delegated: Lineage):
    (cid,) = delegated.assets("Agent", name="helper")
    users = [(step.name, step.kind) for step in delegated.steps if cid in step.inputs]
    assert sorted(users) == [("helper", "agent"), ("task", "tool")]
    lanes = {step.fields["agent"]: step.fields["lane"] for step in delegated.steps}
    assert set(lanes) == {"researcher", "helper"}
    assert lanes["helper"] != ""
    assert [step.fields["lane"] for step in delegated.all(kind="graph")] == [""]


def test_what_a_subagent_wrote_is_its_own_and_its_caller_reads_it(delegated: Lineage):
    assert delegated.history("/b.md", "helper") == ["1 write_file", "2 edit_file <- 1"]
    assert delegated.history("/b.md") == ["1 write_file", "2 edit_file <- 1"]
    assert delegated.producers(cid_of("c\n")) == ["edit_file"]
    assert delegated.tool("r").files("read") == {"/b.md": cid_of("c\n")}


def test_a_task_is_linked_to_the_turn_that_asked_and_to_what_its_agent_left(delegated: Lineage):
    step = delegated.tool("t")
    responses = [cid for cid in step.inputs if delegated.metadata[cid][0]["assetType"] == "Reasoning"]
    assert [delegated.payload(cid)[0]["tool_calls"][0]["id"] for cid in responses] == ["t"]
    assert delegated.one("helper", "agent").outputs[0] in step.inputs
    request, _ = delegated.turns("helper")[0]
    (given,) = delegated.assets("Dataset", name="task: input")
    assert given in request.inputs


def test_every_call_is_linked_to_the_turn_that_asked_for_it(delegated: Lineage):
    for call_id in ("w", "t", "r", "hw", "he"):
        assert [
            cid
            for cid in delegated.tool(call_id).inputs
            if delegated.metadata[cid][0]["assetType"] == "Reasoning"
            and call_id in [asked_for["id"] for asked_for in delegated.payload(cid)[0].get("tool_calls", [])]
        ]


def test_subagents_side_by_side_each_write_their_own_version_of_a_path():
    one = subagent("one", write("w1", "/a.md", "of one\n"), read("r1", "/a.md"), says("one did"))
    two = subagent("two", write("w2", "/a.md", "of two\n"), read("r2", "/a.md"), says("two did"))
    session, lineage = run(agent(asks(task("t1", "one"), task("t2", "two")), read("r", "/a.md"), subagents=[one, two]))
    assert lineage.tool("w1").files("wrote") == lineage.tool("r1").files("read") == {"/a.md": cid_of("of one\n")}
    assert lineage.tool("w2").files("wrote") == lineage.tool("r2").files("read") == {"/a.md": cid_of("of two\n")}
    assert lineage.tool("w1").fields["lane"] != lineage.tool("w2").fields["lane"]
    for call_id in ("w1", "w2"):
        assert not lineage.tool(call_id).files("replaced")
    assert lineage.tool("r").files("read") == {"/a.md": cid_of(texts(session.answer)["/a.md"])}
    assert lineage.versions("/a.md") == {cid_of("of one\n"), cid_of("of two\n")}
    for cid in lineage.versions("/a.md"):
        assert lineage.producers(cid) == ["write_file"]


def test_two_runs_of_one_subagent_are_two_lanes_of_one_agent():
    helper = subagent("helper", write("w1", "/1.md", "1\n"), says("first"), write("w2", "/2.md", "2\n"), says("second"))
    _, lineage = run(agent(task("a", "helper", "one"), task("b", "helper", "two"), subagents=[helper]))
    assert len(lineage.assets("Agent", name="helper")) == 1
    assert lineage.tool("w1").fields["lane"] != lineage.tool("w2").fields["lane"]
    assert [step.fields["agent"] for step in (lineage.tool("w1"), lineage.tool("w2"))] == ["helper", "helper"]


def test_a_compiled_subagent_is_recorded_under_the_name_it_was_declared_by():
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    builder = StateGraph(MessagesState)
    builder.add_node("inner", lambda _: {"messages": [AIMessage("raw result")]})
    builder.add_edge(START, "inner")
    raw = {"name": "raw", "description": "A plain graph.", "runnable": builder.compile()}
    _, lineage = run(agent(task("t", "raw"), subagents=[raw]))
    (cid,) = lineage.assets("Agent", name="raw")
    assert sorted(lineage.users(cid)) == ["raw", "task"]
    assert lineage.one("raw", "agent").outputs[0] in lineage.tool("t").inputs


def test_a_compiled_deep_agent_is_a_subagent_of_its_own_name():
    inner = agent(write("iw", "/i.md", "inner\n"), says("did it"), name="inner")
    compiled = {"name": "declared", "description": "An agent of its own.", "runnable": inner}
    _, lineage = run(agent(task("t", "declared"), subagents=[compiled]))
    (step,) = lineage.all(kind="agent")
    assert step.name in ("inner", "declared")
    assert lineage.tool("iw").fields["agent"] == step.name
    assert lineage.tool("iw").files("wrote") == {"/i.md": cid_of("inner\n")}


def test_what_a_tool_calls_inside_is_no_agent():
    from langchain_core.runnables import RunnableLambda  # noqa: PLC0415
    from langchain_core.tools import tool  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    builder = StateGraph(MessagesState)
    builder.add_node("inner", lambda _: {"messages": [AIMessage("inside")]})
    builder.add_edge(START, "inner")
    graph = builder.compile()

    @tool
    def think(what: str) -> str:
        """Think."""
        graph.invoke({"messages": [HumanMessage(what)]})
        return str(RunnableLambda(str.upper).invoke(what))

    _, lineage = run(agent(call("think", "t", what="x"), tools=[think]))
    assert not lineage.all(kind="agent")
    assert len(lineage.assets("Agent")) <= 1


def test_a_subagent_that_does_not_exist_is_no_agent():
    session = Session()
    # the earliest releases let it end the run
    with contextlib.suppress(ValueError):
        session.invoke(agent(task("t", "ghost")))
    lineage = session.lineage()
    assert not lineage.assets("Agent", name="ghost")
    assert not lineage.all(kind="agent")


def test_the_revisions_of_a_plan_are_chained():
    def plan(call_id: str, *items: str) -> Any:
        return call("write_todos", call_id, todos=todos(*items))

    session, lineage = run(agent(plan("1", "A"), plan("2", "B"), plan("3", "A"), plan=True))
    cids = lineage.plans()
    assert [item["content"] for item in session.answer["todos"]] == ["A"]
    assert lineage.producers(cids["A"]) == ["write_todos", "write_todos"]
    assert lineage.producers(cids["B"]) == ["write_todos"]
    assert cids["A"] in lineage.tool("2").inputs
    assert cids["B"] in lineage.tool("3").inputs
    assert cids["A"] not in lineage.tool("1").inputs


def test_a_subagents_plan_is_apart_from_its_callers():
    def plan(call_id: str, *items: str) -> Any:
        return call("write_todos", call_id, todos=todos(*items))

    helper = subagent("helper", plan("h1", "X"), plan("h2", "Y"), says("helped"), plan=True)
    _, lineage = run(agent(plan("1", "A"), task("t", "helper"), plan("2", "B"), subagents=[helper], plan=True))
    cids = lineage.plans()
    assert cids["X"] in lineage.tool("h2").inputs
    assert cids["A"] in lineage.tool("2").inputs
    assert {cids["A"], cids["Y"]}.isdisjoint({*lineage.tool("h1").inputs, *lineage.tool("t").outputs})


def test_without_a_plan_none_is_recorded():
    _, lineage = run(agent(write("w", "/a.md", "a\n")))
    assert not lineage.plans()
