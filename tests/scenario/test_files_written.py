"""Files that the agent's state holds: each version once, an output of the call that made it."""

import pytest

from support.agents import agent, asked, asks, delete, edit, file_data, read, reasons, run, subagent, task, write
from support.sdk import cid_of


def test_a_file_is_an_output_of_the_call_that_wrote_it_and_of_nothing_else():
    _, lineage = run(agent(write("w", "/a.md", "one\n")))
    assert cid_of("one\n") in lineage.tool("w").outputs
    assert lineage.producers(cid_of("one\n")) == ["write_file"]


def test_a_file_asset_holds_the_bytes_and_has_the_path_as_metadata():
    _, lineage = run(agent(write("w", "notes/ä b.md", "one é\n")))
    (cid,) = lineage.assets("Document", file_path="/notes/ä b.md")
    assert lineage.blobs[cid] == "one é\n".encode()
    assert lineage.described(cid)["name"] == "/notes/ä b.md"


def test_a_state_names_its_files_and_does_not_hold_them():
    _, lineage = run(agent(write("w", "/a.md", "a text that is nowhere else\n")))
    state = lineage.all("model", "graph_node")[-1].inputs[0]
    assert lineage.payload(state)["files"] == {"/a.md": f"urn:cid:{cid_of('a text that is nowhere else' + chr(10))}"}
    holders = [cid for cid in lineage.registered if b"a text that is nowhere else" in lineage.blobs[cid]]
    assert {name for cid in holders for name in [lineage.metadata[cid][0]["name"].split(": ")[-1]]} <= {
        "/a.md",  # the file itself
        "input",  # the call's arguments
        *("response", "response body", "prompt", "LangChain request"),  # the message that asks for the call
        *("input state", "output state"),  # the same message in the conversation
    }


def test_the_next_turn_has_the_file_as_an_input():
    _, lineage = run(agent(write("w", "/a.md", "one\n")))
    assert cid_of("one\n") in lineage.all("model", "graph_node")[-1].inputs


def test_an_overwrite_is_chained_to_the_version_it_replaced():
    _, lineage = run(agent(write("w1", "/a.md", "one\n"), write("w2", "a.md", "two\n")))
    assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1"]
    assert cid_of("one\n") in lineage.tool("w2").inputs


def test_an_edit_is_chained_to_the_version_it_changed():
    _, lineage = run(
        agent(
            write("w", "/a.md", "x and x\n"),
            edit("e1", "/a.md", "x and", "y and"),
            edit("e2", "/a.md", "y", "z"),
            edit("e3", "/a.md", " ", "", replace_all=True),
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1", "3 edit_file <- 2", "4 edit_file <- 3"]
    assert lineage.tool("e3").files("wrote") == {"/a.md": cid_of("zandx\n")}


def test_a_refused_edit_changes_nothing_and_says_error():
    session, lineage = run(
        agent(
            write("w", "/a.md", "x x\n"),
            edit("twice", "/a.md", "x", "y"),
            edit("missing", "/a.md", "q", "y"),
            edit("empty", "/a.md", "", "y"),
            edit("no file", "/b.md", "x", "y"),
        )
    )
    assert lineage.history("/a.md") == ["1 write_file"]
    for call_id in ("twice", "missing", "empty", "no file"):
        step = lineage.tool(call_id)
        assert step.fields["status"] == "error"
        assert len(step.outputs) == 1
        assert lineage.payload(step.outputs[0])["status"] == "error"
    assert lineage.tool("w").fields["status"] == "ok"
    assert not reasons(session.handler)


def test_restoring_earlier_bytes_is_a_version_of_its_own():
    _, lineage = run(
        agent(
            write("1", "/a.md", "A\n"),
            write("2", "/a.md", "B\n"),
            edit("3", "/a.md", "B", "A"),
            edit("4", "/a.md", "A", "C"),
        )
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1", "3 edit_file <- 2", "4 edit_file <- 3"]
    assert cid_of("A\n") in lineage.tool("3").outputs
    assert cid_of("B\n") in lineage.tool("3").inputs
    assert cid_of("A\n") in lineage.tool("4").inputs


def test_writing_what_is_there_already_makes_no_version():
    _, lineage = run(agent(write("1", "/a.md", "A\n"), write("2", "/a.md", "A\n"), edit("3", "/a.md", "A", "A")))
    assert lineage.history("/a.md") == ["1 write_file"]
    for call_id in ("2", "3"):
        assert lineage.tool(call_id).files("present") == {"/a.md": cid_of("A\n")}
        assert cid_of("A\n") not in lineage.tool(call_id).outputs


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


@pytest.mark.parametrize("text", ["", "no newline", "a\r\nb\r\n", "\ufeffbom\n", "a\x00b\n", "\U0001f600\u200b\n"])
def test_any_text_is_recorded_byte_for_byte(text: str):
    session, lineage = run(agent(write("w", "/a.md", text)))
    assert session.answer["files"]["/a.md"]["content"] == text
    assert lineage.tool("w").files("wrote") == {"/a.md": cid_of(text)}


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
