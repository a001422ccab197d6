"""What calls of one message, or runs of one thread, do side by side is each one's own, and said once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from support.agents import Session, agent, asks, call, edit, file_data, subagent, task, write
from support.lineage import cid_of


def put_at(barrier: threading.Barrier) -> Any:
    @tool
    def put(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Put a text into /a.md, at the same time as the others."""
        barrier.wait(30)
        said = ToolMessage("put", tool_call_id=tool_call_id)
        return Command(update={"files": {"/a.md": file_data(text)}, "messages": [said]})

    return put


def test_each_update_of_one_path_by_parallel_tools_is_one_version_of_its_own_tool() -> None:
    calls = [call("put", f"p{n}", text=f"text {n}\n") for n in range(4)]
    session = Session()
    session.invoke(agent(asks(*calls), tools=[put_at(threading.Barrier(4))]))
    lineage = session.lineage()
    wrote = [
        (step.name, use["version"])
        for step in lineage.steps
        for use in step.fields.get("files", [])
        if use["role"] == "wrote"
    ]
    assert sorted(wrote) == [("put", 1), ("put", 2), ("put", 3), ("put", 4)]


def test_what_parallel_subagents_wrote_to_one_path_is_written_by_them_alone() -> None:
    session = Session()
    session.invoke(
        agent(
            asks(task("k1", "one"), task("k2", "two")),
            subagents=[
                subagent("one", write("w1", "/s.md", "from one\n")),
                subagent("two", write("w2", "/s.md", "from two\n")),
            ],
        )
    )
    wrote = [
        step.name
        for step in session.lineage().steps
        for use in step.fields.get("files", [])
        if use["role"] == "wrote" and use["path"] == "/s.md"
    ]
    assert wrote == ["write_file", "write_file"]


def test_a_run_beside_another_of_its_thread_takes_nothing_from_it() -> None:
    session = Session()
    first, second = threading.Event(), threading.Event()

    @tool
    def meet(number: int) -> str:
        """Wait until the other run has written."""
        (first, second)[number].set()
        (second, first)[number].wait(30)
        return "met"

    def one(number: int) -> None:
        runnable = agent(
            write(f"w{number}", "/a.md", f"one{number}\n"),
            call("meet", f"m{number}", number=number),
            edit(f"e{number}", "/a.md", "one", "two"),
            tools=[meet],
        )
        session.invoke(runnable, thread="T")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(2)))
    lineage = session.lineage(thread="T", conversations=2)
    edited = {(cid_of(f"one{number}\n"), cid_of(f"two{number}\n")) for number in range(2)}
    assert {
        tuple(use["cid"].removeprefix("urn:cid:") for use in step.fields["files"]) for step in lineage.all("edit_file")
    } == edited
