"""Files outside state: the same versions on every backend, and none that a disk or store never held."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, LocalShellBackend, StateBackend, StoreBackend
from langchain.agents.middleware import ToolRetryMiddleware
from langgraph.store.memory import InMemoryStore

from support.agents import Session, agent, asked, asks, delete, edit, read, reasons, run, subagent, task, write
from support.sdk import cid_of

STORE = InMemoryStore()


def in_store() -> StoreBackend:
    return StoreBackend(namespace=lambda _: ("files",), store=STORE)


BACKENDS: dict[str, Callable[[Path], tuple[Any, str]]] = {
    "state": lambda _: (StateBackend(), "/notes.txt"),
    "virtual disk": lambda folder: (FilesystemBackend(folder, virtual_mode=True), "/notes.txt"),
    "real disk": lambda folder: (FilesystemBackend(folder, virtual_mode=False), f"{folder}/notes.txt"),
    "shell": lambda folder: (LocalShellBackend(folder, virtual_mode=True), "/notes.txt"),
    "store": lambda _: (in_store(), "/notes.txt"),
    "route": lambda _: (CompositeBackend(default=StateBackend(), routes={"/memory/": in_store()}), "/memory/notes.txt"),
}


@pytest.mark.parametrize("kind", BACKENDS)
def test_every_backend_gives_the_same_versions(kind: str, tmp_path: Path):
    backend, path = BACKENDS[kind](tmp_path)
    session, lineage = run(
        agent(
            write("w1", path, "one\n"),
            edit("e", path, "one", "two"),
            read("r", path),
            delete("d", path),
            write("w2", path, "three\n"),
            backend=backend,
        )
    )
    assert {message.status for message in session.results().values()} == {"success"}
    assert lineage.history(path) == [
        "1 write_file",
        "2 edit_file <- 1",
        "- delete 2",
        "3 write_file",
    ]
    assert lineage.tool("r").files("read") == {path: cid_of("two\n")}
    assert not reasons(session.handler)


def test_a_composite_backend_keeps_state_and_store_apart():
    backend = CompositeBackend(default=StateBackend(), routes={"/memory/": in_store()})
    session, lineage = run(
        agent(
            asks(write("s", "/notes.txt", "in state\n"), write("o", "/memory/kept.txt", "in store\n")),
            asks(edit("es", "/notes.txt", "in", "IN"), edit("eo", "/memory/kept.txt", "in", "IN")),
            asks(read("rs", "/notes.txt"), read("ro", "/memory/kept.txt")),
            backend=backend,
        )
    )
    assert set(session.answer["files"]) == {"/notes.txt"}
    assert lineage.history("/notes.txt") == lineage.history("/memory/kept.txt") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("rs").files("read") == {"/notes.txt": cid_of("IN state\n")}
    assert lineage.tool("ro").files("read") == {"/memory/kept.txt": cid_of("IN store\n")}


def test_an_edit_on_disk_that_may_rewrite_line_endings_is_not_reconstructed(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session, lineage = run(
        agent(
            asks(write("w1", "/a.txt", "a\r\nb\r\n"), write("w2", "/b.txt", "a\nb\n")),
            asks(edit("e1", "/a.txt", "a", "A"), edit("e2", "/b.txt", "a", "A\r\nA")),
            backend=backend,
        )
    )
    assert (tmp_path / "a.txt").read_bytes() == b"A\nb\n"
    assert (tmp_path / "b.txt").read_bytes() == b"A\nA\nb\n"
    assert lineage.versions("/a.txt") == {cid_of("a\r\nb\r\n")}
    assert lineage.versions("/b.txt") == {cid_of("a\nb\n")}
    assert reasons(session.handler) == {"LINE_ENDINGS"}


def test_an_edit_in_state_keeps_line_endings_and_is_exact():
    session, lineage = run(agent(write("w", "/a.txt", "a\r\nb\r\n"), edit("e", "/a.txt", "a\r\n", "A\r\n")))
    assert session.answer["files"]["/a.txt"]["content"] == "A\r\nb\r\n"
    assert lineage.tool("e").files("wrote") == {"/a.txt": cid_of("A\r\nb\r\n")}


def test_what_another_program_does_between_two_turns_is_not_guessed(tmp_path: Path):
    session = Session()
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session.invoke(agent(write("w1", "/a.txt", "alpha beta\n"), backend=backend))
    (tmp_path / "a.txt").write_text("alpha gamma\n")
    more = agent(edit("e", "/a.txt", "alpha", "omega"), write("w2", "/a.txt", "again\n"), backend=backend)
    session.invoke(more, asked("more"))
    lineage = session.lineage()
    assert lineage.history("/a.txt") == ["1 write_file", "2 write_file"]
    assert lineage.versions("/a.txt") == {cid_of("alpha beta\n"), cid_of("again\n")}
    assert reasons(session.handler) == {"NO_BASE"}


def test_a_call_that_raised_after_its_bytes_landed_is_no_version_and_its_retry_is_one(tmp_path: Path):
    class Flaky(FilesystemBackend):
        failed = False

        def write(self, *arguments: Any, **more: Any) -> Any:
            result = super().write(*arguments, **more)
            if not Flaky.failed:
                Flaky.failed = True
                message = "the connection broke after the bytes had landed"
                raise OSError(message)
            return result

    backend = Flaky(tmp_path, virtual_mode=True)
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0)
    _, lineage = run(agent(write("w", "/a.txt", "one\n"), backend=backend, middleware=[retry]))
    assert lineage.producers(cid_of("one\n")) == ["write_file"]
    assert lineage.history("/a.txt") == ["1 write_file"]
    assert len(lineage.all("write_file", "tool_error")) == 1


def test_a_failed_write_on_disk_leaves_what_the_file_holds_unknown(tmp_path: Path):
    # a lone surrogate cannot be encoded, and the file has been emptied by then
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session, lineage = run(
        agent(
            write("w1", "/a.txt", "one\n"),
            write("w2", "/a.txt", "x\ud800\n"),
            edit("e", "/a.txt", "one", "two"),
            read("r", "/a.txt"),
            backend=backend,
        )
    )
    assert session.results()["w2"].status == "error"
    assert (tmp_path / "a.txt").read_bytes() == b""
    assert lineage.history("/a.txt") == ["1 write_file"]
    assert cid_of("one\n") not in {*lineage.tool("w2").inputs, *lineage.tool("e").inputs, *lineage.tool("r").inputs}
    assert reasons(session.handler) == {"FAILED"}


def test_a_path_that_the_backend_refuses_by_raising_ends_the_run_and_leaves_no_file(tmp_path: Path):
    # validate_path lets it pass, the disk backend does not
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session = Session()
    with pytest.raises(ValueError, match="traversal"):
        session.invoke(agent(write("w", "/a..b.txt", "one\n"), backend=backend))
    lineage = session.lineage()
    assert cid_of("one\n") not in lineage.registered
    assert [step.name for step in lineage.all(status="error")] == ["write_file", "tools", "researcher"]


def test_all_lanes_share_the_files_outside_state(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    helper = subagent("helper", read("hr", "/a.txt"), edit("he", "/a.txt", "one", "two"))
    _, lineage = run(
        agent(
            write("w", "/a.txt", "one\n"),
            task("t", "helper"),
            edit("e", "/a.txt", "two", "three"),
            backend=backend,
            subagents=[helper],
        )
    )
    assert lineage.history("/a.txt") == ["1 write_file", "2 edit_file <- 1", "3 edit_file <- 2"]
    assert lineage.tool("hr").files("read") == {"/a.txt": cid_of("one\n")}


def test_files_passed_in_that_the_graph_drops_are_no_versions(tmp_path: Path):
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session, lineage = run(
        agent(write("w", "/b.txt", "b\n"), backend=backend),
        asked(files={"/a.txt": {"content": "dropped\n", "encoding": "utf-8"}}),
    )
    if "files" in session.answer:
        pytest.fail("the graph keeps files after all: use another way to make it drop them")
    assert cid_of("dropped\n") not in lineage.versions("/a.txt")
    assert reasons(session.handler) == {"UNUSED_INPUT"}
    assert "passed in, not taken up" in lineage.described(cid_of("dropped\n"))["name"]
