"""Two runs at once on one handler: one warning in fixed words, and none for what only looks like it."""

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eqty_sdk.context import graph_context
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError

from support.agents import ScriptedModel, Session, agent, asked, asks, call, read, says, subagent, task, write
from support.sdk import second

WARNING = (
    "EqtyDeepAgentsHandler is observing 2 runs at once. File and plan versions are keyed per run, so concurrent runs "
    "will be linked to each other's assets. Use one handler per invocation (sequential reuse across turns of one "
    "conversation is fine)."
)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "eqty.deepagents" and record.levelno == logging.WARNING and "at once" in record.getMessage()
    ]


def meeting(parties: int) -> Any:
    """A tool that returns once as many runs as that are inside it."""
    barrier = threading.Barrier(parties, timeout=30)

    @tool
    def meet(where: str) -> str:
        """Meet the other runs."""
        barrier.wait()
        return "met"

    return meet


def together(session: Session, threads: list[str | None], *, writing: bool = False) -> None:
    """Run as many agents at once; if ``writing``, each writes its number before and after it has met the others."""
    meet = meeting(len(threads))

    def one(number: int) -> None:
        before, after = (write(f"{when} {number}", "/a.md", f"{number} {when}\n") for when in ("before", "after"))
        steps = [call("meet", f"m{number}", where="x")]
        runnable = agent(*([before, *steps, after] if writing else steps), says(f"{number} is done"), tools=[meet])
        thread = threads[number]
        with graph_context(session.context):
            runnable.invoke(asked(f"I am {number}"), session.config(thread))

    with second(), ThreadPoolExecutor(len(threads)) as pool:
        list(pool.map(one, range(len(threads))))
        assert session.handler.flush()


def test_two_runs_at_once_are_warned_of_once_and_do_not_revise_each_others_files(caplog: pytest.LogCaptureFixture):
    session = Session()
    together(session, [None, None], writing=True)
    assert warnings(caplog) == [WARNING]
    together(session, [None, None])
    assert warnings(caplog) == [WARNING]
    lineage = session.lineage(conversations=2)
    assert len(lineage.all("write_file", "tool")) == 4
    for step in lineage.all("write_file", "tool"):
        (text,) = (lineage.text(cid) for cid in step.files("wrote").values())
        replaced = [lineage.text(cid) for cid in step.files("replaced").values()]
        assert replaced == ([text.replace("after", "before")] if "after" in text else [])


def test_two_threads_at_once_are_warned_of_and_kept_apart(caplog: pytest.LogCaptureFixture):
    session = Session()
    together(session, ["A", "B"], writing=True)
    assert warnings(caplog) == [WARNING]
    for number, thread in enumerate("AB"):
        lineage = session.lineage(thread=thread)
        assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1"]
        assert f"I am {number}" in lineage.everything()
        assert f"I am {1 - number}" not in lineage.everything()


def test_three_runs_at_once_are_warned_of_once(caplog: pytest.LogCaptureFixture):
    together(Session(), [None, None, None])
    (said,) = warnings(caplog)
    assert said in {WARNING, WARNING.replace("2 runs", "3 runs")}


def test_a_handler_attached_twice_is_one_observer(caplog: pytest.LogCaptureFixture):
    session = Session()
    session.invoke(agent(write("1", "/a.md", "a\n")), callbacks=[session.handler, session.handler])
    bound = agent(write("2", "/b.md", "b\n")).with_config({"callbacks": [session.handler]})
    session.invoke(bound, asked("more"))
    lineage = session.lineage()
    assert lineage.history("/a.md") == lineage.history("/b.md") == ["1 write_file"]
    assert len(lineage.all("researcher", "graph")) == 2
    assert not warnings(caplog)


def test_subagents_at_once_are_one_run(caplog: pytest.LogCaptureFixture):
    meet = meeting(2)
    helpers = [subagent(name, call("meet", f"m{name}", where=name), tools=[meet]) for name in "ab"]
    session = Session()
    session.invoke(agent(asks(task("1", "a"), task("2", "b")), subagents=helpers))
    assert len(session.lineage().all(kind="agent")) == 2
    assert not warnings(caplog)


@contextlib.contextmanager
def nothing_seen_at_once(caplog: pytest.LogCaptureFixture) -> Iterator[Session]:
    """After whatever happens inside, a run of the same handler is a run of its own."""
    session = Session()
    with graph_context(session.context):
        yield session
    session.invoke(agent(says("later")), asked("more"))
    assert not warnings(caplog)
    assert session.lineage(unfinished=True).all("researcher", "graph")


def test_a_failed_run_is_over(caplog: pytest.LogCaptureFixture):
    with nothing_seen_at_once(caplog) as session, pytest.raises(GraphRecursionError):
        session.invoke(agent(*[read(str(number), "/a.md") for number in range(9)]), recursion_limit=4)


def test_a_cancelled_run_is_over(caplog: pytest.LogCaptureFixture):
    async def cancelled(session: Session) -> None:
        started = asyncio.Event()

        @tool
        async def wait(where: str) -> str:
            """Wait to be cancelled."""
            started.set()
            await asyncio.sleep(60)
            return "never"

        running = asyncio.create_task(
            agent(call("wait", "w", where="x"), tools=[wait]).ainvoke(asked(), session.config())
        )
        await started.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    with nothing_seen_at_once(caplog) as session:
        asyncio.run(cancelled(session))


class Slow(ScriptedModel):
    """Takes its time between words, so that a reader can go away in the middle of a turn."""

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for chunk in super()._stream(*args, **kwargs):
            time.sleep(0.05)
            yield chunk


def slow_agent() -> Any:
    return agent(model=Slow(messages=iter([asks(write("w", "/a.md", "a\n"), text="I shall write a file."), says()])))


MODES = ["updates", "messages"]
LEFT = ["closed", "dropped", "kept"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("left", LEFT)
def test_a_stream_that_is_not_read_to_its_end_is_over(mode: str, left: str, caplog: pytest.LogCaptureFixture):
    with nothing_seen_at_once(caplog) as session:
        chunks: Any = slow_agent().stream(asked(), session.config(), stream_mode=mode)
        next(chunks)
        next(chunks)
        if left == "closed":
            chunks.close()
        elif left == "dropped":
            del chunks
            gc.collect()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("left", LEFT)
def test_an_async_stream_that_is_not_read_to_its_end_is_over(mode: str, left: str, caplog: pytest.LogCaptureFixture):
    # the next run starts in the same event loop, as on a server whose client went away
    session = Session()

    async def serve() -> None:
        chunks: Any = slow_agent().astream(asked(), session.config(), stream_mode=mode)
        await anext(chunks)
        await anext(chunks)
        if left == "closed":
            await chunks.aclose()
        elif left == "dropped":
            del chunks
            gc.collect()
        await agent(says("later")).ainvoke(asked("more"), session.config())
        if left == "kept":
            await chunks.aclose()

    with graph_context(session.context), second():
        asyncio.run(serve())
    assert not warnings(caplog)
    assert session.lineage(unfinished=True).all("researcher", "graph")


def test_two_streams_read_in_turn_are_two_runs_at_once(caplog: pytest.LogCaptureFixture):
    session = Session()
    with graph_context(session.context), second():
        streams = [
            agent(write(name, f"/{name}.md", name), says(name)).stream(asked(name), session.config()) for name in "ab"
        ]
        for _ in zip(*streams, strict=True):
            pass
    assert warnings(caplog) == [WARNING]
