"""When statements are made, what waits for them, and that it makes no difference to what is recorded."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eqty_sdk.context import graph_context
from langchain_core.tools import tool

from eqty_lineage.deepagents import ConfigurationError, EqtyDeepAgentsHandler
from eqty_lineage.deepagents.recording import recorder, sdk
from support.agents import Session, agent, asked, asks, call, edit, says, subagent, task, write
from support.lineage import Lineage
from support.sdk import cid_of, second


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The store answers nothing until this is set."""
    opened = threading.Event()
    store = sdk.add_data_statement

    def add_data_statement(*arguments: Any, **more: Any) -> Any:
        opened.wait()
        return store(*arguments, **more)

    monkeypatch.setattr(sdk, "add_data_statement", add_data_statement)
    yield opened
    opened.set()


def test_an_export_after_invoke_is_complete():
    session = Session()
    session.invoke(agent(write("w", "/a.md", "a\n")))
    lineage = Lineage.of(session.context)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.steps[-1].kind == "graph"


def test_without_waiting_a_run_returns_before_it_is_stored_and_flush_says_when_it_is(gate: threading.Event):
    session = Session(wait=False)
    answer = session.invoke(agent(write("w", "/a.md", "a\n"), says("done")))
    assert answer["messages"][-1].content == "done"
    assert session.handler.flush(0.01) is False
    assert not Lineage.of(session.context).steps
    gate.set()
    assert session.handler.flush() is True
    assert Lineage.of(session.context).history("/a.md") == ["1 write_file"]


def test_the_context_waits_for_what_is_queued(gate: threading.Event):
    session = Session(wait=False)
    session.invoke(agent(write("w", "/a.md", "a\n")), thread="T")
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(lambda: Lineage.of(session.handler.context)),
            pool.submit(lambda: Lineage.of(session.handler.contexts["T"])),
        ]
        assert not any(future.done() for future in waiting)
        gate.set()
        for future in waiting:
            assert future.result().history("/a.md") == ["1 write_file"]


def test_aflush_does_not_block_the_event_loop(gate: threading.Event):
    session = Session(wait=False)

    async def serve() -> bool:
        await agent(write("w", "/a.md", "a\n")).ainvoke(asked(), session.config())
        flushing = asyncio.create_task(session.handler.aflush())
        await asyncio.sleep(0)
        assert not flushing.done()
        gate.set()  # reached only if the loop runs on
        return await flushing

    with graph_context(session.context), second():
        assert asyncio.run(serve()) is True
    assert session.lineage().history("/a.md") == ["1 write_file"]


def test_aflush_gives_up_in_time_and_says_so(gate: threading.Event):
    session = Session(wait=False)
    session.invoke(agent(says()))
    assert asyncio.run(session.handler.aflush(0.01)) is False


def test_a_run_that_waits_for_the_store_holds_up_no_other_run(gate: threading.Event):
    session = Session()
    reached = threading.Event()

    @tool
    def reach(where: str) -> str:
        """Show that the other run gets on."""
        reached.set()
        return "reached"

    with ThreadPoolExecutor(2) as pool, second():
        first = pool.submit(session.invoke, agent(says("first")), thread="A")
        while session.handler._open_runs.roots or not session.handler.contexts.keys():
            assert not first.done()
            time.sleep(0.01)
        second_run = pool.submit(
            session.invoke, agent(call("reach", "r", where="x"), tools=[reach]), asked("more"), thread="B"
        )
        assert reached.wait(60)
        assert not first.done()
        gate.set()
        first.result()
        second_run.result()
    assert session.lineage(thread="B").tool("r")


def scripted() -> Any:
    helper = subagent("helper", write("h", "/b.md", "b\n"), says("helped"))
    return agent(
        asks(write("w", "/a.md", "one\n"), task("t", "helper")),
        edit("e", "/a.md", "one", "two"),
        says("done"),
        subagents=[helper],
    )


def test_inline_and_background_record_the_same():
    told = []
    for recording in ("inline", "background"):
        session = Session(recording=recording)
        session.invoke(scripted())
        lineage = session.lineage()
        assets = {cid: sorted(map(repr, lineage.metadata[cid])) for cid in lineage.entities}
        apart = {"sequence", "run_id", "parent_run_id", "root_run_id", "started_at", "ended_at", "lane"}
        steps = [
            (
                sorted(step.inputs),
                sorted(step.outputs),
                {key: value for key, value in step.fields.items() if key not in apart},
            )
            for step in sorted(lineage.steps, key=lambda step: (step.name, step.kind, sorted(step.inputs)))
        ]
        told.append((assets, steps))
    assert told[0] == told[1]


@pytest.mark.parametrize(("recording", "thread"), [("inline", False), ("background", True)])
def test_the_environment_sets_how_a_handler_records(recording: str, *, thread: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EQTY_LINEAGE_RECORDING", recording)
    threads = set()
    store = sdk.add_computation_statement

    def add_computation_statement(*arguments: Any, **more: Any) -> Any:
        threads.add(threading.current_thread().name)
        return store(*arguments, **more)

    monkeypatch.setattr(sdk, "add_computation_statement", add_computation_statement)
    Session().invoke(agent(says()))
    assert threads
    assert all("recorder" in name for name in threads) is thread


def test_the_argument_beats_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EQTY_LINEAGE_RECORDING", "nonsense")
    EqtyDeepAgentsHandler(recording="inline")
    with pytest.raises(ConfigurationError, match="'background' or 'inline', not 'nonsense'"):
        EqtyDeepAgentsHandler()


def test_a_closed_handler_has_stored_all_and_records_no_more(gate: threading.Event):
    session = Session(wait=False)
    session.invoke(agent(write("w1", "/a.md", "a\n")))
    assert session.handler.close(0.01) is False
    gate.set()
    assert session.handler.close() is True
    answer = session.invoke(agent(write("w2", "/b.md", "b\n"), says("still answering")), asked("more"))
    assert answer["messages"][-1].content == "still answering"
    lineage = session.lineage()
    assert lineage.history("/a.md") == ["1 write_file"]
    assert cid_of("b\n") not in lineage.registered


def test_what_was_queued_is_what_the_values_were(gate: threading.Event):
    # the state is changed after the callback and before anything is stored
    session = Session(wait=False)
    answer = session.invoke(agent(write("w", "/a.md", "a\n"), says("said")))
    for message in answer["messages"]:
        message.content = "changed afterwards"
    answer["files"]["/a.md"]["content"] = "changed afterwards"
    gate.set()
    lineage = session.lineage()
    assert "changed afterwards" not in lineage.everything()
    assert lineage.history("/a.md") == ["1 write_file"]


def test_the_recorder_is_told_when_the_agent_only_waits_for_its_model(monkeypatch: pytest.MonkeyPatch):
    session = Session()
    works: dict[str, set[bool]] = {}
    last: list[tuple[str, bool]] = []
    after = session.handler._after

    def noted(*, ended: bool) -> None:
        after(ended=ended)
        callback = sys._getframe(1).f_locals["method"].__name__
        works.setdefault(callback, set()).add(session.handler._agent_works)
        last[:] = [(callback, session.handler._recorder in recorder._WORKER._at_work)]

    monkeypatch.setattr(session.handler, "_after", noted)
    session.invoke(agent(write("w", "/a.md", "a\n")))
    assert works["on_chat_model_start"] == {False}
    assert works["on_llm_end"] == works["on_tool_start"] == works["on_tool_end"] == {True}
    assert last == [("on_chain_end", False)]
