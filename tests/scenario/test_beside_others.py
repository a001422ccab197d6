"""The handler among other callbacks, and on an agent inside something it does not observe."""

from collections import Counter
from typing import Any
from uuid import UUID

from eqty_sdk.context import graph_context
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from support.agents import Session, agent, asked, asks, call, edit, run, says, subagent, task, write
from support.sdk import second


class Tracer(BaseCallbackHandler):
    """Notes what it is told, as a tracing service's handler would."""

    def __init__(self) -> None:
        self.told: Counter[tuple[str, str]] = Counter()
        self.parents: dict[UUID, UUID | None] = {}

    def _started(self, event: str, serialized: Any, run_id: UUID, parent_run_id: UUID | None, name: Any) -> None:
        self.told[event, str(name or (serialized or {}).get("name"))] += 1
        self.parents[run_id] = parent_run_id

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started("chain", serialized, run_id, parent_run_id, kwargs.get("name"))

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started("model", serialized, run_id, parent_run_id, kwargs.get("name"))

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._started("tool", serialized, run_id, parent_run_id, kwargs.get("name"))
        assert "0x" not in str(kwargs.get("inputs"))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.told["end", ""] += 1

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.told["answer", str(response.generations[0][0].message.content)] += 1

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.told["result", type(output).__name__] += 1


def scripted() -> Any:
    helper = subagent("helper", write("h", "/b.md", "b\n"), says("helped"))
    return agent(
        asks(write("w", "/a.md", "one\n"), task("t", "helper")),
        edit("e", "/a.md", "one", "two"),
        says("done"),
        subagents=[helper],
    )


def test_beside_a_tracer_both_record_as_if_alone():
    alone = Tracer()
    scripted().invoke(asked(), {"callbacks": [alone]})
    _, without = run(scripted())
    session, tracer = Session(), Tracer()
    session.invoke(scripted(), callbacks=[tracer, session.handler])
    assert tracer.told == alone.told
    assert len([parent for parent in tracer.parents.values() if parent is None]) == 1
    assert session.lineage().shape() == without.shape()


def test_an_agent_inside_a_chain_that_is_not_observed_is_a_root():
    session = Session()
    inner = agent(write("w", "/a.md", "a\n")).with_config({"callbacks": [session.handler]})
    tracer = Tracer()
    chain = RunnableLambda(lambda state: state) | RunnableLambda(inner.invoke)
    with graph_context(session.context), second():
        chain.invoke(asked(), {"callbacks": [tracer]})
    lineage = session.lineage()
    root = lineage.one(kind="graph")
    assert root.name == "researcher"
    assert root.fields.get("parent_run_id") is None
    assert root.fields["vocabulary"] == 1
    assert len(set(tracer.parents)) > len(lineage.steps) / 2
    assert lineage.history("/a.md") == ["1 write_file"]
    assert {step.fields["root_run_id"] for step in lineage.steps} == {root.fields["run_id"]}
    assert lineage.assets("Agent", name="researcher")


def test_an_agent_that_is_a_node_of_an_observed_graph_is_part_of_that_run():
    inner = agent(write("w", "/a.md", "a\n"), name="inner")
    builder = StateGraph(MessagesState)
    builder.add_node("work", inner)
    builder.add_edge(START, "work")
    session = Session()
    session.invoke(builder.compile(name="outer"))
    lineage = session.lineage()
    assert [step.name for step in lineage.all(kind="graph")] == ["outer"]
    assert lineage.history("/a.md") == ["1 write_file"]
    assert {step.fields["root_run_id"] for step in lineage.steps} == {lineage.one(kind="graph").fields["run_id"]}


def test_two_agents_called_after_each_other_by_an_unobserved_chain_are_two_roots(caplog: Any):
    session = Session()
    first = agent(write("w1", "/a.md", "a\n"), name="first").with_config({"callbacks": [session.handler]})
    then = agent(call("ls", "l", path="/"), name="then").with_config({"callbacks": [session.handler]})
    chain = RunnableLambda(first.invoke) | RunnableLambda(lambda state: then.invoke({"messages": state["messages"]}))
    with graph_context(session.context), second():
        chain.invoke(asked())
    lineage = session.lineage()
    assert [step.name for step in lineage.all(kind="graph")] == ["first", "then"]
    assert "at once" not in caplog.text
