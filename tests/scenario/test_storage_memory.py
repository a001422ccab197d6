"""What a handler keeps, while a run is open and after it."""

import asyncio
import contextlib
import uuid
from collections import UserDict
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from eqty_sdk import Context
from eqty_sdk.context import graph_context
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from eqty_lineage.deepagents import EqtyDeepAgentsHandler, observing
from eqty_lineage.deepagents.recording import recorder, sdk
from support.agents import agent, asked, asks, call, model, says, subagent, task
from support.recording import Recording, edit, reachable, texts_with, write
from support.sdk import run_in_process

MARKER = "a text to be searched for"


def text(number: int = 0) -> str:
    """A new string each time: one that a test holds is held by nobody else."""
    return " ".join([MARKER, str(number), "x" * 2_000])


@tool
def explode() -> str:
    """Fail."""
    message = "no"
    raise ValueError(message)


@tool
def sleep() -> str:
    """Take long."""
    return "slept"


# --- tables by run


def run_keyed(handler: EqtyDeepAgentsHandler) -> list[str]:
    """Every table of the handler, of its base and of all they hold that has a run's id for a key or entry."""
    found = []
    skip = (recorder._WORKER, handler._thread_contexts)
    for value in reachable(handler, stop=skip):
        if isinstance(value, dict | UserDict):
            ids = [key for key in list(value) if isinstance(key, uuid.UUID)]
        elif isinstance(value, set | frozenset | list | tuple):
            ids = [one for one in list(value) if isinstance(one, uuid.UUID)]
        else:
            continue
        if ids:
            found.append(f"{type(value).__name__} with {ids}")
    base = ("_runs", "_parents", "_sibling_outputs", "_fallback_steps", "_agent_names")
    found += [f"{name}: {vars(handler)[name]}" for name in base if vars(handler)[name]]
    if handler._open_runs._runs or handler._open_runs._roots:
        found.append("open runs")
    return found


def succeed(recording: Recording) -> None:
    recording.run(agent(write("w", "/a.md", text()), edit("e", "/a.md", "x", "y")))


def fail(recording: Recording) -> None:
    with pytest.raises(ValueError):
        recording.run(agent(write("w", "/a.md", text()), call("explode", "x"), tools=[explode]))


def fail_in_the_model(recording: Recording) -> None:
    runnable = agent(model=model(asks(write("w", "/a.md", text())), ValueError("no")))
    with pytest.raises(ValueError):
        recording.run(runnable)


def fail_in_a_subagent(recording: Recording) -> None:
    helper = subagent("helper", write("w", "/a.md", text()), call("explode", "x"), tools=[explode])
    with pytest.raises(ValueError):
        recording.run(agent(task("d", "helper"), subagents=[helper]))


def delegate(recording: Recording) -> None:
    helpers = [subagent(name, write("w", f"/{name}.md", text())) for name in ("one", "two")]
    recording.run(agent(asks(task("d1", "one"), task("d2", "two")), subagents=helpers))


def abandon(recording: Recording) -> None:
    stream = agent(write("w", "/a.md", text()), edit("e", "/a.md", "x", "y")).stream(
        asked(), {"callbacks": [recording.handler]}
    )
    with graph_context(recording.context):
        next(stream)
        next(stream)
        stream.close()
    recording.handler.flush()


def cancel(recording: Recording) -> None:
    started = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def run() -> None:
        runnable = agent(write("w", "/a.md", text()), call("wait", "x"), tools=[wait])
        work = asyncio.create_task(runnable.ainvoke(asked(), {"callbacks": [recording.handler]}))
        await started.wait()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    with graph_context(recording.context):
        asyncio.run(run())
    recording.handler.flush()


def pause(recording: Recording) -> None:
    runnable = agent(
        write("w", "/a.md", text()),
        call("sleep", "s"),
        tools=[sleep],
        interrupt_on={"sleep": True},
        checkpointer=InMemorySaver(),
    )
    recording.run(runnable, thread="t")


def pause_and_resume(recording: Recording) -> None:
    runnable = agent(
        write("w", "/a.md", text()),
        call("sleep", "s"),
        tools=[sleep],
        interrupt_on={"sleep": True},
        checkpointer=InMemorySaver(),
    )
    recording.run(runnable, thread="t")
    recording.run(runnable, Command(resume={"decisions": [{"type": "approve"}]}), thread="t")


def stream_to_the_end(recording: Recording) -> None:
    with graph_context(recording.context):
        for _ in agent(write("w", "/a.md", text())).stream(asked(), {"callbacks": [recording.handler]}):
            pass
    recording.handler.flush()


ENDINGS = [
    succeed,
    fail,
    fail_in_the_model,
    fail_in_a_subagent,
    delegate,
    abandon,
    cancel,
    pause,
    pause_and_resume,
    stream_to_the_end,
]


@pytest.fixture(scope="module", params=ENDINGS, ids=lambda end: end.__name__)
def ended(request: pytest.FixtureRequest) -> Recording:
    """A handler whose run is over, one way or another."""
    recording = Recording()
    request.param(recording)
    recording.answers.clear()
    assert recording.handler.stats.events > 5
    return recording


def test_no_entry_of_a_run_is_left_after_it(ended: Recording):
    for one in conversations(ended.handler):
        for lane in one.lanes.values():
            # the run that owns a lane's state is the last one's, until the next one takes its place
            lane.owner = None
    assert run_keyed(ended.handler) == []


def conversations(handler: EqtyDeepAgentsHandler) -> list[Any]:
    return [handler._own, *handler._conversations.values()]


def test_while_a_run_is_open_there_are_entries_of_it():
    """What the test above looks for is there to be found."""
    recording = Recording()
    seen: list[list[str]] = []

    @tool
    def look() -> str:
        """Look around."""
        seen.append(run_keyed(recording.handler))
        return "looked"

    recording.run(agent(call("look", "l"), tools=[look]))
    assert any("open runs" in one for one in seen[0])
    assert len(seen[0]) > 3


# --- texts


def test_no_text_of_a_file_is_left_after_a_run(ended: Recording):
    assert texts_with(ended.handler, MARKER) == []


@pytest.mark.parametrize("end", [succeed, delegate], ids=lambda end: end.__name__)
def test_no_text_of_a_file_is_left_after_a_run_that_was_recorded_inline(end: Any):
    recording = Recording(recording="inline")
    end(recording)
    recording.answers.clear()
    assert texts_with(recording.handler, MARKER) == []


def test_no_text_of_a_question_or_answer_is_left_after_a_run():
    recording = Recording()
    question = " ".join([MARKER, "in a question", "?" * 2_000])
    recording.run(agent(says(f"{MARKER} in an answer")), {"messages": [HumanMessage(question)]})
    recording.answers.clear()
    assert texts_with(recording.handler, MARKER) == []


def test_no_text_of_a_file_on_disk_is_left_after_a_run(tmp_path: Path):
    recording = Recording()
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    recording.run(agent(write("w", "/a.md", text()), edit("e", "/a.md", "x", "y"), backend=backend))
    recording.answers.clear()
    assert texts_with(recording.handler, MARKER) == []


def test_no_text_is_left_after_several_turns_of_a_thread():
    recording = Recording()
    saver = InMemorySaver()
    for turn in range(3):
        recording.run(agent(write(f"w{turn}", "/a.md", text(turn)), checkpointer=saver), thread="t")
    recording.answers.clear()
    assert texts_with(recording.handler, MARKER) == []


def test_while_a_run_is_open_the_current_text_is_kept_once_and_none_that_was_superseded():
    recording = Recording()
    seen: list[list[str]] = []

    @tool
    def look() -> str:
        """Look around."""
        recording.handler.flush()
        lanes = [lane for one in conversations(recording.handler) for lane in one.lanes.values()]
        seen.append([found for lane in lanes for found in texts_with(lane.files, MARKER)])
        return "looked"

    recording.run(
        agent(
            write("w1", "/a.md", text(1)),
            call("look", "l1"),
            write("w2", "/a.md", text(2)),
            call("look", "l2"),
            tools=[look],
        )
    )
    assert [len(found) for found in seen] == [1, 1]
    assert f"{MARKER} 1" in seen[0][0]
    assert f"{MARKER} 2" in seen[1][0]


# --- thread contexts


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads are kept in memory, not a thousand."""
    monkeypatch.setattr(sdk, "MOST_THREADS", 3)
    monkeypatch.setattr(observing, "MOST_THREADS", 3)


def quick() -> Any:
    return agent(says("Hello."))


def test_no_more_threads_are_kept_than_may_be(three: None):
    recording = Recording()
    for number in range(5):
        recording.run(quick(), thread=f"t{number}")
    handler = recording.handler
    assert len(handler._thread_contexts) <= 3
    assert list(handler._conversations) == ["t2", "t3", "t4"]
    assert list(handler.contexts) == ["t2", "t3", "t4"]


def test_a_thread_that_was_evicted_goes_on_in_its_own_context(three: None):
    recording = Recording()
    recording.run(quick(), thread="t0")
    first = recording.handler.contexts["t0"].id
    for number in range(1, 5):
        recording.run(quick(), thread=f"t{number}")
    assert (str(recording.context.id), "t0") not in recording.handler._thread_contexts
    recording.run(quick(), thread="t0")
    assert recording.handler.contexts["t0"].id == first
    export = recording.export("t0")
    assert len([step for step in export.steps if step.named[1] == "graph"]) == 2
    assert export.dangling() == []


def test_a_thread_in_use_is_not_the_one_that_is_evicted(three: None):
    recording = Recording()
    for thread in ("a", "b", "a", "c", "a", "d"):
        recording.run(quick(), thread=thread)
    assert {thread for _, thread in recording.handler._thread_contexts} >= {"a", "d"}


def test_a_thread_under_another_root_has_another_context():
    recording = Recording()
    recording.run(quick(), thread="t")
    first = recording.handler.contexts["t"].id
    other = Recording(recording.handler)
    other.run(quick(), thread="t")
    assert recording.handler.contexts["t"].id != first


def test_another_handler_goes_on_in_a_threads_context(monkeypatch: pytest.MonkeyPatch):
    recording = Recording()
    recording.run(quick(), thread="t")
    first = recording.handler.contexts["t"].id
    monkeypatch.setattr(EqtyDeepAgentsHandler, "_thread_contexts", {})
    later = Recording()
    later.run(quick(), thread="t", context=recording.context)
    assert later.handler.contexts["t"].id == first


LATER = """
import sys, uuid
from pathlib import Path
from support.sdk import initialise
initialise(Path(sys.argv[1]))
from eqty_sdk import Context
from support.agents import agent, says
from support.recording import Recording
recording = Recording()
root = Context.from_uuid(uuid.UUID(sys.argv[2]))
for thread in ("ä thread", "another"):
    recording.run(agent(says("Hello.")), thread=thread, context=root)
    print(recording.handler.contexts[thread].id)
"""


def test_a_thread_that_comes_back_in_another_process_goes_on_in_its_own_context():
    recording = Recording()
    recording.run(quick(), thread="ä thread")
    first = recording.handler.contexts["ä thread"]
    before = recording.export("ä thread")
    folder = sdk.store_folder_once()
    ended = run_in_process(LATER, str(folder), str(recording.context.id), folder=folder)
    assert ended.returncode == 0, ended.stderr
    same, other = ended.stdout.split()
    assert same == str(first.id)
    assert other != same
    after = recording.export("ä thread")
    assert len(after.steps) == 2 * len(before.steps)
    assert after.dangling() == []
    assert recording.handler.contexts["ä thread"].id == Context.from_uuid(uuid.UUID(same)).id


def test_the_map_of_threads_is_readable_by_its_owner_alone():
    recording = Recording()
    recording.run(quick(), thread="t")
    (path,) = sdk.store_folder_once().glob("lineage-threads*")
    assert path.stat().st_mode & 0o077 == 0
