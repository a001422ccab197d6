"""What an output says was saved."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langgraph.types import Command

from eqty_lineage.deepagents import offloads
from eqty_lineage.deepagents.offloads import Saved

FULL = ToolMessage("all of it", tool_call_id="c.1")


def stub(path: str, call_id: str = "c.1", **fields: Any) -> ToolMessage:
    said = (
        f"Tool result too large, the result of this tool call x was saved in the filesystem at this path: {path}\n\nand"
    )
    return ToolMessage(said, tool_call_id=call_id, **fields)


def saved(outputs: Any, returned: ToolMessage | None = FULL) -> list[Any]:
    return list(offloads.saved_in(outputs, {} if returned is None else {"c.1": returned}, by_model=True))


def test_a_result_that_gave_way_to_a_preview_is_the_file():
    (found,) = saved({"messages": [stub("/large_tool_results/c_1")]})
    assert (found.path, found.text) == ("/large_tool_results/c_1", "all of it")


@pytest.mark.parametrize("path", ["/large_tool_results/other", "/etc/passwd", "/large_tool_results/c_1/x"])
def test_a_file_that_is_not_named_after_the_call_is_none(path: str):
    assert saved({"messages": [stub(path)]}) == []


def test_what_came_like_this_or_was_not_seen_is_none():
    message = stub("/large_tool_results/c_1")
    assert saved({"messages": [message]}, message) == []
    assert saved({"messages": [message]}, None) == []


def test_a_file_that_the_update_holds_itself_is_none():
    update = {"messages": [stub("/large_tool_results/c_1")], "files": {"/large_tool_results/c_1": {"content": "x"}}}
    assert saved([Command(update=update)]) == []


def test_text_in_blocks_is_not_told_from_the_preview():
    blocks = ToolMessage([{"type": "text", "text": "all of it"}], tool_call_id="c.1")
    (found,) = saved({"messages": [stub("/large_tool_results/c_1")]}, blocks)
    assert found.text is None


def test_a_persons_message_is_saved_by_a_command_alone():
    message = HumanMessage("long", additional_kwargs={"lc_evicted_to": "/conversation_history/1.md"})
    assert saved([Command(update={"messages": [message]})]) == [
        Saved("/conversation_history/1.md", "long", {"message": "/conversation_history/1.md"})
    ]
    assert saved({"messages": [message]}) == []
    assert saved([Command(update={"messages": [RemoveMessage("x"), message]})]) == []


@pytest.mark.parametrize("artifact", [None, {}, {"output_file": 1}, {"output_file": ""}, "text"])
def test_without_a_path_nothing_was_captured(artifact: Any):
    assert offloads.captured_in(ToolMessage("x", tool_call_id="c", artifact=artifact)) is None


@pytest.mark.parametrize("event", [None, "x", {}, {"file_path": None}, {"file_path": ""}])
def test_without_a_path_no_history_was_saved(event: Any):
    assert offloads.history_in([Command(update={offloads.EVENT: event})]) is None
