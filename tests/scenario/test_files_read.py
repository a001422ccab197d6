"""Reads: linked to the version they returned; a rendering, apart from all versions, where that is not known."""

from pathlib import Path
from typing import Any

from deepagents.backends import FilesystemBackend, LocalShellBackend

from support.agents import agent, asked, asks, edit, execute, file_data, read, reasons, run, write
from support.sdk import cid_of


def disk(folder: Path) -> FilesystemBackend:
    return FilesystemBackend(folder, virtual_mode=True)


def shell(folder: Path) -> LocalShellBackend:
    return LocalShellBackend(folder, virtual_mode=True, env={"PATH": "/usr/bin:/bin"})


def test_a_read_has_the_version_it_returned_as_an_input():
    _, lineage = run(
        agent(write("w1", "/a.md", "one\n"), read("r1", "a.md"), write("w2", "/a.md", "two\n"), read("r2", "/a.md"))
    )
    assert lineage.tool("r1").files("read") == {"/a.md": cid_of("one\n")}
    assert lineage.tool("r2").files("read") == {"/a.md": cid_of("two\n")}
    assert cid_of("one\n") not in lineage.tool("r2").inputs
    assert not lineage.renderings("/a.md")


def test_a_window_of_a_known_version_is_a_read_of_that_version():
    text = "".join(f"line {number}\n" for number in range(30))
    _, lineage = run(agent(read("r", "/a.md", offset=10, limit=5)), asked(files={"/a.md": file_data(text)}))
    assert lineage.tool("r").files("read") == {"/a.md": cid_of(text)}
    assert not lineage.renderings("/a.md")


def test_an_empty_file_is_read_as_its_empty_version():
    _, lineage = run(agent(read("r", "/a.md")), asked(files={"/a.md": file_data("")}))
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("")}


def test_a_file_nobody_is_known_to_have_written_is_read_as_a_rendering(tmp_path: Path):
    (tmp_path / "a.txt").write_text("v1\n")
    _, lineage = run(agent(read("r", "/a.txt"), backend=disk(tmp_path)))
    (rendering,) = lineage.renderings("/a.txt")
    assert lineage.tool("r").files("read") == {"/a.txt": rendering}
    assert lineage.tool("r").version("read", "/a.txt") is None
    assert lineage.described(rendering)["name"] == "/a.txt"
    assert "v1" in lineage.text(rendering)
    assert not lineage.versions("/a.txt")


def test_each_window_of_an_unknown_file_is_a_rendering_of_its_own(tmp_path: Path):
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(300)))
    reads = [
        read("1", "/a.txt", offset=0, limit=10),
        read("2", "/a.txt", offset=100, limit=10),
        read("3", "/a.txt"),
        read("4", "/a.txt", offset=0, limit=10),
    ]
    _, lineage = run(agent(*reads, backend=disk(tmp_path)))
    seen = [lineage.tool(call_id).files("read")["/a.txt"] for call_id in "1234"]
    assert seen[0] == seen[3]
    assert len(set(seen)) == 3
    names = [lineage.described(cid)["name"] for cid in seen[:3]]
    assert names == ["/a.txt (offset 0, limit 10)", "/a.txt (offset 100, limit 10)", "/a.txt"]


def test_a_rendering_is_never_what_an_edit_is_reconstructed_from(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one two\n")
    session, lineage = run(
        agent(read("r", "/a.txt"), edit("e", "/a.txt", "two", "TWO"), read("again", "/a.txt"), backend=disk(tmp_path))
    )
    assert (tmp_path / "a.txt").read_text() == "one TWO\n"
    assert not lineage.versions("/a.txt") - {cid_of("one TWO\n")}
    assert not lineage.history("/a.txt")
    assert lineage.tool("again").files("read") != lineage.tool("r").files("read")
    assert reasons(session.handler) == {"NO_BASE"}


def test_a_read_never_replaces_a_version_that_was_written(tmp_path: Path):
    _, lineage = run(
        agent(
            write("w", "/a.txt", "one two\n"),
            read("r", "/a.txt", offset=0, limit=1),
            edit("e", "/a.txt", "one", "1"),
            backend=disk(tmp_path),
        )
    )
    assert lineage.tool("r").files("read") == {"/a.txt": cid_of("one two\n")}
    assert lineage.history("/a.txt") == ["1 write_file", "2 edit_file <- 1"]
    assert not lineage.renderings("/a.txt")


def test_a_read_that_contradicts_the_version_is_not_linked_to_it(tmp_path: Path):
    # somebody else changes the file while the agent runs
    class Meddled(FilesystemBackend):
        def read(self, *arguments: Any, **more: Any) -> Any:
            (tmp_path / "a.txt").write_text("changed\n")
            return super().read(*arguments, **more)

    backend = Meddled(tmp_path, virtual_mode=True)
    _, lineage = run(
        agent(
            write("w", "/a.txt", "one\n"),
            read("r", "/a.txt"),
            edit("e", "/a.txt", "changed", "edited"),
            backend=backend,
        )
    )
    assert cid_of("one\n") not in lineage.tool("r").inputs
    assert len(lineage.renderings("/a.txt")) == 1
    assert lineage.history("/a.txt") == ["1 write_file"]


def test_a_failed_read_reads_nothing(tmp_path: Path):
    session, lineage = run(agent(read("r", "/missing.txt"), backend=disk(tmp_path)))
    assert session.results()["r"].status == "error"
    assert "files" not in lineage.tool("r").fields
    assert not lineage.renderings("/missing.txt")


def test_a_binary_file_is_read_with_its_exact_bytes(tmp_path: Path):
    data = b"\x89PNG\r\n\x1a\n" + bytes(200)
    (tmp_path / "p.png").write_bytes(data)
    _, lineage = run(agent(read("r", "/p.png"), backend=disk(tmp_path)))
    assert lineage.tool("r").files("read") == {"/p.png": cid_of(data)}
    assert lineage.assets("Media", file_path="/p.png") == [cid_of(data)]


def test_an_edit_after_a_shell_command_is_not_reconstructed(tmp_path: Path):
    endings = {"a": "", "b": "; exit 3", "c": "; echo 'Error: a warning'"}
    session, lineage = run(
        agent(
            asks(*[write(f"w{name}", f"/{name}.txt", "one two\n") for name in endings]),
            asks(
                *[
                    execute(f"x{name}", f"printf 'CHANGED two\\n' > {name}.txt{ending}")
                    for name, ending in endings.items()
                ]
            ),
            asks(*[edit(f"e{name}", f"/{name}.txt", "two", "TWO") for name in endings]),
            backend=shell(tmp_path),
        )
    )
    for name in endings:
        assert (tmp_path / f"{name}.txt").read_text() == "CHANGED TWO\n"
        assert lineage.history(f"/{name}.txt") == ["1 write_file"]
        assert lineage.versions(f"/{name}.txt") == {cid_of("one two\n")}
        assert cid_of("one two\n") not in lineage.tool(f"e{name}").inputs
    assert reasons(session.handler) == {"SHELL", "NO_BASE"}


def test_a_read_after_a_shell_command_is_a_rendering(tmp_path: Path):
    _, lineage = run(
        agent(
            write("w", "/a.txt", "v1\n"),
            execute("x", "echo v2 > a.txt"),
            read("r1", "/a.txt"),
            read("r2", "/a.txt"),
            backend=shell(tmp_path),
        )
    )
    (rendering,) = lineage.renderings("/a.txt")
    assert lineage.tool("r1").files("read") == lineage.tool("r2").files("read") == {"/a.txt": rendering}
    assert "v2" in lineage.text(rendering)


def test_a_write_after_a_shell_command_is_a_new_version_that_replaces_nothing_known(tmp_path: Path):
    _, lineage = run(
        agent(
            write("w1", "/a.txt", "1\n"),
            execute("x", "rm a.txt"),
            write("w2", "/a.txt", "2\n"),
            edit("e", "/a.txt", "2", "3"),
            backend=shell(tmp_path),
        )
    )
    assert lineage.history("/a.txt") == ["1 write_file", "2 write_file", "3 edit_file <- 2"]


def test_a_shell_beside_a_write_in_one_message_leaves_what_the_file_holds_unknown(tmp_path: Path):
    session, lineage = run(
        agent(
            asks(write("w", "/a.txt", "one\n"), execute("x", "sleep 0.1; printf 'two\\n' > a.txt")),
            edit("e", "/a.txt", "o", "0"),
            backend=shell(tmp_path),
        )
    )
    assert session.results()["e"].status == "success"
    assert lineage.versions("/a.txt") <= {cid_of("one\n")}
    assert {use["evidence"] for use in lineage.tool("e").fields["files"]} == {"edit"}


def test_a_refused_shell_command_takes_nothing_from_files_in_state():
    session, lineage = run(
        agent(write("w", "/a.md", "one\n"), execute("x", "rm a.md"), edit("e", "/a.md", "one", "two"))
    )
    assert session.results()["x"].status == "error"
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
