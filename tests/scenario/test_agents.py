"""Agents and subagents: what their assets hold, and which computations they are inputs of."""

from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from support.agents import Session, agent, asked, call, model, run, says, script, subagent, task, write
from support.lineage import Lineage
from support.sdk import cid_of


@pytest.fixture(scope="module")
def delegated() -> Lineage:
    inner = agent(write("w", "/deep.md", "deep\n"), name="inner")
    outer = subagent("outer", call("ask_inner", "a", what="x"), tools=[_asks(inner)])
    session = Session()
    config = {"metadata": {"team": "blue", "api_key": "sk-planted"}, "tags": ["nightly"]}
    session.invoke(agent(task("t", "outer"), subagents=[outer]), **config)
    return session.lineage()


def _asks(inner: Any) -> Any:
    @tool
    def ask_inner(what: str) -> str:
        """Ask another agent."""
        return str(inner.invoke(asked(what))["messages"][-1].content)

    return ask_inner


def the(lineage: Lineage, name: str) -> str:
    (cid,) = lineage.assets("Agent", name=name)
    return cid


def test_an_agents_asset_says_what_it_is_and_how_it_was_configured(delegated: Lineage):
    payload = delegated.payload(the(delegated, "researcher"))
    assert payload["name"] == "researcher"
    assert payload["role"] == "deep agent"
    assert payload["framework"] == "deepagents"
    assert payload["config"]["team"] == "blue"
    assert payload["config"]["api_key"] == "[redacted]"
    assert {"deepagents", "langchain-core"} & set(payload["versions"])


def test_a_subagents_asset_says_that_it_is_one(delegated: Lineage):
    payload = delegated.payload(the(delegated, "outer"))
    assert (payload["name"], payload["role"]) == ("outer", "subagent")


def test_an_agents_asset_does_not_hold_the_configured_secret(delegated: Lineage):
    assert "sk-planted" not in delegated.everything()


def test_the_root_agent_is_an_input_of_the_root_graph_and_of_nothing_else(delegated: Lineage):
    assert [(step.name, step.kind) for step in delegated.steps if the(delegated, "researcher") in step.inputs] == [
        ("researcher", "graph")
    ]


def test_a_subagent_is_an_input_of_its_own_run_and_of_the_call_that_spawned_it(delegated: Lineage):
    users = [(step.name, step.kind) for step in delegated.steps if the(delegated, "outer") in step.inputs]
    assert sorted(users) == [("outer", "agent"), ("task", "tool")]


def test_an_agent_called_inside_a_tool_of_a_subagent_is_a_subagent(delegated: Lineage):
    users = [(step.name, step.kind) for step in delegated.steps if the(delegated, "inner") in step.inputs]
    assert sorted(users) == [("ask_inner", "tool"), ("inner", "agent")]
    assert delegated.history("/deep.md", "inner") == ["1 write_file"]


def test_each_computation_says_which_agent_and_lane_it_ran_in(delegated: Lineage):
    lanes = {step.fields["agent"]: step.fields["lane"] for step in delegated.steps}
    assert set(lanes) == {"researcher", "outer", "inner"}
    assert lanes["researcher"] == ""
    assert len(set(lanes.values())) == 3
    for step in delegated.steps:
        assert step.fields["lane"] == lanes[step.fields["agent"]]


def test_a_delegating_call_has_the_subagents_result_as_an_input(delegated: Lineage):
    result = delegated.one("outer", "agent").outputs[0]
    assert result in delegated.tool("t").inputs


def test_the_general_purpose_subagent_is_one_like_any_other():
    shared = model(*script(task("t", "general-purpose"), write("w", "/gp.md", "gp\n"), says("helped"), says("done")))
    session = Session()
    session.invoke(create_deep_agent(model=shared, name="main"))
    lineage = session.lineage()
    assert sorted(lineage.users(the(lineage, "general-purpose"))) == ["general-purpose", "task"]
    assert lineage.tool("w").fields["agent"] == "general-purpose"


def test_a_plain_graph_as_a_subagent_is_recorded_under_its_declared_name():
    builder = StateGraph(MessagesState)
    builder.add_node("inner", lambda _: {"messages": [AIMessage("raw result")]})
    builder.add_edge(START, "inner")
    raw = {"name": "raw", "description": "A plain graph.", "runnable": builder.compile()}
    _, lineage = run(agent(task("t", "raw"), subagents=[raw]))
    assert lineage.one("raw", "agent").outputs[0] in lineage.tool("t").inputs
    assert sorted(lineage.users(the(lineage, "raw"))) == ["raw", "task"]


def test_a_subagent_that_does_not_exist_is_no_agent():
    _, lineage = run(agent(task("t", "ghost")))
    assert not lineage.assets("Agent", name="ghost")
    assert not lineage.all(kind="agent")


def test_two_runs_of_one_subagent_are_two_lanes_and_one_asset():
    helper = subagent("helper", write("w1", "/1.md", "1\n"), says("first"), write("w2", "/2.md", "2\n"), says("second"))
    _, lineage = run(agent(task("a", "helper", "one"), task("b", "helper", "two"), subagents=[helper]))
    assert len(lineage.assets("Agent", name="helper")) == 1
    assert lineage.tool("w1").fields["lane"] != lineage.tool("w2").fields["lane"]
    assert len(lineage.all("helper", "agent")) == 2


def test_an_agent_without_a_name_is_recorded():
    session = Session()
    session.invoke(create_deep_agent(model=model(*script(write("w", "/a.md", "a\n")))))
    lineage = session.lineage()
    (cid,) = lineage.assets("Agent")
    assert cid in lineage.one(kind="graph").inputs
    assert lineage.tool("w").files("wrote") == {"/a.md": cid_of("a\n")}


def test_a_failed_subagent_and_its_caller_are_recorded_with_their_agent():
    @tool
    def explode(x: str) -> str:
        """Explode."""
        message = "boom"
        raise RuntimeError(message)

    helper = subagent("helper", call("explode", "x", x="1"), tools=[explode])
    session = Session()
    with pytest.raises(RuntimeError, match="boom"):
        session.invoke(agent(task("t", "helper"), subagents=[helper]))
    lineage = session.lineage()
    assert the(lineage, "helper") in lineage.one("helper", "agent_error").inputs
    assert the(lineage, "helper") in lineage.one("task", "tool_error").inputs
    assert the(lineage, "researcher") in lineage.one(kind="graph_error").inputs
