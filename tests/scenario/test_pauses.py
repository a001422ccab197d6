"""A pause for a person is no failure; what ran in the end is recorded once, with the arguments that really ran."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from support.agents import Session, agent, asks, call, read, says, subagent, task, write
from support.lineage import Lineage
from support.sdk import cid_of

APPROVE = Command(resume={"decisions": [{"type": "approve"}]})
REJECT = Command(resume={"decisions": [{"type": "reject", "message": "no"}]})


def edited(name: str, **arguments: Any) -> Command[Any]:
    return Command(resume={"decisions": [{"type": "edit", "edited_action": {"name": name, "args": arguments}}]})


def guarded(*turns: Any, **options: Any) -> Any:
    options.setdefault("checkpointer", InMemorySaver())
    return agent(*turns, interrupt_on={"write_file": True}, **options)


def asking(lineage: Lineage, call_id: str) -> str:
    (cid,) = {
        cid
        for cid in lineage.assets("Reasoning")
        for message in lineage.payload(cid)
        if call_id in [asked_for["id"] for asked_for in message.get("tool_calls", [])]
    }
    return cid


def test_an_approved_call_is_recorded_once_when_it_ran():
    session = Session()
    runnable = guarded(write("w", "/a.md", "approved\n"))
    assert "__interrupt__" in session.invoke(runnable, thread="T")
    paused = session.lineage(thread="T", unfinished=True)
    assert cid_of("approved\n") not in paused.registered
    assert paused.one(kind="graph").fields["status"] == "interrupted"
    session.invoke(runnable, APPROVE, thread="T")
    lineage = session.lineage(thread="T", unfinished=True)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert [step.fields["status"] for step in lineage.all(kind="graph")] == ["interrupted", "ok"]
    assert asking(lineage, "w") in lineage.tool("w").inputs
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]
    assert len(session.handler.gaps) == 0


def test_an_edited_call_is_recorded_with_the_arguments_that_ran():
    session = Session()
    runnable = guarded(write("w", "/a.md", "proposed\n"))
    session.invoke(runnable, thread="T")
    session.invoke(runnable, edited("write_file", file_path="/b.md", content="edited\n"), thread="T")
    lineage = session.lineage(thread="T", unfinished=True)
    assert lineage.tool("w").files("wrote") == {"/b.md": cid_of("edited\n")}
    (arguments,) = lineage.assets("Dataset", name="write_file: input")
    assert lineage.payload(arguments) == {"file_path": "/b.md", "content": "edited\n"}
    assert cid_of("proposed\n") not in lineage.registered
    assert asking(lineage, "w") in lineage.tool("w").inputs


def test_a_rejected_call_left_no_trace_of_having_run():
    session = Session()
    runnable = guarded(write("w", "/a.md", "unwanted\n"))
    session.invoke(runnable, thread="T")
    session.invoke(runnable, REJECT, thread="T")
    lineage = session.lineage(thread="T", unfinished=True)
    assert not lineage.all("write_file")
    assert cid_of("unwanted\n") not in lineage.registered
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]


def test_a_handler_that_did_not_see_the_request_works_it_out_from_the_state(tmp_path: Path):
    def process(inputs: Any, *turns: Any) -> Lineage:
        """A process of its own, but for the store: it reopens the checkpoints under a new handler."""
        with SqliteSaver.from_conn_string(f"{tmp_path}/checkpoints.db") as saver:
            session = Session()
            session.invoke(guarded(*turns, checkpointer=saver), inputs, thread="T")
            return session.lineage(thread="T", unfinished=True)

    first = process(None, asks(write("w", "/a.md", "approved\n"), read("r", "/a.md"), text="I shall write."))
    second = process(APPROVE, says("done"))
    assert asking(first, "w") in second.tool("w").inputs
    assert asking(first, "w") in second.tool("r").inputs
    assert second.blobs[asking(first, "w")] == first.blobs[asking(first, "w")]
    assert second.history("/a.md") == ["1 write_file"]


@pytest.mark.parametrize("resumed_by", ["the same handler", "a new handler"])
def test_a_pause_inside_a_tool_is_recorded_as_one_call(resumed_by: str):
    @tool
    def confirm(what: str) -> str:
        """Ask a person."""
        return f"{what}: {interrupt('really?')}"

    session = Session()
    runnable = agent(
        asks(call("confirm", "c", what="x"), write("w", "/a.md", "a\n")), tools=[confirm], checkpointer=InMemorySaver()
    )
    session.invoke(runnable, thread="T")
    assert not session.lineage(thread="T", unfinished=True).all("confirm")
    other = session if resumed_by == "the same handler" else Session()
    other.context = session.context
    other.invoke(runnable, Command(resume="yes"), thread="T")
    lineage = other.lineage(thread="T", unfinished=True)
    step = lineage.tool("c")
    (result,) = lineage.assets("Dataset", name="confirm: output")
    assert step.outputs == (result,)
    assert "x: yes" in lineage.text(result)
    # a new handler sees the request in no state before the call is over: then it must at least count what is missing
    assert asking(lineage, "c") in step.inputs or (other is not session and len(other.handler.gaps))
    assert lineage.history("/a.md") == ["1 write_file"]
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]


@pytest.mark.parametrize("resumed_by", ["the same handler", "a new handler"])
def test_a_pause_in_a_subagent_is_resumed_in_the_same_lane(resumed_by: str):
    helper = subagent(
        "helper", read("r", "/none.md"), write("w", "/a.md", "a\n"), says("helped"), interrupt_on={"write_file": True}
    )
    session = Session()
    runnable = agent(task("t", "helper"), subagents=[helper], checkpointer=InMemorySaver())
    session.invoke(runnable, thread="T")
    before = session.lineage(thread="T", unfinished=True)
    assert not before.all("task")
    other = session if resumed_by == "the same handler" else Session()
    other.context = session.context
    other.invoke(runnable, APPROVE, thread="T")
    lineage = other.lineage(thread="T", unfinished=True)
    assert lineage.history("/a.md", "helper") == ["1 write_file"]
    assert lineage.tool("w").fields["lane"] == lineage.tool("r").fields["lane"]
    assert asking(lineage, "w") in lineage.tool("w").inputs
    assert len(lineage.all("task", "tool")) == 1
    assert len(lineage.all("helper", "agent")) == 1
    (agent_asset,) = lineage.assets("Agent", name="helper")
    assert sorted(lineage.users(agent_asset)) == ["helper", "task"]
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]


def test_several_pauses_of_one_conversation_are_each_resumed():
    session = Session()
    runnable = guarded(write("w1", "/a.md", "one\n"), write("w2", "/a.md", "two\n"))
    session.invoke(runnable, thread="T")
    session.invoke(runnable, APPROVE, thread="T")
    session.invoke(runnable, APPROVE, thread="T")
    lineage = session.lineage(thread="T", unfinished=True)
    assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1"]
    assert [step.fields["status"] for step in lineage.all(kind="graph")] == ["interrupted", "interrupted", "ok"]
