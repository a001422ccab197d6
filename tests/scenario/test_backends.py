"""Files outside state: the same versions on every backend, and none that a disk or store never held."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, LocalShellBackend, StateBackend, StoreBackend
from langchain.agents.middleware import ToolRetryMiddleware
from langgraph.store.memory import InMemoryStore

from support.agents import Session, agent, asked, asks, delete, edit, read, reasons, run, subagent, task, write
from support.sandboxes import Sandbox, hub
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
    "sandbox": lambda folder: (Sandbox(), f"{folder}/notes.txt"),
    "hub": lambda _: (hub(), "/notes.txt"),
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


# --- one file under two paths, two files under one key


def aliasing(folder: Path, route: str, target: str) -> CompositeBackend:
    """A disk, of which a folder can also be reached under a route."""
    (folder / target).mkdir(exist_ok=True)
    return CompositeBackend(
        default=FilesystemBackend(folder, virtual_mode=True),
        routes={route: FilesystemBackend(folder / target, virtual_mode=True)},
    )


@pytest.mark.parametrize(("route", "target", "other"), [("/alias/", "", "/a.txt"), ("/alias/", "real", "/real/a.txt")])
def test_a_file_that_can_be_reached_by_two_paths_is_not_mistaken_for_two(
    tmp_path: Path, route: str, target: str, other: str
):
    _, lineage = run(
        agent(
            write("w1", other, "one of these\n"),
            write("w2", f"{route}a.txt", "two of those\n"),
            edit("e", other, "of", "OF"),
            write("w3", other, "three\n"),
            delete("d", f"{route}a.txt"),
            write("w4", other, "four\n"),
            backend=aliasing(tmp_path, route, target),
        )
    )
    assert (tmp_path / other[1:]).read_text() == "four\n"
    assert lineage.history(other) == ["1 write_file", "2 write_file", "3 write_file"]
    assert [use["evidence"] for use in lineage.tool("e").fields["files"]] == ["edit"]


@pytest.mark.parametrize("first", ["mounted", "disk", "both"])
def test_a_folder_kept_in_the_state_is_not_mistaken_for_the_files_whose_keys_it_uses(tmp_path: Path, first: str):
    """The state's key of ``/mem/x.md`` is ``/x.md``, and on disk there is another ``/x.md``."""
    backend = CompositeBackend(default=FilesystemBackend(tmp_path, virtual_mode=True), routes={"/mem/": StateBackend()})
    mounted, disk = write("m", "/mem/x.md", "in the state: o\n"), write("w", "/x.md", "on disk: oo\n")
    turns = {"mounted": [mounted, disk], "disk": [disk, mounted], "both": [asks(mounted, disk)]}[first]
    session, lineage = run(
        agent(
            *turns,
            edit("e1", "/x.md", "disk", "DISK"),
            edit("e2", "/mem/x.md", "state", "STATE"),
            read("r1", "/x.md"),
            read("r2", "/mem/x.md"),
            delete("d", "/x.md"),
            backend=backend,
        )
    )
    assert session.answer["files"]["/x.md"]["content"] == "in the STATE: o\n"
    on_disk = {cid_of("on disk: oo\n"), cid_of("on DISK: oo\n")}
    in_state = {cid_of("in the state: o\n"), cid_of("in the STATE: o\n")}
    for call_id, path, held in (
        ("w", "/x.md", on_disk),
        ("e1", "/x.md", on_disk),
        ("d", "/x.md", on_disk),
        ("r1", "/x.md", on_disk),
        ("m", "/mem/x.md", in_state),
        ("e2", "/mem/x.md", in_state),
        ("r2", "/mem/x.md", in_state),
    ):
        uses = [use for use in lineage.tool(call_id).fields.get("files", []) if "version" in use]
        assert {use["path"] for use in uses} <= {path}, call_id
        assert {use["cid"] for use in uses} <= held, call_id
    assert lineage.tool("m").files("wrote")
    assert lineage.tool("w").files("wrote")


@pytest.mark.parametrize("name", ["/", "/d"])
def test_a_delete_on_disk_has_all_it_removed_as_inputs(tmp_path: Path, name: str):
    names = ["/d/a.txt", "/d/e/b.txt", *(["/c.txt"] if name == "/" else [])]
    _, lineage = run(
        agent(
            asks(*[write(f"w{number}", path, f"{path}\n") for number, path in enumerate(names)]),
            delete("x", name),
            backend=FilesystemBackend(tmp_path, virtual_mode=True),
        )
    )
    removed = {path: cid_of(f"{path}\n") for path in names}
    assert lineage.tool("x").files("removed") == removed
    assert set(removed.values()) <= set(lineage.tool("x").inputs)


def test_a_write_that_failed_half_way_leaves_no_version_and_no_belief(tmp_path: Path):
    session, lineage = run(
        agent(
            write("w1", "/a.txt", "one\n"),
            write("w2", "/a.txt", "broken \ud800\n"),
            edit("e", "/a.txt", "one", "two"),
            write("w3", "/a.txt", "three\n"),
            backend=FilesystemBackend(tmp_path, virtual_mode=True),
        )
    )
    assert session.results()["w2"].status == "error"
    assert lineage.history("/a.txt") == ["1 write_file", "2 write_file"]


def test_a_read_that_contradicts_what_was_believed_ends_the_belief(tmp_path: Path):
    class Changing(FilesystemBackend):
        def read(self, *args: Any, **kwargs: Any) -> Any:
            (tmp_path / "a.txt").write_text("another one\n")
            return super().read(*args, **kwargs)

    _, lineage = run(
        agent(
            write("w", "/a.txt", "one\n"),
            read("r", "/a.txt"),
            edit("e", "/a.txt", "one", "two"),
            backend=Changing(tmp_path, virtual_mode=True),
        )
    )
    assert lineage.tool("r").files("read").keys() == {"/a.txt"}
    assert lineage.renderings("/a.txt") <= set(lineage.tool("e").inputs)
    assert lineage.history("/a.txt") == ["1 write_file"]
