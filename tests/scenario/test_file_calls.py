"""Calls that look like file calls: refused, malformed, somebody else's; tools that change files by a ``Command``."""

from typing import Annotated, Any

from deepagents import FilesystemPermission
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from support.agents import agent, asked, asks, call, delete, edit, file_data, read, reasons, run, write
from support.sdk import cid_of


def test_a_refused_path_is_no_file():
    refused = ["../x.md", "~/x.md", "C:\\x.md", "a/../../x.md"]
    session, lineage = run(agent(asks(*[write(path, path, "bad\n") for path in refused])))
    for path in refused:
        assert session.results()[path].status == "error"
        assert lineage.tool(path).fields["status"] == "error"
        assert "files" not in lineage.tool(path).fields
    assert cid_of("bad\n") not in lineage.registered
    assert not reasons(session.handler)


def test_a_denied_write_is_no_file():
    denied = FilesystemPermission(operations=["write"], paths=["/deny/**"], mode="deny")
    session, lineage = run(agent(write("w", "/deny/x.md", "bad\n"), permissions=[denied]))
    assert session.results()["w"].status == "error"
    assert cid_of("bad\n") not in lineage.registered


def test_malformed_arguments_are_no_file_and_the_next_call_is_recorded():
    session, lineage = run(
        agent(
            asks(
                call("write_file", "no content", file_path="/x.md"),
                call("write_file", "list", file_path=["/x.md"], content="bad\n"),
                call("write_file", "number", file_path="/y.md", content=7),
                call("edit_file", "no new", file_path="/seed.md", old_string="s"),
                call("read_file", "no path"),
            ),
            write("w", "/good.md", "good\n"),
        ),
        asked(files={"/seed.md": file_data("seed\n")}),
    )
    assert set(session.answer["files"]) == {"/seed.md", "/good.md"}
    assert lineage.versions("/x.md") == lineage.versions("/y.md") == set()
    assert lineage.versions("/seed.md") == {cid_of("seed\n")}
    assert lineage.history("/good.md") == ["1 write_file"]
    assert len(lineage.all(kind="tool_error")) == 5


def test_defaults_and_loose_types_of_arguments_are_read_as_the_tool_reads_them():
    session, lineage = run(
        agent(
            edit("e", "/a.md", "x", "y", replace_all="true"),
            read("r", "/a.md", limit="1"),
        ),
        asked(files={"/a.md": file_data("x\nx\n")}),
    )
    assert session.answer["files"]["/a.md"]["content"] == "y\ny\n"
    assert lineage.tool("e").files("wrote") == {"/a.md": cid_of("y\ny\n")}
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("y\ny\n")}


def test_an_unknown_tool_is_not_recorded_as_having_run():
    session, lineage = run(
        agent(call("no_such_tool", "c", file_path="/x.md", content="bad\n"), write("w", "/a.md", "a\n"))
    )
    assert session.results()["c"].status == "error"
    assert not lineage.all("no_such_tool")
    assert lineage.history("/a.md") == ["1 write_file"]


def test_another_tool_of_a_file_tools_name_wrote_nothing():
    @tool
    def delete(file_path: str) -> str:
        """Delete an account, not a file."""
        return f"account {file_path} is gone"

    session, lineage = run(
        agent(
            write("w", "/a.md", "one\n"),
            call("delete", "d", file_path="/a.md"),
            edit("e", "/a.md", "one", "two"),
            tools=[delete],
        )
    )
    assert session.results()["d"].content == "account /a.md is gone"
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert "files" not in lineage.tool("d").fields
    assert reasons(session.handler) == {"UNCLEAR"}


def changes_files(name: str, files: dict[str, Any]) -> Any:
    @tool(name)
    def change(
        tool_call_id: Annotated[str, InjectedToolCallId], file_path: str = "", content: str = ""
    ) -> Command[Any]:
        """Change files."""
        return Command(update={"files": files, "messages": [ToolMessage("ok", tool_call_id=tool_call_id)]})

    return change


def test_a_file_in_a_command_is_an_output_of_the_tool():
    save = changes_files("save", {"/a.md": file_data("saved\n"), "/kept.md": file_data("kept\n")})
    _, lineage = run(
        agent(call("save", "s"), edit("e", "/a.md", "saved", "edited"), tools=[save]),
        asked(files={"/kept.md": file_data("kept\n")}),
    )
    assert lineage.history("/a.md") == ["1 save", "2 edit_file <- 1"]
    assert lineage.producers(cid_of("saved\n")) == ["save"]
    assert lineage.tool("s").files("present") == {"/kept.md": cid_of("kept\n")}


def test_a_file_in_a_command_replaces_the_version_before():
    save = changes_files("save", {"/a.md": file_data("saved\n")})
    _, lineage = run(agent(write("w", "/a.md", "one\n"), call("save", "s"), tools=[save]))
    assert lineage.history("/a.md") == ["1 write_file", "2 save <- 1"]


def test_none_in_a_command_removes_the_file():
    purge = changes_files("purge", {"/a.md": None, "/missing.md": None})
    _, lineage = run(
        agent(write("w1", "/a.md", "one\n"), call("purge", "p"), write("w2", "/a.md", "two\n"), tools=[purge])
    )
    assert lineage.history("/a.md") == ["1 write_file", "- purge 1", "2 write_file"]
    assert lineage.tool("p").files("removed") == {"/a.md": cid_of("one\n")}


def test_a_custom_write_file_that_returns_a_command_is_judged_by_what_it_returned():
    other = changes_files("write_file", {"/a.md": file_data("other text\n")})
    session, lineage = run(agent(call("write_file", "w", file_path="/a.md", content="asked text\n"), tools=[other]))
    assert session.answer["files"]["/a.md"]["content"] == "other text\n"
    assert lineage.tool("w").files("wrote") == {"/a.md": cid_of("other text\n")}
    assert cid_of("asked text\n") not in lineage.registered


def test_the_state_names_a_file_in_a_command_and_the_payload_does_not_hold_it():
    save = changes_files("save", {"/a.md": file_data("saved\n"), "/gone.md": None})
    _, lineage = run(agent(call("save", "s"), tools=[save]))
    (output,) = lineage.assets("Dataset", name="save: output")
    update = lineage.payload(output)["command"]["update"]
    assert update["files"] == {"/a.md": f"urn:cid:{cid_of('saved' + chr(10))}", "/gone.md": None}


def test_a_delete_without_a_path_is_no_delete():
    _, lineage = run(
        agent(write("w", "/a.md", "one\n"), call("delete", "d"), delete("d2", ""), edit("e", "/a.md", "one", "two"))
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
