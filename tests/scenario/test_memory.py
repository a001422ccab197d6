"""Memory files: each one the agent was given is a version of that file, in the turns that had it."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asked, edit, file_data, read, run, subagent, task
from support.lineage import Lineage
from support.sdk import cid_of

NOTES = "# Habits\r\n\nAlways be brief.\n"


@pytest.fixture
def disk(tmp_path: Path) -> FilesystemBackend:
    (tmp_path / "AGENTS.md").write_bytes(NOTES.encode())
    return FilesystemBackend(tmp_path, virtual_mode=True)


def requests(lineage: Lineage, agent_name: str = "researcher") -> list[Any]:
    return [request for request, _ in lineage.turns(agent_name)]


def test_each_file_is_a_version_that_was_read_and_an_input_of_every_turn(disk: FilesystemBackend):
    _, lineage = run(agent(read("r", "/other.md"), memory=["/AGENTS.md", "/missing.md"], backend=disk))
    cid = cid_of(NOTES.encode())
    assert lineage.versions("/AGENTS.md") == {cid}
    assert lineage.described(cid)["assetType"] == "Document"
    assert lineage.producers(cid) == []
    assert all(cid in request.inputs for request in requests(lineage))
    loaded = lineage.one("MemoryMiddleware.before_agent", kind="graph_node")
    assert loaded.files("read") == {"/AGENTS.md": cid}
    assert "/missing.md" not in lineage.paths()


def test_the_state_names_the_files_and_does_not_hold_them(disk: FilesystemBackend):
    _, lineage = run(agent(memory=["/AGENTS.md"], backend=disk))
    states = [lineage.payload(cid) for cid in lineage.assets("Dataset", name="model: input state")]
    assert [state["memory_contents"] for state in states] == [{"/AGENTS.md": f"urn:cid:{cid_of(NOTES.encode())}"}]


def test_a_memory_in_state_is_the_file_of_the_state():
    files = {"/AGENTS.md": file_data("Be kind.\n")}
    _, lineage = run(agent(memory=["/AGENTS.md"]), asked(files=files))
    cid = cid_of(b"Be kind.\n")
    assert lineage.versions("/AGENTS.md") == {cid}
    assert lineage.one("MemoryMiddleware.before_agent", kind="graph_node").version("read", "/AGENTS.md") == 1
    assert all(cid in request.inputs for request in requests(lineage))


def test_what_the_agent_writes_to_the_file_is_not_what_its_turns_are_given():
    files = {"/AGENTS.md": file_data("Be kind.\n")}
    _, lineage = run(agent(edit("e", "/AGENTS.md", "kind", "brief"), memory=["/AGENTS.md"]), asked(files=files))
    old, new = cid_of(b"Be kind.\n"), cid_of(b"Be brief.\n")
    assert lineage.history("/AGENTS.md") == ["2 edit_file <- 1"]
    last = requests(lineage)[-1]
    assert old in last.inputs
    assert new not in last.inputs


def test_a_memory_is_no_ground_to_say_what_an_edit_on_disk_left(disk: FilesystemBackend):
    _, lineage = run(agent(edit("e", "/AGENTS.md", "brief", "kind"), memory=["/AGENTS.md"], backend=disk))
    assert lineage.history("/AGENTS.md") == []
    edited = lineage.tool("e")
    assert [use["evidence"] for use in edited.fields["files"] if use["role"] == "wrote"] == ["edit"]
    # its turns had it, and the model edited what it had
    assert edited.files("read") == {"/AGENTS.md": cid_of(NOTES.encode())}


def test_it_is_the_same_version_in_every_turn_of_a_thread_whatever_the_file_holds(
    disk: FilesystemBackend, tmp_path: Path
):
    session, saver = Session(), InMemorySaver()
    session.invoke(agent(memory=["/AGENTS.md"], backend=disk, checkpointer=saver), thread="t")
    (tmp_path / "AGENTS.md").write_text("Something else.\n")
    session.invoke(agent(memory=["/AGENTS.md"], backend=disk, checkpointer=saver), asked("again"), thread="t")
    lineage = session.lineage(thread="t")
    assert lineage.versions("/AGENTS.md") == {cid_of(NOTES.encode())}
    assert all(cid_of(NOTES.encode()) in request.inputs for request in requests(lineage))


def test_a_subagent_is_not_given_its_callers_memory(disk: FilesystemBackend):
    helper = subagent("helper", read("r", "/other.md"))
    _, lineage = run(agent(task("t", "helper"), subagents=[helper], memory=["/AGENTS.md"], backend=disk))
    cid = cid_of(NOTES.encode())
    assert all(cid in request.inputs for request in requests(lineage))
    assert not any(cid in request.inputs for request in requests(lineage, "helper"))


def test_a_key_of_that_name_passed_in_is_no_memory():
    _, lineage = run(agent(), asked(memory_contents={"/AGENTS.md": "Made up.\n"}))
    assert lineage.paths() == set()
