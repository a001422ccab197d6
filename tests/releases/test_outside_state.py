"""Files outside the agent's state, and shells, on the release that is installed."""

from pathlib import Path

from support.agents import call, edit, execute, read, reasons, run, write
from support.releases import agent, backends, disk, lack, needs_tools
from support.sdk import cid_of


def test_a_file_on_disk_is_written_read_and_edited_as_one_chain(tmp_path: Path):
    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"), read("r", "/a.md"), edit("e", "/a.md", "one", "two"), backend=disk(tmp_path)
        )
    )
    assert (tmp_path / "a.md").read_text() == "two\n"
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("one\n")}
    assert lineage.tool("e").files("wrote") == {"/a.md": cid_of("two\n")}
    assert len(session.handler.gaps) == 0


def test_an_edit_of_a_file_that_the_run_did_not_write_is_no_version(tmp_path: Path):
    (tmp_path / "a.md").write_text("old and more")
    session, lineage = run(agent(read("r", "/a.md"), edit("e", "/a.md", "old", "new"), backend=disk(tmp_path)))
    assert (tmp_path / "a.md").read_text() == "new and more"
    step = lineage.tool("e")
    assert [use["evidence"] for use in step.fields["files"] if use["role"] == "wrote"] == ["edit"]
    assert lineage.versions("/a.md") == set()
    (edited,) = lineage.assets("Document", name="edit of /a.md")
    assert edited in step.outputs
    assert lineage.payload(edited) == {"path": "/a.md", "old": "old", "new": "new", "all": False, "count": 1}
    (rendering,) = lineage.renderings("/a.md")
    assert rendering in lineage.tool("r").inputs
    assert rendering in step.inputs
    assert reasons(session.handler) == {"NO_BASE"}


def test_writing_on_a_file_that_lay_on_the_disk_is_a_version_or_a_refusal(tmp_path: Path):
    (tmp_path / "a.md").write_text("old\n")
    _, lineage = run(agent(write("w", "/a.md", "new\n"), backend=disk(tmp_path)))
    written = (tmp_path / "a.md").read_text() == "new\n"
    assert lineage.tool("w").files("wrote") == ({"/a.md": cid_of("new\n")} if written else {})
    assert (cid_of("new\n") in lineage.registered) is written


def test_an_edit_on_disk_that_is_refused_changes_nothing(tmp_path: Path):
    _, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            edit("e", "/a.md", "absent", "x"),
            edit("n", "/none.md", "x", "y"),
            backend=disk(tmp_path),
        )
    )
    assert "files" not in lineage.tool("e").fields
    assert "files" not in lineage.tool("n").fields
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.paths() == {"/a.md"}


def test_a_search_that_shows_lines_has_the_files_they_are_of(tmp_path: Path):
    needs_tools("grep")
    search = call("grep", "g", pattern="needle", output_mode="content")
    _, lineage = run(
        agent(write("a", "/a.md", "a needle\n"), write("b", "/b.md", "hay\n"), search, backend=disk(tmp_path))
    )
    step = lineage.tool("g")
    assert set(step.files("read")) <= {"/a.md"}
    assert cid_of("hay\n") not in step.inputs


def test_a_shell_leaves_a_gap_and_what_was_believed_is_not_believed_any_more(tmp_path: Path):
    needs_tools("execute")
    if not hasattr(backends(), "LocalShellBackend"):
        lack("LocalShellBackend")
    shell = backends().LocalShellBackend(root_dir=tmp_path, virtual_mode=True)
    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            execute("x", f"printf 'one and more' > {tmp_path}/a.md"),
            edit("e", "/a.md", "one", "two"),
            backend=shell,
        )
    )
    assert (tmp_path / "a.md").read_text() == "two and more"
    assert lineage.history("/a.md") == ["1 write_file"]
    assert [use["evidence"] for use in lineage.tool("e").fields["files"] if use["role"] == "wrote"] == ["edit"]
    assert reasons(session.handler) == {"SHELL", "NO_BASE"}


def test_a_shell_that_is_not_there_leaves_what_is_in_state_alone():
    needs_tools("execute")
    _, lineage = run(agent(write("w", "/a.md", "one\n"), execute("x", "true"), edit("e", "/a.md", "one", "two")))
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
