"""Tasks that run elsewhere: their launch, updates and result are recorded, and that the rest is not seen."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from deepagents.middleware.async_subagents import AsyncSubAgent
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asked, asks, call, reasons, run
from support.lineage import Lineage
from support.remote import RemoteAgents, remote_agents

TASK = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def remote() -> Iterator[RemoteAgents]:
    with remote_agents() as agents:
        yield agents


def far(remote: RemoteAgents) -> AsyncSubAgent:
    return AsyncSubAgent(name="far", description="Works elsewhere.", graph_id="g", url=remote.url)


def working(remote: RemoteAgents, *turns: Any) -> Any:
    start = call("start_async_task", "s", description="Do it.", subagent_type="far")
    return agent(start, *turns, subagents=[far(remote)])


def revisions(lineage: Lineage) -> list[str]:
    """The revisions of the one task, as they were made."""
    records = lineage.assets("Dataset", name="far: remote task")
    made = [cid for step in lineage.steps for cid in step.outputs if cid in records]
    assert set(made) == set(records)
    return made


def test_a_launch_is_an_output_of_its_call_and_a_gap(remote: RemoteAgents):
    session, lineage = run(working(remote))
    (record,) = revisions(lineage)
    assert lineage.producers(record) == ["start_async_task"]
    assert record in lineage.tool("s").outputs
    assert lineage.payload(record)["status"] == "running"
    assert reasons(session.handler) == {"REMOTE"}
    assert [gap["what"] for gap in lineage.gaps()] == ["far"]


def test_a_check_that_finds_it_done_revises_it(remote: RemoteAgents):
    remote.answer("The answer from afar.")
    session, lineage = run(working(remote, call("check_async_task", "c", task_id=TASK)))
    first, second = revisions(lineage)
    check = lineage.tool("c")
    assert first in check.inputs
    assert second in check.outputs
    assert lineage.producers(second) == ["check_async_task"]
    assert [lineage.payload(cid)["status"] for cid in (first, second)] == ["running", "success"]
    assert "The answer from afar." in session.results()["c"].text
    assert len(lineage.gaps()) == 1


def test_a_cancelled_task_is_revised(remote: RemoteAgents):
    _, lineage = run(working(remote, call("cancel_async_task", "x", task_id=TASK)))
    first, second = revisions(lineage)
    assert first in lineage.tool("x").inputs
    assert lineage.payload(second)["status"] == "cancelled"


def test_the_state_says_which_revision_and_how_it_stands(remote: RemoteAgents):
    _, lineage = run(working(remote))
    (record,) = revisions(lineage)
    later = lineage.all("model", "graph_node")[-1]
    assert record in later.inputs
    (state,) = [
        cid for cid in later.inputs if any(one["name"] == "model: input state" for one in lineage.metadata[cid])
    ]
    assert lineage.payload(state)["async_tasks"] == {TASK: {"task": f"urn:cid:{record}", "status": "running"}}


def test_a_launch_that_fails_is_no_task(remote: RemoteAgents):
    spec = AsyncSubAgent(name="far", description="Works elsewhere.", graph_id="g", url="http://127.0.0.1:9")
    start = call("start_async_task", "s", description="Do it.", subagent_type="far")
    session, lineage = run(agent(start, subagents=[spec]))
    assert lineage.assets("Dataset", name="far: remote task") == []
    assert reasons(session.handler) == set()
    assert "Failed to launch" in session.results()["s"].text


def test_on_a_branch_without_the_task_its_record_is_no_predecessor(remote: RemoteAgents):
    saver, session = InMemorySaver(), Session()
    start = {"configurable": {"thread_id": "t"}}
    runnable = agent(subagents=[far(remote)], checkpointer=saver)
    session.invoke(runnable, thread="t")
    before = runnable.get_state(start).config
    starting = call("start_async_task", "s1", description="Do it.", subagent_type="far")
    session.invoke(agent(starting, subagents=[far(remote)], checkpointer=saver), asked("one"), thread="t")
    again = {**starting, "id": "s2"}
    runnable = agent(again, subagents=[far(remote)], checkpointer=saver)
    session.invoke(runnable, asked("two"), thread="t", configurable=dict(before["configurable"]))
    lineage = session.lineage(thread="t")
    records = set(lineage.assets("Dataset", name="far: remote task"))
    assert records & set(lineage.tool("s2").outputs)
    assert not records & set(lineage.tool("s2").inputs)


def test_what_a_call_made_of_it_is_not_made_again_by_its_node(remote: RemoteAgents):
    cancelled = threading.Event()

    class Late(AgentMiddleware):  # type: ignore[type-arg]
        """Gives a check back only when the cancellation is through."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            result = handler(request)
            if request.tool_call["name"] == "cancel_async_task":
                cancelled.set()
            elif request.tool_call["name"] == "check_async_task":
                cancelled.wait(30)
                time.sleep(0.3)
            return result

    both = asks(call("check_async_task", "c", task_id=TASK), call("cancel_async_task", "x", task_id=TASK))
    start = call("start_async_task", "s", description="Do it.", subagent_type="far")
    _, lineage = run(agent(start, both, subagents=[far(remote)], middleware=[Late()]))
    for record in set(revisions(lineage)):
        assert "tools" not in lineage.producers(record)
