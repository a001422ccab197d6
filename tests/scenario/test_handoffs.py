"""Control that is handed to another graph is no failure, and the nodes that hand it over are recorded."""

from typing import Annotated, Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from support.agents import agent, call, edit, reasons, run, says, write
from support.lineage import Lineage


@tool
def hand_over(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand the work to the other agent."""
    message = ToolMessage("Handed over.", tool_call_id=tool_call_id)
    return Command(goto="second", graph=Command.PARENT, update={"messages": [AIMessage("over to you"), message]})


def two_agents() -> Any:
    """A graph of two agents, the first of which hands over to the second."""
    first = agent(write("w", "/a.md", "a\n"), call("hand_over", "h"), tools=[hand_over], name="first")
    second = agent(write("v", "/b.md", "b\n"), says("finished"), name="second")
    graph = StateGraph(MessagesState)
    graph.add_node("first", first, destinations=("second",))
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("second", END)
    return graph.compile(name="team")


def statuses(lineage: Lineage) -> set[str]:
    return {step.fields["status"] for step in lineage.steps}


def test_a_handoff_by_a_tool_is_no_failure_and_every_node_is_recorded():
    session, lineage = run(two_agents())
    assert session.answer["messages"][-1].text == "finished"
    assert statuses(lineage) == {"ok"}
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]
    assert len(lineage.all("tools", "graph_node", agent="first")) == 2
    assert len(lineage.all("tools", "graph_node", agent="second")) == 1
    assert lineage.one("hand_over").fields["status"] == "ok"
    assert reasons(session.handler) == set()


def test_the_agent_that_handed_over_and_the_node_around_it_are_recorded():
    _, lineage = run(two_agents())
    assert [step.kind for step in lineage.all("first")] == [step.kind for step in lineage.all("second")]
    (node,) = lineage.all("first", "graph_node")
    (out,) = [cid for cid in node.outputs if "output state" in lineage.described(cid)["name"]]
    assert "over to you" in str(lineage.payload(out))


def test_what_each_wrote_is_its_own():
    _, lineage = run(two_agents())
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.tool("w").fields["agent"] == "first"
    assert lineage.tool("v").fields["agent"] == "second"


def test_a_node_that_hands_over_is_recorded_with_what_it_said():
    inner = StateGraph(MessagesState)
    inner.add_node("leave", lambda _: Command(goto="next", graph=Command.PARENT, update={"messages": [says("bye")]}))
    inner.add_edge(START, "leave")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile(name="inner graph"), destinations=("next",))
    outer.add_node("next", lambda _: {"messages": [says("hello")]})
    outer.add_edge(START, "inner")
    session, lineage = run(outer.compile(name="outer"))
    assert session.answer["messages"][-1].text == "hello"
    assert statuses(lineage) == {"ok"}
    leave = lineage.one("leave", "graph_node")
    (out,) = leave.outputs
    assert lineage.payload(out)["state"]["command"]["goto"] == "next" if "state" in lineage.payload(out) else True
    assert "bye" in str(lineage.payload(out))


def test_files_after_a_handoff_are_still_right():
    first = agent(write("w", "/a.md", "a\n"), call("hand_over", "h"), tools=[hand_over], name="first")
    second = agent(write("v", "/a.md", "b\n"), edit("e", "/a.md", "b", "c"), name="second")
    graph = StateGraph(MessagesState)
    graph.add_node("first", first, destinations=("second",))
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    _, lineage = run(graph.compile(name="team"))
    # neither agent's files reach the other: the graph around them keeps none
    assert lineage.history("/a.md", "first") == ["1 write_file"]
    assert [line.partition(" ")[2].partition(" ")[0] for line in lineage.history("/a.md", "second")] == [
        "write_file",
        "edit_file",
    ]
