"""The plan: a dataset for each revision, chained to the one it replaced in its own lane."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asked, asks, call, run, says, subagent, task, todos, write
from support.lineage import Lineage


def plan(call_id: str, *contents: str, status: str = "pending") -> dict[str, Any]:
    return call("write_todos", call_id, todos=todos(*contents, status=status))


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    """The life of one plan; the call ids are the turns."""
    items = [*todos("A", status="completed"), *todos("B", status="in_progress"), *todos("C")]
    _, lineage = run(
        agent(
            plan("1", "A"),
            plan("2", "B"),
            plan("3", "A"),
            plan("4", "A"),
            plan("5"),
            call("write_todos", "6", todos=items),
            plan=True,
        )
    )
    return lineage


def test_a_plan_is_an_output_of_the_call_that_wrote_it_and_holds_it_as_written(lineage: Lineage):
    cid = lineage.plans()["B"]
    assert lineage.payload(cid) == todos("B")
    assert lineage.producers(cid) == ["write_todos"]
    assert cid in lineage.tool("2").outputs


def test_a_revision_is_chained_to_the_one_it_replaced(lineage: Lineage):
    cids = lineage.plans()
    assert cids["A"] in lineage.tool("2").inputs
    assert cids[""] in lineage.tool("6").inputs
    assert {cids["A"], cids["B"]}.isdisjoint(lineage.tool("6").inputs)


def test_going_back_to_an_earlier_plan_is_a_write(lineage: Lineage):
    cids = lineage.plans()
    assert cids["A"] in lineage.tool("3").outputs
    assert cids["B"] in lineage.tool("3").inputs


def test_writing_the_same_plan_again_is_no_revision(lineage: Lineage):
    cid = lineage.plans()["A"]
    assert cid not in lineage.tool("4").outputs
    assert cid in lineage.tool("4").inputs


def test_an_empty_plan_is_a_revision(lineage: Lineage):
    assert lineage.plans()[""] in lineage.tool("5").outputs
    assert lineage.plans()["A"] in lineage.tool("5").inputs


def test_the_state_says_which_plan_and_how_much_of_it_is_open(lineage: Lineage):
    last = lineage.all("model", "graph_node")[-1]
    cid = lineage.plans()["A, B, C"]
    assert lineage.payload(last.inputs[0])["todos"] == {"plan": f"urn:cid:{cid}", "open": 2}
    assert cid in last.inputs


def test_two_plans_in_one_message_are_refused_and_neither_is_a_revision():
    session, lineage = run(agent(asks(plan("1", "A"), plan("2", "B")), plan("3", "C"), plan=True))
    assert session.results()["1"].status == "error"
    assert set(lineage.plans()) == {"C"}
    assert not lineage.all("write_todos", "tool")[1:]


def test_a_plan_with_an_invalid_status_is_a_failed_call():
    _, lineage = run(agent(plan("1", "A"), plan("2", "B", status="blocked"), plan=True))
    assert set(lineage.plans()) == {"A"}
    assert len(lineage.all("write_todos", "tool_error")) == 1


def test_without_the_middleware_there_is_no_plan():
    session, lineage = run(agent(plan("p", "A"), write("w", "/a.md", "a\n")))
    assert session.results()["p"].status == "error"
    assert not lineage.plans()


def test_with_the_middleware_unused_there_is_no_plan():
    _, lineage = run(agent(says("nothing to do"), plan=True))
    assert not lineage.plans()


def test_todos_passed_in_are_dropped_by_the_graph_and_are_no_plan():
    session, lineage = run(agent(plan("p", "B"), plan=True), asked(todos=todos("A")))
    assert set(lineage.plans()) == {"B"}
    assert lineage.payload(lineage.one(kind="graph").inputs[0])["todos"] == todos("A")
    assert session.answer["todos"] == todos("B")


def test_a_subagents_plan_is_apart_from_its_callers():
    helper = subagent("helper", plan("h1", "H1"), plan("h2", "H2"), plan=True)
    _, lineage = run(agent(plan("1", "A"), task("t", "helper"), plan("2", "B"), subagents=[helper], plan=True))
    cids = lineage.plans()
    assert set(cids) == {"A", "H1", "H2", "B"}
    assert {cids["A"], cids["B"]}.isdisjoint(lineage.tool("h1").inputs)
    assert cids["H1"] in lineage.tool("h2").inputs
    assert cids["A"] in lineage.tool("2").inputs
    assert {cids["H1"], cids["H2"]}.isdisjoint({*lineage.tool("2").inputs, *lineage.tool("t").outputs})


def test_two_subagents_planning_at_once_do_not_revise_each_others_plan():
    helpers = [
        subagent(name, plan(f"{name}1", f"{name} first"), plan(f"{name}2", f"{name} second"), plan=True)
        for name in "xy"
    ]
    _, lineage = run(agent(asks(task("tx", "x"), task("ty", "y")), subagents=helpers))
    cids = lineage.plans()
    for name, other in ("xy", "yx"):
        assert cids[f"{name} first"] in lineage.tool(f"{name}2").inputs
        assert cids[f"{other} first"] not in lineage.tool(f"{name}2").inputs


def test_two_conversations_of_one_handler_do_not_revise_each_others_plan():
    session = Session()
    session.invoke(agent(plan("a", "A"), plan=True), thread="1")
    session.invoke(agent(plan("b", "B"), plan=True), thread="2")
    lineage = session.lineage(thread="2")
    assert set(lineage.plans()) == {"B"}
    assert len(lineage.tool("b").inputs) == len(session.lineage(thread="1").tool("a").inputs)


def test_a_plan_is_revised_over_the_turns_of_a_conversation():
    session = Session()
    saver = InMemorySaver()
    session.invoke(agent(plan("a", "A"), plan=True, checkpointer=saver), thread="1")
    session.invoke(agent(plan("b", "B"), plan=True, checkpointer=saver), asked("more"), thread="1")
    lineage = session.lineage(thread="1")
    assert lineage.plans()["A"] in lineage.tool("b").inputs


def test_a_plan_that_the_graph_has_forgotten_is_not_revised():
    # without a checkpointer the next turn starts without a plan
    session = Session()
    session.invoke(agent(plan("a", "A"), plan=True))
    session.invoke(agent(plan("b", "B"), plan=True), asked("more"))
    lineage = session.lineage()
    assert lineage.plans()["A"] not in lineage.tool("b").inputs
