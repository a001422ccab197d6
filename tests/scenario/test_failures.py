"""Runs that go wrong: recorded as far as they went, said to have failed, and nothing held on to."""

import asyncio
import contextlib
import uuid
from typing import Any

import pytest
from eqty_sdk.context import graph_context
from langchain.agents.middleware import ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import ScriptedModel, Session, agent, asked, asks, call, read, run, says, script, write
from support.lineage import Lineage
from support.sdk import cid_of, second


def held(handler: EqtyDeepAgentsHandler) -> dict[str, int]:
    """How many runs the handler still remembers, wherever it does."""
    remembered = {**vars(handler), "runs": handler._open_runs._runs, "roots": handler._open_runs._roots}
    counts = {
        name: sum(isinstance(key, uuid.UUID) for key in value)
        for name, value in remembered.items()
        if isinstance(value, dict)
    }
    return {name: count for name, count in counts.items() if count}


class Failing(ScriptedModel):
    """Fails at the turns whose number is given, and goes on with its script at the next."""

    failures: list[int]
    asked: int = 0

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        if self.asked in self.failures:
            message = f"the model is down ({self.asked})"
            raise TimeoutError(message)
        return super()._generate(*args, **kwargs)


def failing(failures: list[int], *turns: Any) -> Failing:
    return Failing(messages=iter(script(*turns)), failures=failures)


def failure(lineage: Lineage, kind: str) -> Any:
    """What the one failed computation of a kind says."""
    (output,) = lineage.one(kind=kind).outputs
    return lineage.payload(output)


def test_a_model_that_fails_ends_the_run_as_failed_after_what_was_done():
    session = Session()
    with pytest.raises(TimeoutError):
        session.invoke(agent(model=failing([2], write("w", "/a.md", "a\n"))))
    lineage = session.lineage()
    assert lineage.history("/a.md") == ["1 write_file"]
    for kind in ("chat_model_error", "graph_node_error", "graph_error"):
        assert failure(lineage, kind) == {"error": "TimeoutError", "message": "the model is down (2)"}
        assert lineage.one(kind=kind).fields["status"] == "error"
    assert lineage.one(kind="graph_error").fields["recorder"].startswith("eqty-lineage-deepagents")
    assert not held(session.handler)


def test_a_tool_that_raises_ends_the_run_as_failed():
    @tool
    def explode(what: str) -> str:
        """Explode."""
        message = f"{what} exploded"
        raise RuntimeError(message)

    session = Session()
    with pytest.raises(RuntimeError):
        session.invoke(agent(asks(call("explode", "x", what="it"), write("w", "/a.md", "a\n")), tools=[explode]))
    lineage = session.lineage(unfinished=True)
    assert failure(lineage, "tool_error") == {"error": "RuntimeError", "message": "it exploded"}
    assert lineage.one(kind="tool_error").fields["tool_call_id"] == "x"
    assert lineage.one(kind="graph_error").fields["status"] == "error"
    assert not held(session.handler)


def test_a_run_that_is_too_long_is_recorded_as_failed():
    session = Session()
    with pytest.raises(GraphRecursionError):
        session.invoke(agent(*[read(str(number), "/a.md") for number in range(9)]), recursion_limit=5)
    lineage = session.lineage()
    assert failure(lineage, "graph_error")["error"] == "GraphRecursionError"
    assert not held(session.handler)


def test_each_attempt_is_recorded_and_a_failure_that_was_overcome_is_none_of_the_run():
    attempts = iter([ConnectionError("first try"), None])

    @tool
    def flaky(what: str) -> str:
        """Work the second time."""
        error = next(attempts)
        if error is not None:
            raise error
        return "fine"

    retries = [
        ToolRetryMiddleware(max_retries=2, initial_delay=0),
        ModelRetryMiddleware(max_retries=2, initial_delay=0),
    ]
    _, lineage = run(agent(model=failing([1], call("flaky", "f", what="x")), tools=[flaky], middleware=retries))
    assert failure(lineage, "tool_error")["message"] == "first try"
    assert failure(lineage, "chat_model_error")["message"] == "the model is down (1)"
    assert lineage.tool("f").fields["status"] == "ok"
    assert not lineage.all(kind="graph_node_error")
    assert lineage.one(kind="graph").fields["status"] == "ok"


def test_a_tool_that_reports_an_error_did_run_and_says_so():
    _, lineage = run(agent(call("edit_file", "e", file_path="/none.md", old_string="a", new_string="b")))
    step = lineage.tool("e")
    assert step.kind == "tool"
    assert step.fields["status"] == "error"
    assert lineage.payload(step.outputs[0])["status"] == "error"
    assert lineage.one(kind="graph").fields["status"] == "ok"


def test_a_cancelled_run_is_interrupted_and_keeps_what_was_done():
    session = Session()

    async def cancelled() -> None:
        started = asyncio.Event()

        @tool
        async def wait(where: str) -> str:
            """Wait to be cancelled."""
            started.set()
            await asyncio.sleep(60)
            return "never"

        steps = [write("w", "/a.md", "a\n"), call("wait", "x", where="here")]
        running = asyncio.create_task(agent(*steps, tools=[wait]).ainvoke(asked(), session.config("T")))
        await started.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    with graph_context(session.context), second():
        asyncio.run(cancelled())
        lineage = session.lineage(thread="T", unfinished=True)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.one(kind="graph").fields["status"] == "interrupted"
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]
    assert not held(session.handler)


def test_a_stream_that_is_closed_early_is_interrupted_and_no_failure():
    session = Session()
    with graph_context(session.context), second():
        chunks: Any = agent(write("w1", "/a.md", "one\n"), write("w2", "/a.md", "two\n")).stream(
            asked(), session.config("T"), stream_mode="updates"
        )
        for chunk in chunks:
            if "tools" in chunk:
                break
        chunks.close()
        lineage = session.lineage(thread="T", unfinished=True)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.one(kind="graph").fields["status"] == "interrupted"
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]
    assert not held(session.handler)


def test_after_a_failure_the_handler_records_the_next_run():
    session = Session()
    with pytest.raises(TimeoutError):
        session.invoke(agent(model=failing([1])))
    session.invoke(agent(write("w", "/a.md", "a\n"), says("better")), asked("again"))
    lineage = session.lineage()
    assert len(lineage.all(kind="graph_error")) == len(lineage.all(kind="graph")) == 1
    assert lineage.history("/a.md") == ["1 write_file"]
    assert cid_of("a\n") not in lineage.one(kind="graph_error").outputs
