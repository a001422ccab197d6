"""What is said of a compaction."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

from eqty_lineage.deepagents import compaction


@pytest.mark.parametrize(
    ("cutoff", "messages", "before", "expected"),
    [
        (6, 8, 0, {"cutoff": 6, "messages_dropped": 6, "messages_kept": 2}),
        (6, 8, 4, {"cutoff": 6, "messages_dropped": 2, "messages_kept": 2}),
        (6, None, 0, {"cutoff": 6, "messages_dropped": 6}),
        (6, 3, 0, {"cutoff": 6, "messages_dropped": 6}),
        (2, 8, 4, {"cutoff": 2, "messages_dropped": 0, "messages_kept": 6}),
        ("6", 8, 0, {}),
        (True, 8, 0, {}),
        (None, 8, 0, {}),
    ],
)
def test_an_event_says_what_was_dropped(cutoff: Any, messages: int | None, before: int, expected: dict[str, Any]):
    assert compaction.noted({"cutoff_index": cutoff}, messages, before) == {"compaction": "lossy", **expected}


ALL = RemoveMessage("__remove_all__")
SUMMARY = HumanMessage("Here is a summary of the conversation to date:\n\nIt was long.")


def test_a_node_that_wrote_the_messages_anew_has_compacted_them():
    """As releases up to 0.3.12 did."""
    update = {"messages": [ALL, SUMMARY, AIMessage("a"), HumanMessage("b")]}
    assert compaction.rewritten("SummarizationMiddleware.before_model", update, 9) == {
        "compaction": "lossy",
        "messages_kept": 2,
        "messages_dropped": 7,
        "cutoff": 7,
    }
    assert compaction.rewritten("SummarizationMiddleware.before_model", update, None) == {
        "compaction": "lossy",
        "messages_kept": 2,
    }


@pytest.mark.parametrize(
    ("node", "update"),
    [
        ("PatchToolCallsMiddleware.before_agent", {"messages": [ALL, HumanMessage("b")]}),
        ("SummarizationMiddleware.before_model", {"messages": [HumanMessage("b")]}),
        ("SummarizationMiddleware.before_model", {"messages": [RemoveMessage("1"), HumanMessage("b")]}),
        ("SummarizationMiddleware.before_model", None),
    ],
)
def test_any_other_node_has_not(node: str, update: Any):
    assert compaction.rewritten(node, update, 9) == {}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (SUMMARY, True),
        (HumanMessage("x", additional_kwargs={"lc_source": "summarization"}), True),
        (HumanMessage("x", additional_kwargs={"lc_source": "rubric_grader"}), False),
        (AIMessage("Here is a summary of the conversation to date:"), False),
        (HumanMessage("What about: Here is a summary of the conversation to date:"), False),
        ("Here is a summary of the conversation to date:", False),
    ],
)
def test_a_summary_is_told_from_other_messages(message: Any, expected: bool):  # noqa: FBT001 - a table
    assert compaction.is_summary(message) is expected


def test_messages_are_counted_as_far_as_that_can_be_told():
    assert compaction.count_after({"messages": [AIMessage("a")]}, 3) == 4
    assert compaction.count_after({"messages": [ALL, AIMessage("a")]}, 3) is None
    assert compaction.count_after({"messages": [AIMessage("a")]}, None) is None
    assert compaction.count_after(None, 3) == 3


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("words", "words"),
        ([{"type": "text", "text": "two "}, "words", {"type": "image", "url": "x"}, {"type": "text"}], "two words"),
        ([], ""),
    ],
)
def test_the_text_of_a_message_is_that_of_its_blocks(content: Any, text: str):
    assert compaction.text_in(AIMessage(content)) == text == str(AIMessage(content).text)
    assert compaction.text_in(None) == ""
