"""A call sees what happened before it, also where no state has shown it yet; and nothing that only seemed to happen."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.state import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware, FilesystemState
from eqty_sdk.context import graph_context
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from support.agents import (
    ScriptedModel,
    Session,
    agent,
    asked,
    asks,
    call,
    delete,
    edit,
    file_data,
    read,
    run,
    says,
    task,
    write,
)
from support.sandboxes import Sandbox
from support.sdk import cid_of

LARGE = "".join(f"row {number} secret\n" for number in range(12_000))


class Changing(AgentMiddleware):  # type: ignore[type-arg]
    """Puts another text into a file once the model has answered."""

    state_schema = FilesystemState  # type: ignore[assignment]

    def __init__(self) -> None:
        self._changed = False

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self._changed:
            return None
        self._changed = True
        return {"files": {"/a.md": file_data("x and more\n")}}


@pytest.mark.parametrize("what", ["edit", "delete", "grep", "write"])
def test_the_tools_of_a_turn_start_from_what_a_node_before_them_did(what: str):
    calls = {
        "edit": edit("c", "/a.md", "x", "y"),
        "delete": delete("c", "/a.md"),
        "grep": call("grep", "c", pattern="x", output_mode="content"),
        "write": write("c", "/a.md", "z\n"),
    }
    _, lineage = run(agent(calls[what], middleware=[Changing()]), asked(files={"/a.md": file_data("x\n")}))
    role = {"edit": "replaced", "delete": "removed", "grep": "read", "write": "replaced"}[what]
    assert lineage.tool("c").files(role) == {"/a.md": cid_of("x and more\n")}
    if what == "edit":
        assert lineage.tool("c").files("wrote") == {"/a.md": cid_of("y and more\n")}


def test_calls_made_in_one_call_see_each_others_work():
    tools = {one.name: one for one in FilesystemMiddleware(backend=StateBackend()).tools}

    @tool
    def both(runtime: ToolRuntime) -> str:
        """Write a file, then edit it."""
        written = {"file_path": "/a.md", "content": "x and more\n", "runtime": runtime}
        tools["write_file"].invoke(written, runtime.config)
        edited = {"file_path": "/a.md", "old_string": "x", "new_string": "y", "runtime": runtime}
        return str(tools["edit_file"].invoke(edited, runtime.config))

    session, lineage = run(agent(call("both", "b"), tools=[both]), asked(files={"/a.md": file_data("x\n")}))
    assert session.answer["files"]["/a.md"]["content"] == "y and more\n"
    assert lineage.history("/a.md") == ["2 write_file <- 1", "3 edit_file <- 2"]
    assert lineage.one("edit_file").files("wrote") == {"/a.md": cid_of("y and more\n")}


@pytest.mark.parametrize("where", ["state", "disk"])
def test_a_result_that_a_middleware_changed_is_saved_as_it_changed_it(tmp_path: Path, where: str):
    @tool
    def measure() -> str:
        """Measure a lot."""
        return LARGE

    class Redacting(AgentMiddleware):  # type: ignore[type-arg]
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            result = handler(request)
            return ToolMessage(str(result.content).replace("secret", "******"), tool_call_id=result.tool_call_id)

    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    _, lineage = run(agent(call("measure", "big"), tools=[measure], middleware=[Redacting()], backend=backend))
    saved = cid_of(LARGE.replace("secret", "******"))
    assert lineage.versions("/large_tool_results/big") == ({saved} if where == "state" else set())


@pytest.mark.parametrize("where", ["state", "disk"])
def test_messages_that_a_tool_repeats_are_not_saved_again(tmp_path: Path, where: str):
    """The person's message was moved to a file, and the file was edited since."""

    @tool
    def repeat(runtime: ToolRuntime) -> Command[Any]:
        """Give back the messages there are."""
        said = ToolMessage("ok", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [*runtime.state["messages"], said]})

    class Finding(ScriptedModel):
        """Names the file that its prompt speaks of."""

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            result = super()._generate(messages, *args, **kwargs)
            (path,) = set(re.findall(r"/conversation_history/[\w-]+\.md", str([one.content for one in messages])))
            for asked_for in result.generations[0].message.tool_calls:
                if asked_for["args"].get("file_path"):
                    asked_for["args"]["file_path"] = path
            return result

    script = [asks(edit("e", "P", "FIRST", "CHANGED")), asks(call("repeat", "t")), says()]
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    _, lineage = run(
        agent(model=Finding(messages=iter(script)), tools=[repeat], backend=backend),
        asked("FIRST\n" + "a long question\n" * 15_000),
    )
    assert [step.name for step in lineage.steps if step.files("wrote")] == ["model", "edit_file"]


def test_a_saved_result_that_was_written_over_is_no_input_of_a_read(tmp_path: Path):
    @tool
    def measure() -> list[dict[str, str]]:
        """Measure a lot."""
        return [{"type": "text", "text": LARGE}]

    path = "/large_tool_results/big"
    _, lineage = run(
        agent(
            call("measure", "big"),
            read("r1", path, limit=3),
            write("w", path, "another\n"),
            read("r2", path, limit=3),
            tools=[measure],
            backend=FilesystemBackend(tmp_path, virtual_mode=True),
        )
    )
    (said,) = [cid for step in lineage.all("tools") for cid in step.files("wrote").values()]
    assert said in lineage.tool("r1").inputs
    assert said not in lineage.tool("r2").inputs


def test_an_agent_with_a_backend_of_its_own_does_not_have_its_callers_files(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").write_text("x and much more\n")
    inner = agent(
        edit("e", "/a.txt", "x", "y"),
        call("grep", "g", pattern="much", output_mode="content"),
        delete("d", "/a.txt"),
        backend=FilesystemBackend(tmp_path / "b", virtual_mode=True),
        name="inner",
    )
    _, lineage = run(
        agent(
            write("w", "/a.txt", "x\n"),
            task("t", "helper"),
            write("w2", "/a.txt", "z\n"),
            subagents=[{"name": "helper", "description": "Helps.", "runnable": inner}],
            backend=FilesystemBackend(tmp_path / "a", virtual_mode=True),
        )
    )
    assert [use["evidence"] for use in lineage.tool("e").fields["files"]] == ["edit"]
    assert "files" not in lineage.tool("g").fields
    assert "files" not in lineage.tool("d").fields
    # it may have been the same file after all
    assert lineage.tool("w2").files("replaced") == {}


def test_what_a_cancelled_call_may_still_write_is_not_believed(tmp_path: Path):
    class Slow(FilesystemBackend):
        def write(self, file_path: str, content: str) -> Any:
            if content.startswith("late"):
                time.sleep(0.8)
            return super().write(file_path, content)

    backend, session = Slow(tmp_path, virtual_mode=True), Session()

    async def two_turns() -> None:
        late = agent(write("w1", "/a.txt", "late x\n"), backend=backend)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(late.ainvoke(asked(), session.config("t")), 0.4)
        await agent(write("w2", "/a.txt", "x\n"), backend=backend).ainvoke(asked(), session.config("t"))
        await asyncio.sleep(1)
        await agent(edit("e", "/a.txt", "x", "y"), backend=backend).ainvoke(asked(), session.config("t"))

    with graph_context(session.context):
        asyncio.run(two_turns())
    assert (tmp_path / "a.txt").read_text() == "late y\n"
    lineage = session.lineage(thread="t", unfinished=True)
    assert [use["evidence"] for use in lineage.tool("e").fields["files"]] == ["edit"]


def test_a_file_that_could_not_be_read_is_replaced_by_nothing_known(tmp_path: Path):
    path = str(tmp_path / "a.txt")

    class Forgetful(Sandbox):
        def read(self, *args: Any, **kwargs: Any) -> Any:
            Path(path).unlink()
            return super().read(*args, **kwargs)

    _, lineage = run(agent(write("w", path, "one\n"), read("r", path), write("v", path, "two\n"), backend=Forgetful()))
    assert lineage.tool("r").fields["status"] == "error"
    assert lineage.tool("v").files("replaced") == {}
