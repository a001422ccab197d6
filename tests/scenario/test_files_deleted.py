"""Deletions: what was removed is an input of the call, and what comes after starts anew."""

from support.agents import agent, asked, asks, delete, edit, file_data, read, reasons, run, subagent, task, write
from support.sdk import cid_of


def test_the_removed_version_is_an_input_and_what_is_written_next_replaces_nothing():
    _, lineage = run(agent(write("w1", "/a.md", "one\n"), delete("d", "a.md"), write("w2", "/a.md", "two\n")))
    assert lineage.history("/a.md") == ["1 write_file", "- delete 1", "2 write_file"]
    assert lineage.tool("d").files("removed") == {"/a.md": cid_of("one\n")}
    assert cid_of("one\n") not in lineage.tool("w2").inputs


def test_rewriting_the_same_bytes_after_a_delete_is_a_new_version():
    _, lineage = run(
        agent(write("w1", "/a.md", "one\n"), delete("d", "/a.md"), write("w2", "/a.md", "one\n"), read("r", "/a.md"))
    )
    assert lineage.history("/a.md") == ["1 write_file", "- delete 1", "2 write_file"]
    assert lineage.tool("r").version("read", "/a.md") == 2


def test_deleting_a_directory_removes_all_below_it_and_nothing_beside_it():
    inside = {"/d/a.md": file_data("a\n"), "/d/s/b.md": file_data("b\n")}
    beside = {"/dx.md": file_data("x\n"), "/other/d/a.md": file_data("y\n")}
    session, lineage = run(
        agent(delete("d", "/d/"), write("w", "/d/a.md", "new\n"), edit("e", "/dx.md", "x", "z")),
        asked(files={**inside, **beside}),
    )
    assert set(session.answer["files"]) == {"/d/a.md", *beside}
    assert lineage.tool("d").files("removed") == {"/d/a.md": cid_of("a\n"), "/d/s/b.md": cid_of("b\n")}
    assert not lineage.tool("w").files("replaced")
    assert lineage.tool("e").files("replaced") == {"/dx.md": cid_of("x\n")}


def test_deleting_the_root_removes_every_file():
    session, lineage = run(
        agent(delete("d", "/"), write("w", "/a.md", "2\n")),
        asked(files={"/a.md": file_data("1\n"), "/b/c": file_data("c\n")}),
    )
    assert set(session.answer["files"]) == {"/a.md"}
    assert set(lineage.tool("d").files("removed")) == {"/a.md", "/b/c"}
    assert lineage.history("/a.md") == ["- delete 1", "2 write_file"]


def test_a_delete_that_finds_nothing_removes_nothing():
    session, lineage = run(agent(write("w", "/a.md", "one\n"), delete("d", "/b.md"), edit("e", "/a.md", "one", "two")))
    assert session.results()["d"].status == "error"
    assert not lineage.tool("d").files("removed")
    assert lineage.tool("d").fields["status"] == "error"
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]


def test_a_file_deleted_by_a_subagent_is_still_its_callers():
    helper = subagent("helper", delete("d", "/a.md"), write("w", "/b.md", "b\n"))
    session, lineage = run(
        agent(task("t", "helper"), edit("e", "/a.md", "one", "two"), subagents=[helper]),
        asked(files={"/a.md": file_data("one\n")}),
    )
    assert session.answer["files"]["/a.md"]["content"] == "two\n"
    assert lineage.history("/a.md", "helper") == ["- delete 1"]
    assert lineage.history("/a.md", "researcher") == ["2 edit_file <- 1"]


def test_a_write_and_a_delete_of_its_directory_in_one_message_do_not_see_each_other():
    message = asks(write("w", "/d/new.md", "new\n"), delete("d", "/d"))
    session, lineage = run(agent(message, read("r", "/d/new.md")), asked(files={"/d/old.md": file_data("old\n")}))
    assert lineage.tool("d").files("removed") == {"/d/old.md": cid_of("old\n")}
    kept = "/d/new.md" in session.answer["files"]
    assert lineage.tool("r").files("read") == ({"/d/new.md": cid_of("new\n")} if kept else {})


def test_a_read_after_a_delete_reads_nothing():
    session, lineage = run(
        agent(write("w", "/a.md", "one\n"), delete("d", "/a.md"), read("r", "/a.md"), edit("e", "/a.md", "one", "two"))
    )
    assert [session.results()[call_id].status for call_id in "re"] == ["error", "error"]
    assert cid_of("one\n") not in {*lineage.tool("r").inputs, *lineage.tool("e").inputs}
    assert not reasons(session.handler)
