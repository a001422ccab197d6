"""``grep``: a result that shows a file's text has that version of the file as an input."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.store import StoreBackend
from langgraph.store.memory import InMemoryStore

from support.agents import agent, asked, asks, call, delete, edit, execute, file_data, run, write
from support.lineage import Lineage
from support.sandboxes import Sandbox


def grep(call_id: str, pattern: str, **more: Any) -> dict[str, Any]:
    return call("grep", call_id, pattern=pattern, **{"output_mode": "content", **more})


def read_by(lineage: Lineage, call_id: str) -> dict[str, str]:
    return lineage.tool(call_id).files("read")


@pytest.mark.parametrize("kind", ["state", "disk", "store"])
def test_the_versions_whose_lines_are_shown_are_inputs_and_no_others(tmp_path: Path, kind: str):
    backend = {
        "state": None,
        "disk": FilesystemBackend(tmp_path, virtual_mode=True),
        "store": StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",)),
    }[kind]
    _, lineage = run(
        agent(
            write("w1", "/a.md", "one\ntwo\n"),
            write("w2", "/b.md", "two\nthree\n"),
            write("w3", "/c.md", "three\n"),
            grep("g", "two"),
            **({} if backend is None else {"backend": backend}),
        )
    )
    written = {path: cid for call_id in ("w1", "w2") for path, cid in lineage.tool(call_id).files("wrote").items()}
    assert read_by(lineage, "g") == written
    assert set(written.values()) <= set(lineage.tool("g").inputs)


def test_a_file_passed_in_is_found():
    session_files = {"/seed.md": file_data("a needle\n")}
    _, lineage = run(agent(grep("g", "needle")), asked(files=session_files))
    assert list(read_by(lineage, "g")) == ["/seed.md"]


@pytest.mark.parametrize("mode", ["files_with_matches", "count", None])
def test_a_result_that_shows_no_text_has_no_file_as_an_input(mode: str | None):
    more = {"output_mode": mode} if mode else {}
    search = call("grep", "g", pattern="two", **more)
    _, lineage = run(agent(write("w", "/a.md", "one\ntwo\n"), search))
    assert "files" not in lineage.tool("g").fields


def test_the_version_of_the_moment_is_the_one_that_was_read():
    _, lineage = run(
        agent(write("w", "/a.md", "one\ntwo\n"), edit("e", "/a.md", "two", "two and a half"), grep("g", "two"))
    )
    assert read_by(lineage, "g") == lineage.tool("e").files("wrote")


def test_beside_a_write_it_sees_the_state_of_before():
    both = asks(write("w2", "/a.md", "two new\n"), grep("g", "two"))
    _, lineage = run(agent(write("w1", "/a.md", "two old\n"), both))
    assert read_by(lineage, "g") == lineage.tool("w1").files("wrote")


def test_on_disk_a_file_that_a_shell_may_have_changed_is_not_linked(tmp_path: Path):
    path = str(tmp_path / "a.md")
    _, lineage = run(
        agent(
            write("w", path, "one two\n"),
            execute("s", f"echo 'two, too' >> {path}"),
            grep("g", "two", path=str(tmp_path)),
            backend=Sandbox(),
        )
    )
    assert "files" not in lineage.tool("g").fields


def test_lines_that_contradict_what_was_written_are_not_linked(tmp_path: Path):
    class Changing(FilesystemBackend):
        def grep(self, *args: Any, **kwargs: Any) -> Any:
            (tmp_path / "a.md").write_text("two, but another\n")
            return super().grep(*args, **kwargs)

    _, lineage = run(
        agent(write("w", "/a.md", "one\ntwo\n"), grep("g", "two"), backend=Changing(tmp_path, virtual_mode=True))
    )
    assert "files" not in lineage.tool("g").fields


def test_a_deleted_file_is_not_found():
    _, lineage = run(agent(write("w", "/a.md", "two\n"), delete("d", "/a.md"), grep("g", "two")))
    assert "files" not in lineage.tool("g").fields
