"""Callbacks as they come from elsewhere: without a start, without values, with values of odd types."""

import uuid
from typing import Any

import pytest
from eqty_sdk.context import graph_context
from langchain_core.documents import Document
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from support.agents import Session, agent, call, reasons, run
from support.lineage import Lineage
from support.sdk import second

ANSWER = LLMResult(generations=[[ChatGeneration(message=AIMessage(content="x"))]])


def fed(*callbacks: tuple[str, tuple[Any, ...], dict[str, Any]]) -> tuple[Session, Lineage]:
    """Feed callbacks to a handler by hand; a name for a run stands for its id."""
    session = Session()
    ids: dict[str, uuid.UUID] = {}
    with graph_context(session.context), second():
        for name, arguments, more in callbacks:
            named = {key: ids.setdefault(more[key], uuid.uuid4()) for key in ("run_id", "parent_run_id") if key in more}
            getattr(session.handler, name)(*arguments, **{**more, **named})
        return session, session.lineage(unfinished=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("on_chain_end", ({"a": 1},)),
        ("on_llm_end", (ANSWER,)),
        ("on_tool_end", ("x",)),
        ("on_retriever_end", ([],)),
        *((f"on_{kind}_error", (ValueError("x"),)) for kind in ("chain", "llm", "tool", "retriever")),
    ],
)
def test_an_end_without_a_start_is_no_computation(name: str, arguments: tuple[Any, ...]):
    session, lineage = fed((name, arguments, {"run_id": "1"}))
    assert not lineage.manifest["statements"]
    assert not reasons(session.handler)


def test_callbacks_without_values_are_recorded():
    session = Session()
    ids = {name: uuid.uuid4() for name in ("root", "tool", "write", "read", "chat", "look")}
    handler = session.handler
    with graph_context(session.context), second():
        handler.on_chain_start(None, None, run_id=ids["root"], parent_run_id=None, tags=None, metadata=None, name=None)
        inside = {"parent_run_id": ids["root"], "tags": None, "metadata": None}
        handler.on_tool_start(None, "", run_id=ids["tool"], inputs=None, **inside)
        handler.on_tool_end(None, run_id=ids["tool"])
        handler.on_tool_start(
            {"name": "write_file"}, "{}", run_id=ids["write"], inputs={"file_path": None, "content": None}, **inside
        )
        handler.on_tool_end([1, None, b"x"], run_id=ids["write"])
        handler.on_tool_start({"name": "read_file"}, "{}", run_id=ids["read"], inputs={"file_path": 7}, **inside)
        handler.on_tool_end({"k": {1, 2}}, run_id=ids["read"])
        handler.on_chat_model_start(None, [[]], run_id=ids["chat"], **inside)
        handler.on_llm_end(LLMResult(generations=[[]]), run_id=ids["chat"])
        handler.on_retriever_start(None, "q", run_id=ids["look"], **inside)
        handler.on_retriever_end(None, run_id=ids["look"])
        handler.on_chain_end(None, run_id=ids["root"])
    lineage = session.lineage()
    kinds = [step.kind for step in lineage.steps]
    assert sorted(kinds) == [
        "chat_inference",
        "chat_model",
        "chat_request",
        "graph",
        "retriever",
        "tool",
        "tool",
        "tool",
    ]
    assert not reasons(handler)


def test_a_run_that_started_twice_is_one():
    start = ("on_chain_start", ({}, {"a": 1}), {"run_id": "1", "parent_run_id": None, "name": "g"})
    end = ("on_chain_end", ({"a": 2},), {"run_id": "1"})
    again = ("on_chain_start", ({}, {"a": 1}), {"run_id": "2", "parent_run_id": None, "name": "g"})
    _, lineage = fed(start, start, end, end, again, ("on_chain_end", ({"a": 2},), {"run_id": "2"}))
    assert [step.name for step in lineage.steps] == ["g", "g"]
    assert [lineage.payload(step.inputs[0])["occurrence"]["turn"] for step in lineage.steps] == [1, 2]


def test_what_never_ended_is_a_gap_of_the_root_that_did():
    session, lineage = fed(
        ("on_chain_start", ({}, {"a": 1}), {"run_id": "1", "name": "g"}),
        ("on_tool_start", ({"name": "hang"}, "x"), {"run_id": "2", "parent_run_id": "1"}),
        ("on_chain_end", ({"a": 2},), {"run_id": "1"}),
        ("on_tool_end", ("late",), {"run_id": "2"}),
    )
    assert [step.name for step in lineage.steps] == ["g"]
    assert reasons(session.handler) == {"UNFINISHED"}
    assert lineage.gaps() == [{"reason": "the run ended before this did", "what": "hang", "where": "g"}]


def test_a_tool_called_outside_any_chain_is_a_root_of_its_own():
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    session = Session()
    assert session.invoke(add, {"a": 1, "b": 2}) == 3
    lineage = session.lineage()
    (step,) = lineage.steps
    assert (step.name, step.kind, step.fields.get("parent_run_id")) == ("add", "tool", None)
    assert step.fields["recorder"]


class Shelf(BaseRetriever):
    books: list[str]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=f"{book} on {query}", metadata={"source": book}) for book in self.books]


@pytest.mark.parametrize("books", [[], ["A", "B"]])
def test_a_retrieval_is_recorded_with_or_without_hits(books: list[str]):
    shelf = Shelf(books=books)

    @tool
    def look(query: str) -> str:
        """Look it up."""
        return str(len(shelf.invoke(query)))

    session, lineage = run(agent(call("look", "l", query="needles"), tools=[look]))
    step = lineage.one(kind="retriever")
    if books:
        assert [lineage.payload(cid)["page_content"] for cid in step.outputs] == ["A on needles", "B on needles"]
        assert set(step.outputs) <= set(lineage.tool("l").inputs)
    else:
        assert [lineage.payload(cid) for cid in step.outputs] == [{"documents": []}]
    assert not reasons(session.handler)


def test_a_completion_model_is_counted_as_not_recorded():
    session = Session()
    assert session.invoke(FakeListLLM(responses=["x"]), "go") == "x"
    assert reasons(session.handler) == {"NOT_CHAT"}


def test_a_run_whose_parent_was_not_seen_belongs_to_the_task_it_runs_in():
    """A checkpoint namespace is that of one task of one graph: what runs in it is part of that task's run."""
    node = {"langgraph_checkpoint_ns": "tools:1234", "langgraph_step": 1, "langgraph_node": "tools"}
    session, lineage = fed(
        ("on_chain_start", ({}, {"messages": []}), {"run_id": "root", "name": "outer"}),
        (
            "on_chain_start",
            ({}, {"messages": []}),
            {"run_id": "node", "parent_run_id": "root", "name": "tools", "metadata": node},
        ),
        (
            "on_chain_start",
            ({}, {"messages": []}),
            {
                "run_id": "inner",
                "parent_run_id": "not seen",
                "name": "helper",
                "metadata": {**node, "lc_agent_name": "helper"},
            },
        ),
        ("on_chain_end", ({"messages": []},), {"run_id": "inner"}),
        ("on_chain_end", ({"messages": []},), {"run_id": "node"}),
        ("on_chain_end", ({"messages": []},), {"run_id": "root"}),
    )
    inner, root = lineage.one("helper"), lineage.one("outer")
    assert inner.kind == "agent"
    assert inner.fields["root_run_id"] == root.fields["run_id"]
    assert inner.fields["parent_run_id"] == lineage.one("tools").fields["run_id"]
    assert not reasons(session.handler)
