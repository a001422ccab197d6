"""Files that the agent's state holds: each version once, an output of the call that made it."""

import pytest

from support.agents import agent, asked, asks, delete, edit, file_data, read, reasons, run, subagent, task, write
from support.lineage import Lineage
from support.sdk import cid_of


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    """The life of one file; the call ids are the turns."""
    _, lineage = run(
        agent(
            write("1", "/a.md", "x and x\n"),
            write("2", "a.md", "y\n"),
            edit("3", "/a.md", "y", "x and x"),
            write("4", "/a.md", "x and x\n"),
            edit("5", "/a.md", "x and", "x and"),
            edit("6", "/a.md", " ", "", replace_all=True),
            edit("7", "/a.md", "xandx", "z"),
        )
    )
    return lineage


def test_a_file_is_an_output_of_the_call_that_wrote_it_and_of_nothing_else(lineage: Lineage):
    assert cid_of("y\n") in lineage.tool("2").outputs
    assert lineage.producers(cid_of("y\n")) == ["write_file"]


def test_a_version_is_chained_to_the_one_it_replaced(lineage: Lineage):
    assert lineage.history("/a.md") == [
        "1 write_file",
        "2 write_file <- 1",
        "3 edit_file <- 2",
        "4 edit_file <- 3",
        "5 edit_file <- 4",
    ]
    assert cid_of("x and x\n") in lineage.tool("2").inputs
    assert cid_of("xandx\n") in lineage.tool("7").inputs


def test_an_edit_makes_what_the_backend_makes_of_it(lineage: Lineage):
    assert lineage.tool("6").files("wrote") == {"/a.md": cid_of("xandx\n")}
    assert lineage.tool("7").files("wrote") == {"/a.md": cid_of("z\n")}


def test_restoring_earlier_bytes_is_a_version_of_its_own(lineage: Lineage):
    assert cid_of("x and x\n") in lineage.tool("3").outputs
    assert cid_of("y\n") in lineage.tool("3").inputs
    assert lineage.producers(cid_of("x and x\n")) == ["write_file", "edit_file"]


def test_writing_what_is_there_already_makes_no_version(lineage: Lineage):
    for call_id in ("4", "5"):
        assert lineage.tool(call_id).files("present") == {"/a.md": cid_of("x and x\n")}
        assert cid_of("x and x\n") not in lineage.tool(call_id).outputs


def test_the_next_turn_has_the_file_as_an_input(lineage: Lineage):
    assert cid_of("z\n") in lineage.all("model", "graph_node")[-1].inputs


def test_a_state_names_its_files_and_does_not_hold_them():
    text = "a text that is nowhere else\n"
    _, lineage = run(agent(write("w", "/a.md", text)))
    state = lineage.all("model", "graph_node")[-1].inputs[0]
    assert lineage.payload(state)["files"] == {"/a.md": f"urn:cid:{cid_of(text)}"}
    states = [cid for cid in lineage.assets("Dataset") if lineage.described(cid)["name"].endswith(" state")]
    assert len(states) > 4
    assert not [cid for cid in states if '"files"' in lineage.text(cid) and text in str(lineage.payload(cid)["files"])]


def test_a_file_asset_holds_the_bytes_and_has_the_path_as_metadata():
    texts = ["", "no newline", "a\r\nb\r\n", "\ufeffbom\n", "a\x00b\n", "\U0001f600\u200b\n"]
    paths = [f"/ä {number}.md" for number in range(len(texts))]
    writes = [write(path, path.lstrip("/"), text) for path, text in zip(paths, texts, strict=True)]
    session, lineage = run(agent(asks(*writes)))
    for path, text in zip(paths, texts, strict=True):
        assert session.answer["files"][path]["content"] == text
        assert lineage.tool(path).files("wrote") == {path: cid_of(text)}
        (cid,) = lineage.assets("Document", file_path=path)
        assert lineage.blobs[cid] == text.encode()
        assert lineage.described(cid)["name"] == path


def test_a_refused_edit_changes_nothing_and_says_error():
    files = {f"/{name}.md": file_data("x x\n") for name in ("twice", "missing", "empty")}
    edits = [
        edit("twice", "/twice.md", "x", "y"),
        edit("missing", "/missing.md", "q", "y"),
        edit("empty", "/empty.md", "", "y"),
        edit("no file", "/none.md", "x", "y"),
    ]
    session, lineage = run(agent(asks(*edits)), asked(files=files))
    for call_id in ("twice", "missing", "empty", "no file"):
        step = lineage.tool(call_id)
        assert step.fields["status"] == "error"
        assert "files" not in step.fields
        assert len(step.outputs) == 1
        assert lineage.payload(step.outputs[0])["status"] == "error"
    assert lineage.paths() == set(files)
    assert not reasons(session.handler)


def test_parallel_writes_to_several_paths_are_not_mixed():
    count = 6
    writes = [write(f"w{number}", f"/{number}.md", f"text {number}\n") for number in range(count)]
    session, lineage = run(agent(asks(*writes, read("r", "/seed.md"))), asked(files={"/seed.md": file_data("seed\n")}))
    assert len(session.answer["files"]) == count + 1
    for number in range(count):
        step = lineage.tool(f"w{number}")
        assert step.files("wrote") == {f"/{number}.md": cid_of(f"text {number}\n")}
        assert not step.files("replaced")
    assert lineage.tool("r").files("read") == {"/seed.md": cid_of("seed\n")}


def test_of_two_changes_to_one_path_in_one_message_the_refused_one_leaves_no_trace():
    session, lineage = run(
        agent(
            asks(write("w1", "/a.md", "first\n"), write("w2", "/./a.md", "second\n")),
            asks(edit("e1", "/a.md", "first", "third"), delete("d", "a.md")),
        )
    )
    assert [session.results()[call_id].status for call_id in ("w1", "w2", "e1", "d")] == ["success", "error"] * 2
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert cid_of("second\n") not in lineage.registered
    assert not lineage.all(tool_call_id="w2")
    assert not lineage.all(tool_call_id="d")


def test_the_same_bytes_at_two_paths_are_one_asset_with_two_paths():
    _, lineage = run(agent(write("1", "/a.md", "same\n"), write("2", "/b.md", "same\n")))
    assert {metadata["file_path"] for metadata in lineage.metadata[cid_of("same\n")]} == {"/a.md", "/b.md"}
    assert lineage.history("/a.md") == lineage.history("/b.md") == ["1 write_file"]


def test_a_double_slash_is_a_path_of_its_own():
    session, lineage = run(
        agent(write("1", "//a.md", "double\n"), write("2", "/a.md", "single\n"), write("3", "///a.md", "triple\n"))
    )
    assert set(session.answer["files"]) == {"//a.md", "/a.md"}
    assert lineage.history("//a.md") == ["1 write_file"]
    assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1"]


def test_a_subagents_file_is_written_in_its_lane_and_read_and_edited_by_its_caller():
    helper = subagent("helper", write("w", "/a.md", "draft\n"), edit("e", "/a.md", "draft", "text"))
    _, lineage = run(
        agent(
            task("t", "helper"),
            read("r", "/a.md"),
            edit("mine", "/a.md", "text", "report"),
            subagents=[helper],
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1", "3 edit_file <- 2"]
    assert lineage.history("/a.md", "helper") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("text\n")}
    assert lineage.tool("r").version("read", "/a.md") == 2
    assert lineage.producers(cid_of("text\n")) == ["edit_file"]
    assert not lineage.tool("t").files("wrote")


def test_a_subagent_reads_what_its_caller_wrote():
    helper = subagent("helper", read("r", "/in.md"))
    _, lineage = run(agent(write("w", "/in.md", "in\n"), task("t", "helper"), subagents=[helper]))
    assert lineage.tool("r").files("read") == {"/in.md": cid_of("in\n")}
    assert lineage.tool("r").version("read", "/in.md") == 1


def test_two_subagents_writing_one_path_at_once_do_not_replace_each_others_version():
    one = subagent("one", write("w1", "/a.md", "by one\n"), edit("e1", "/a.md", "by", "made by"))
    two = subagent("two", write("w2", "/a.md", "by two\n"), edit("e2", "/a.md", "by", "made by"))
    session, lineage = run(
        agent(asks(task("t1", "one"), task("t2", "two")), edit("e", "/a.md", "made", "done"), subagents=[one, two])
    )
    assert lineage.history("/a.md", "one") == lineage.history("/a.md", "two") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("e1").files("wrote") == {"/a.md": cid_of("made by one\n")}
    assert lineage.tool("e2").files("wrote") == {"/a.md": cid_of("made by two\n")}
    survivor = session.answer["files"]["/a.md"]["content"]
    assert lineage.tool("e").files("wrote") == {"/a.md": cid_of(survivor)}
    assert lineage.tool("e").files("replaced") == {"/a.md": cid_of(survivor.replace("done", "made"))}


def test_a_read_and_a_write_of_one_message_see_the_state_it_began_with():
    message = asks(write("w", "/a.md", "new\n"), read("r", "/a.md"))
    session, lineage = run(agent(message), asked(files={"/a.md": file_data("old\n")}))
    assert "old" in session.results()["r"].content
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("old\n")}
    assert lineage.tool("w").files("replaced") == {"/a.md": cid_of("old\n")}
