"""Tools that are not DeepAgents' own: outside state they may have changed the files they are told of."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from langchain_core.tools import tool

from support.agents import agent, asks, call, edit, reasons, run, says, write
from support.sdk import cid_of


@pytest.fixture
def disk(tmp_path: Path) -> FilesystemBackend:
    return FilesystemBackend(tmp_path, virtual_mode=True)


def tidying(folder: Path) -> Any:
    @tool
    def tidy(name: str) -> str:
        """Rewrite a file."""
        (folder / name).write_text("one, and more\n")
        return "tidied"

    return tidy


def test_an_edit_after_one_is_not_replayed_on_what_it_may_have_changed(disk: FilesystemBackend, tmp_path: Path):
    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            call("tidy", "t", name="a.md"),
            edit("e", "/a.md", "one", "two"),
            backend=disk,
            tools=[tidying(tmp_path)],
        )
    )
    assert (tmp_path / "a.md").read_text() == "two, and more\n"
    assert lineage.history("/a.md") == ["1 write_file"]
    assert [use["evidence"] for use in lineage.tool("e").fields["files"]] == ["edit"]
    assert reasons(session.handler) == {"FOREIGN", "NO_BASE"}


def test_an_edit_beside_one_is_not_replayed(disk: FilesystemBackend, tmp_path: Path):
    both = asks(call("tidy", "t", name="a.md"), edit("e", "/a.md", "one", "two"))
    _, lineage = run(agent(write("w", "/a.md", "one\n"), both, backend=disk, tools=[tidying(tmp_path)]))
    assert lineage.history("/a.md") == ["1 write_file"]


def test_files_in_state_are_out_of_its_reach(tmp_path: Path):
    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            call("tidy", "t", name="a.md"),
            edit("e", "/a.md", "one", "two"),
            tools=[tidying(tmp_path)],
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert not reasons(session.handler)


def test_where_nothing_was_believed_it_is_no_gap(disk: FilesystemBackend, tmp_path: Path):
    session, _ = run(agent(call("tidy", "t", name="a.md"), backend=disk, tools=[tidying(tmp_path)]))
    assert not reasons(session.handler)


def test_an_agent_called_inside_one_knows_its_own_files(disk: FilesystemBackend, tmp_path: Path):
    @tool
    def delegate() -> str:
        """Have another agent do it."""
        inner = agent(
            write("iw", "/b.md", "one\n"), edit("ie", "/b.md", "one", "two"), says("did it"), backend=disk, name="inner"
        )
        return str(inner.invoke({"messages": [("user", "go")]})["messages"][-1].text)

    _, lineage = run(agent(call("delegate", "d"), backend=disk, tools=[delegate]))
    assert lineage.history("/b.md") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("ie").files("wrote") == {"/b.md": cid_of("two\n")}


def test_one_that_is_told_of_no_file_is_taken_to_have_changed_none(disk: FilesystemBackend):
    @tool
    def search(query: str) -> str:
        """Search the web."""
        return "found"

    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            call("search", "s", query="tides"),
            edit("e", "/a.md", "one", "two"),
            backend=disk,
            tools=[search],
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert not reasons(session.handler)
