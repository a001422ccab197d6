"""What the file tools do, on the release that is installed: each version once, an output of the call that made it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from eqty_sdk.context import graph_context
from langchain_core.messages import HumanMessage

from support.agents import Session, asked, asks, delete, edit, file_data, read, run, says, write
from support.lineage import Lineage
from support.releases import agent, lack, needs_deepagents, needs_tools, texts
from support.sdk import cid_of, second


@pytest.fixture(autouse=True)
def _deepagents() -> None:
    needs_deepagents()


def test_a_write_is_an_output_of_its_call_and_an_input_of_nothing_before():
    session, lineage = run(agent(write("w", "/a.md", "one\n")))
    assert texts(session.answer) == {"/a.md": "one\n"}
    step, cid = lineage.tool("w"), cid_of("one\n")
    assert cid in step.outputs
    assert cid not in step.inputs
    assert lineage.producers(cid) == ["write_file"]
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.blobs[cid] == b"one\n"
    assert len(session.handler.gaps) == 0
    later = [step for step in lineage.steps if cid in step.inputs]
    assert later
    assert all(one.fields["sequence"] > step.fields["sequence"] for one in later)


def test_a_file_is_its_exact_bytes():
    written = ["no newline", "a\r\nb\r\n", "\ufeffbom\n", "\U0001f600\u200b\n"]
    writes = [write(f"w{number}", f"/{number}.md", text) for number, text in enumerate(written)]
    session, lineage = run(agent(asks(*writes)))
    for number, text in enumerate(written):
        assert texts(session.answer)[f"/{number}.md"] == text
        assert lineage.tool(f"w{number}").files("wrote") == {f"/{number}.md": cid_of(text)}


def test_writing_on_a_file_makes_a_version_or_is_refused_and_then_nothing_is_said_of_it():
    session, lineage = run(agent(write("1", "/a.md", "one\n"), write("2", "/a.md", "two\n"), read("r", "/a.md")))
    left = texts(session.answer)["/a.md"]
    second = lineage.tool("2")
    if left == "two\n":
        assert lineage.history("/a.md") == ["1 write_file", "2 write_file <- 1"]
        assert cid_of("one\n") in second.inputs
    else:
        assert left == "one\n"
        assert lineage.history("/a.md") == ["1 write_file"]
        assert cid_of("two\n") not in lineage.registered
        assert "files" not in second.fields
    assert lineage.tool("r").files("read") == {"/a.md": cid_of(left)}


def test_a_version_is_written_edited_read_and_restored():
    session, lineage = run(
        agent(
            write("w", "/a.md", "one and one\n"),
            read("r1", "/a.md"),
            edit("e1", "/a.md", "one", "two", replace_all=True),
            read("r2", "/a.md"),
            edit("e2", "/a.md", "two and two", "one and one"),
        )
    )
    first, second = cid_of("one and one\n"), cid_of("two and two\n")
    assert texts(session.answer) == {"/a.md": "one and one\n"}
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1", "3 edit_file <- 2"]
    assert lineage.tool("r1").files("read") == {"/a.md": first}
    assert lineage.tool("r2").files("read") == {"/a.md": second}
    for call_id, made, base in (("e1", second, first), ("e2", first, second)):
        step = lineage.tool(call_id)
        assert made in step.outputs
        assert base in step.inputs
        assert made not in step.inputs
    assert lineage.producers(first) == ["write_file", "edit_file"]
    assert len(session.handler.gaps) == 0


REFUSED = {
    "a text that is not there": edit("e", "/a.md", "absent", "x"),
    "a text that is there twice": edit("e", "/a.md", "x", "y"),
    "a file that is not there": edit("e", "/none.md", "x", "y"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_edit_that_is_refused_changes_nothing_whatever_its_status(what: str):
    session, lineage = run(agent(write("w", "/a.md", "x and x\n"), REFUSED[what], read("r", "/a.md")))
    assert texts(session.answer) == {"/a.md": "x and x\n"}
    assert "files" not in lineage.tool("e").fields
    assert lineage.paths() == {"/a.md"}
    assert lineage.history("/a.md") == ["1 write_file"]
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("x and x\n")}
    assert not lineage.assets("Document", name="edit of /none.md")


def test_a_read_of_a_file_that_is_not_there_has_none():
    _, lineage = run(agent(read("r", "/none.md")))
    assert "files" not in lineage.tool("r").fields
    assert lineage.paths() == set()


def test_a_file_that_is_deleted_is_an_input_of_the_call_and_no_output():
    needs_tools("delete")
    session, lineage = run(agent(write("w", "/a.md", "one\n"), delete("d", "/a.md"), write("w2", "/a.md", "two\n")))
    assert texts(session.answer) == {"/a.md": "two\n"}
    assert lineage.tool("d").files("removed") == {"/a.md": cid_of("one\n")}
    assert lineage.history("/a.md") == ["1 write_file", "- delete 1", "2 write_file"]


SHAPES: dict[str, Any] = {
    "lines and times": {"content": ["old", ""], "created_at": "t", "modified_at": "t"},
    "text and encoding": file_data("old\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_that_was_passed_in_is_its_bytes_in_any_shape_that_the_release_takes(shape: str):
    def reading() -> Any:
        return agent(read("r", "/a.md"), edit("e", "/a.md", "old", "new"))

    inputs = asked(files={"/a.md": SHAPES[shape]})
    if not _takes_up(reading(), inputs):
        lack(f"files that are {shape}")
    session = Session()
    session.invoke(reading(), inputs)
    lineage = session.lineage()
    assert texts(session.answer) == {"/a.md": "new\n"}
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("old\n")}
    assert lineage.tool("e").files("replaced") == {"/a.md": cid_of("old\n")}
    assert lineage.tool("e").files("wrote") == {"/a.md": cid_of("new\n")}


def _takes_up(runnable: Any, inputs: Any) -> bool:
    """Whether the release itself, without a handler, can work on the files that it is given."""
    try:
        return texts(runnable.invoke(inputs)) == {"/a.md": "new\n"}
    except (TypeError, ValueError, KeyError):
        return False


@pytest.mark.parametrize("path", ["../x.md", "~/x.md", "C:/x.md", "/a/../../x.md"])
def test_a_path_that_is_refused_is_no_file(path: str):
    session = Session()
    try:
        session.invoke(agent(asks(write("w", path, "bad\n")), read("r", "/x.md")))
    except ValueError:
        # early releases let it end the run
        session.answer = {"files": {}}
    lineage = session.lineage()
    kept = texts(session.answer)
    assert cid_of("bad\n") not in lineage.registered or "bad\n" in kept.values()
    assert lineage.paths() == set(kept)


def test_a_path_is_what_the_state_has_it_under():
    session, lineage = run(agent(write("1", "a.md", "a\n"), write("2", "/./b//c.md", "c\n"), read("r", "a.md")))
    assert {path: cid_of(text) for path, text in texts(session.answer).items()} == {
        path: cid for call_id in ("1", "2") for path, cid in lineage.tool(call_id).files("wrote").items()
    }
    assert len(lineage.tool("r").files("read")) == 1


def scripted() -> Any:
    return agent(write("w", "/a.md", "one\n"), edit("e", "/a.md", "one", "two"), read("r", "/a.md"), says("done"))


async def _astream(session: Session) -> None:
    async for _ in scripted().astream(asked(), session.config(), stream_mode=["updates", "messages"]):
        pass


WAYS: dict[str, Callable[[Session], Any]] = {
    "ainvoke": lambda session: asyncio.run(scripted().ainvoke(asked(), session.config())),
    "stream": lambda session: list(scripted().stream(asked(), session.config(), stream_mode="updates")),
    "astream": lambda session: asyncio.run(_astream(session)),
}


@pytest.fixture(scope="module")
def invoked() -> Lineage:
    needs_deepagents()
    return run(scripted())[1]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_running_records_what_invoke_records(way: str, invoked: Lineage):
    session = Session()
    with graph_context(session.context), second():
        WAYS[way](session)
    lineage = session.lineage()
    assert lineage.shape() == invoked.shape()
    assert lineage.history("/a.md") == invoked.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]


def test_the_same_script_gives_the_same_assets(invoked: Lineage):
    again = run(scripted())[1]
    assert again.entities == invoked.entities
    assert " at 0x" not in again.everything()


def test_the_agent_ends_as_it_does_without_a_handler():
    def ended(answer: Any) -> Any:
        messages = [(type(one).__name__, one.content, getattr(one, "tool_calls", None)) for one in answer["messages"]]
        return messages, texts(answer)

    session = Session()
    assert ended(session.invoke(scripted())) == ended(scripted().invoke({"messages": [HumanMessage("go")]}))
