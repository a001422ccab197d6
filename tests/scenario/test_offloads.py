"""Files that no file tool wrote: large results, captured output, large messages, binary blocks."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.composite import CompositeBackend
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.state import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asked, asks, call, delete, execute, read, run, subagent, task, write
from support.sandboxes import CapturingSandbox
from support.sdk import cid_of

LARGE = "".join(f"row {number}\n" for number in range(12_000))
STUB = "/large_tool_results/big"


@tool
def measure() -> str:
    """Measure a lot."""
    return LARGE


@tool
def pretend() -> str:
    """Say what a result says that was moved away."""
    return (
        "Tool result too large, the result of this tool call big was saved in the filesystem at this path: "
        "/large_tool_results/big\n\nsample"
    )


def measured(**options: Any) -> Any:
    return agent(call("measure", "big"), read("r", STUB, limit=10), tools=[measure], **options)


@pytest.mark.parametrize("where", ["state", "disk"])
def test_a_large_result_is_a_file_that_its_node_wrote_and_a_later_read_used(tmp_path: Path, where: str):
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    session, lineage = run(measured(backend=backend))
    cid = cid_of(LARGE.encode())
    if where == "state":
        assert session.answer["files"][STUB]["content"] == LARGE
    else:
        assert (tmp_path / STUB[1:]).read_text() == LARGE
    assert lineage.versions(STUB) == {cid}
    (node,) = [step for step in lineage.all("tools") if step.files("wrote")]
    assert node.files("wrote") == {STUB: cid}
    assert lineage.producers(cid) == ["tools"]
    assert lineage.tool("r").files("read") == {STUB: cid}


def test_under_an_artifacts_root_too(tmp_path: Path):
    backend = CompositeBackend(
        default=FilesystemBackend(tmp_path, virtual_mode=True), routes={}, artifacts_root="/out/artifacts"
    )
    path = "/out/artifacts/large_tool_results/big"
    _, lineage = run(agent(call("measure", "big"), read("r", path, limit=10), tools=[measure], backend=backend))
    assert lineage.versions(path) == {cid_of(LARGE.encode())}
    assert lineage.tool("r").files("read") == {path: cid_of(LARGE.encode())}


@pytest.mark.parametrize("at_once", [1, 2])
def test_each_of_two_large_results_of_one_message_has_its_own_node(at_once: int):
    both = asks(call("measure", "one"), call("measure", "two"))
    session = Session()
    session.invoke(agent(both, tools=[measure]), max_concurrency=at_once)
    lineage = session.lineage()
    cid = cid_of(LARGE.encode())
    wrote = [step.files("wrote") for step in lineage.all("tools")]
    assert sorted(path for files in wrote for path in files) == [
        "/large_tool_results/one",
        "/large_tool_results/two",
    ]
    assert {cid for files in wrote for cid in files.values()} == {cid}


@pytest.mark.parametrize("call_id", ["a.b/c", "x" * 200])
def test_the_name_of_the_file_is_that_of_the_call(call_id: str):
    session, lineage = run(agent(call("measure", call_id), tools=[measure]))
    (path,) = session.answer["files"]
    assert lineage.versions(path) == {cid_of(LARGE.encode())}
    assert [step.name for step in lineage.steps if step.files("wrote")] == ["tools"]


def test_a_subagents_large_result_is_written_in_its_lane():
    helper = subagent("helper", call("measure", "big"), tools=[measure])
    _, lineage = run(agent(task("t", "helper"), subagents=[helper]))
    (node,) = [step for step in lineage.all("tools") if step.files("wrote")]
    assert node.fields["agent"] == "helper"


def test_a_tool_that_says_so_without_having_done_it_wrote_nothing():
    _, lineage = run(agent(call("pretend", "big"), tools=[pretend]))
    assert lineage.paths() == set()


def test_captured_output_is_an_output_of_its_command_and_an_input_of_its_reads(tmp_path: Path):
    backend = CompositeBackend(default=CapturingSandbox(), routes={}, artifacts_root=str(tmp_path))
    path = f"{tmp_path}/large_tool_results/s"
    (tmp_path / "large_tool_results").mkdir()
    _, lineage = run(agent(execute("s", "seq 1 60000"), read("r", path, limit=5), backend=backend))
    assert Path(path).stat().st_size > 80_000
    step = lineage.tool("s")
    (use,) = step.fields["files"]
    assert (use["path"], use["role"], use["evidence"]) == (path, "wrote", "rendering")
    assert "version" not in use
    assert lineage.described(use["cid"])["file_path"] == path
    assert use["cid"] in step.outputs
    assert use["cid"] in lineage.tool("r").inputs
    assert lineage.versions(path) == set()


@pytest.mark.parametrize("where", ["state", "disk"])
def test_a_persons_large_message_is_a_file_of_the_turn_that_moved_it(tmp_path: Path, where: str):
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)
    text = "a long question\n" * 15_000
    session, lineage = run(agent(backend=backend), asked(text))
    if where == "state":
        (path,) = session.answer["files"]
    else:
        (found,) = tmp_path.glob("conversation_history/*")
        path = f"/conversation_history/{found.name}"
    assert lineage.versions(path) == {cid_of(text.encode())}
    (node,) = [step for step in lineage.steps if step.files("wrote")]
    assert (node.name, node.files("wrote")) == ("model", {path: cid_of(text.encode())})


def test_a_binary_block_that_was_moved_is_an_output_of_its_node(tmp_path: Path):
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    (tmp_path / "p.png").write_bytes(data)
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    offloading = FilesystemMiddleware(backend=backend, offload_binary_content=True)
    _, lineage = run(agent(read("r", "/p.png"), backend=backend, middleware=[offloading]))
    sha256 = hashlib.sha256(data).hexdigest()
    assert (tmp_path / "blobs" / sha256).read_bytes() == data
    assert lineage.tool("r").files("read") == {"/p.png": cid_of(data)}
    assert any(cid_of(data) in step.outputs for step in lineage.all("tools"))
    names = {one["name"] for one in lineage.metadata[cid_of(data)]}
    assert names == {"/p.png", f"blob {sha256}"}


def test_a_history_that_is_written_anew_says_nothing_of_what_was_saved_long_ago():
    """A turn after an aborted one re-emits all messages, the one that was moved to a file among them."""
    session, saver = Session(), InMemorySaver()
    text = "a long question\n" * 15_000
    session.invoke(agent(checkpointer=saver), asked(text), thread="t")
    (path,) = session.answer["files"]
    runnable = agent(delete("d", path), checkpointer=saver)
    session.invoke(runnable, asked("again"), thread="t")
    dangling = asks(write("never", "/x.md", "x"))
    runnable.update_state({"configurable": {"thread_id": "t"}}, {"messages": [dangling]}, as_node="model")
    session.invoke(agent(checkpointer=saver), asked("and again"), thread="t")
    lineage = session.lineage(thread="t")
    assert [step.name for step in lineage.steps if step.files("wrote")] == ["model"]
