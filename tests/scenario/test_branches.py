"""Branches of a thread: what a branch did not hold is no input and no predecessor on it."""

from pathlib import Path
from typing import Any

from deepagents.backends.filesystem import FilesystemBackend
from eqty_sdk.context import graph_context
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asked, call, edit, file_data, read, says, todos, write
from support.lineage import Lineage
from support.sdk import cid_of


class Thread:
    """One thread of a checkpointed agent, whose every run may start from any checkpoint of it."""

    def __init__(self, session: Session | None = None, **options: Any) -> None:
        self.session = session or Session()
        self.saver = InMemorySaver()
        self.options = options

    def run(self, *turns: Any, at: Any = None, text: str = "go", **state: Any) -> Any:
        runnable = agent(*turns, checkpointer=self.saver, **self.options)
        config = {} if at is None else {"configurable": dict(at["configurable"])}
        self.session.invoke(runnable, asked(text, **state), thread="t", **config)
        return runnable

    def replay(self, at: Any, *turns: Any) -> None:
        """Run what comes after a checkpoint once more, with nothing new said."""
        runnable = agent(*turns, checkpointer=self.saver, **self.options)
        with graph_context(self.session.context):
            runnable.invoke(None, self.session.config("t", configurable=dict(at["configurable"])))

    def now(self, runnable: Any) -> Any:
        return runnable.get_state({"configurable": {"thread_id": "t"}}).config

    def lineage(self, **expected: Any) -> Lineage:
        return self.session.lineage(thread="t", **expected)


def test_on_a_branch_from_before_an_edit_the_version_of_before_is_replaced():
    thread = Thread()
    before = thread.now(thread.run(write("w", "/a.md", "one\n")))
    thread.run(edit("e1", "/a.md", "one", "two"))
    thread.run(read("r", "/a.md"), edit("e2", "/a.md", "one", "three"), at=before)
    lineage = thread.lineage()
    assert lineage.tool("e1").files("replaced") == {"/a.md": cid_of("one\n")}
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("one\n")}
    assert lineage.tool("e2").files("replaced") == {"/a.md": cid_of("one\n")}
    # going back to what a file held before is a version of its own
    assert [lineage.tool("e2").version(role, "/a.md") for role in ("replaced", "wrote")] == [3, 4]


def test_on_a_branch_from_before_a_file_it_is_not_there():
    thread = Thread()
    before = thread.now(thread.run(says()))
    thread.run(write("w1", "/a.md", "one\n"))
    thread.run(write("w2", "/a.md", "two\n"), at=before)
    lineage = thread.lineage()
    assert lineage.tool("w2").files("replaced") == {}
    states = [step for step in lineage.all(kind="graph_node") if step.fields["root_run_id"] == _root_of(lineage, "w2")]
    assert not any(cid_of("one\n") in step.inputs for step in states)


def _root_of(lineage: Lineage, call_id: str) -> str:
    return str(lineage.tool(call_id).fields["root_run_id"])


def test_a_branch_that_writes_what_another_wrote_makes_a_version_of_its_own():
    thread = Thread()
    before = thread.now(thread.run(says()))
    thread.run(write("w1", "/a.md", "same\n"))
    thread.run(write("w2", "/a.md", "same\n"), at=before)
    lineage = thread.lineage()
    assert [lineage.tool(call_id).version("wrote", "/a.md") for call_id in ("w1", "w2")] == [1, 2]


def test_a_plan_is_not_chained_to_that_of_another_branch():
    thread = Thread(plan=True)
    start = thread.now(thread.run(call("write_todos", "p1", todos=todos("first"))))
    thread.run(call("write_todos", "p2", todos=todos("second")))
    thread.run(call("write_todos", "p3", todos=todos("third")), at=start)
    lineage = thread.lineage()
    plans = lineage.plans()
    assert plans["first"] in lineage.tool("p3").inputs
    assert plans["second"] not in lineage.tool("p3").inputs


def test_a_branch_from_before_the_plan_has_none():
    thread = Thread(plan=True)
    start = thread.now(thread.run(says()))
    thread.run(call("write_todos", "p1", todos=todos("first")))
    thread.run(call("write_todos", "p2", todos=todos("second")), at=start)
    lineage = thread.lineage()
    assert lineage.plans()["first"] not in lineage.tool("p2").inputs


def test_what_was_read_on_another_branch_is_no_input_of_an_edit(tmp_path: Path):
    (tmp_path / "m.py").write_text("x = 1\n")
    thread = Thread(backend=FilesystemBackend(tmp_path, virtual_mode=True))
    start = thread.now(thread.run(says()))
    thread.run(read("r", "/m.py"))
    thread.run(edit("e", "/m.py", "1", "2"), at=start)
    lineage = thread.lineage()
    assert lineage.renderings("/m.py")
    assert not set(lineage.tool("e").inputs) & lineage.renderings("/m.py")


def test_the_results_of_another_branch_are_in_no_prompt_of_this_one():
    thread = Thread()
    start = thread.now(thread.run(says()))
    thread.run(write("w1", "/a.md", "one\n"))
    thread.run(write("w2", "/b.md", "two\n"), at=start)
    lineage = thread.lineage()
    result = lineage.tool("w1").outputs[0]
    here = [step for step in lineage.all(kind="chat_request") if step.fields["root_run_id"] == _root_of(lineage, "w2")]
    assert here
    assert not any(result in step.inputs for step in here)


def test_what_was_put_into_the_state_from_outside_is_there_and_made_by_nobody():
    thread = Thread()
    runnable = thread.run(write("w", "/a.md", "one\n"))
    runnable.update_state(
        {"configurable": {"thread_id": "t"}}, {"files": {"/a.md": file_data("put in\n"), "/b.md": file_data("new\n")}}
    )
    thread.run(edit("e", "/a.md", "put", "taken"), read("r", "/b.md"))
    lineage = thread.lineage()
    assert lineage.producers(cid_of("put in\n")) == lineage.producers(cid_of("new\n")) == []
    assert lineage.tool("e").files("replaced") == {"/a.md": cid_of("put in\n")}
    assert lineage.tool("r").files("read") == {"/b.md": cid_of("new\n")}


def test_what_was_taken_out_of_the_state_from_outside_is_replaced_by_nothing():
    thread = Thread()
    runnable = thread.run(write("w", "/a.md", "one\n"))
    runnable.update_state({"configurable": {"thread_id": "t"}}, {"files": {"/a.md": None}})
    thread.run(write("v", "/a.md", "two\n"))
    assert thread.lineage().tool("v").files("replaced") == {}


def test_a_fork_goes_on_from_what_it_forked():
    thread = Thread()
    runnable = thread.run(write("w", "/a.md", "one\n"), edit("e1", "/a.md", "one", "two"))
    config = {"configurable": {"thread_id": "t"}}
    (mid,) = [
        state.config
        for state in runnable.get_state_history(config)
        if state.next == ("model",) and state.values.get("files", {}).get("/a.md", {}).get("content") == "one\n"
    ]
    thread.run(edit("e2", "/a.md", "one", "three"), at=mid, text="differently")
    lineage = thread.lineage()
    assert lineage.tool("e2").files("replaced") == {"/a.md": cid_of("one\n")}
    assert lineage.tool("e2").files("wrote") == {"/a.md": cid_of("three\n")}


def test_in_a_handler_that_saw_none_of_it_a_branch_chains_to_the_file_it_finds():
    first = Thread()
    before = first.now(first.run(write("w", "/a.md", "one\n")))
    first.run(edit("e1", "/a.md", "one", "two"))
    second = Thread()
    second.saver = first.saver
    second.run(edit("e2", "/a.md", "one", "three"), at=before)
    lineage = second.lineage()
    assert lineage.tool("e2").files("replaced") == {"/a.md": cid_of("one\n")}
    assert lineage.producers(cid_of("one\n")) == []


# --- a branch that starts at a tool call


def at_tools(thread: Thread, runnable: Any, index: int) -> Any:
    """The checkpoint before the tools of a turn, the earliest first."""
    config = {"configurable": {"thread_id": "t"}}
    found = [state.config for state in runnable.get_state_history(config) if state.next == ("tools",)]
    return found[::-1][index]


def test_a_branch_that_starts_at_a_plan_is_not_chained_to_another_branchs():
    thread = Thread(plan=True)
    thread.run(call("write_todos", "p1", todos=todos("one")))
    runnable = thread.run(call("write_todos", "p2", todos=todos("two")), text="more")
    thread.replay(at_tools(thread, runnable, 0), says())
    lineage = thread.lineage()
    again = [step for step in lineage.all("write_todos") if step.fields["tool_call_id"] == "p1"][-1]
    assert lineage.plans()["two"] not in again.inputs


def test_results_of_one_call_id_on_two_branches_are_told_apart():
    rolled: list[int] = []

    @tool
    def roll() -> str:
        """Roll the dice."""
        rolled.append(1)
        return f"rolled {len(rolled)}"

    thread = Thread(tools=[roll])
    runnable = thread.run(call("roll", "c"))
    tip = thread.now(runnable)
    thread.replay(at_tools(thread, runnable, 0), says("second"))
    thread.run(says("third"), at=tip, text="go on")
    lineage = thread.lineage()
    first, second = [step.outputs[0] for step in lineage.all("roll")]
    assert "rolled 1" in str(lineage.payload(first))
    last = lineage.turns()[-1][0]
    assert first in last.inputs
    assert second not in last.inputs
