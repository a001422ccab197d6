"""For ordinary values, the payload here is the payload the base handler makes: both then record equal assets."""

import json
from pathlib import Path
from typing import Any

import pytest
from eqty_lineage.langchain._serialize import UNCLAIMED, _to_jsonable
from eqty_sdk import Dataset, Document, Prompt
from langchain_core.documents import Document as Retrieved
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from eqty_lineage.deepagents.payloads import plain, serialise
from eqty_lineage.deepagents.recording import sdk
from support.sdk import cid_of


class Named(BaseModel):
    name: str


CALL = {"name": "t", "args": {"a": [1, None]}, "id": "1", "type": "tool_call"}
ORDINARY: dict[str, Any] = {
    "text": "é\n",
    "number": 7,
    "fraction": 0.5,
    "truth": True,
    "nothing": None,
    "list": [1, "a", [None]],
    "tuple": (1, 2),
    "mapping": {"b": 1, "a": {"c": ()}},
    "number keys": {1: "a"},
    "model": Named(name="n"),
    "path": Path("/no/such/path"),
    "human": HumanMessage("hi"),
    "blocks": HumanMessage([{"type": "text", "text": "hi"}]),
    "system": SystemMessage("be"),
    "answer": AIMessage("ok", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    "request": AIMessage("", tool_calls=[CALL], name="researcher"),
    "result": ToolMessage("done", tool_call_id="1", name="t"),
    "document": Retrieved(page_content="p", metadata={"source": "s"}),
    "command": Command(update={"messages": [HumanMessage("hi")]}, goto="n"),
    "state": {"messages": [HumanMessage("hi"), AIMessage("ok")], "files": {"/a": {"content": "a"}}},
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_value_is_what_the_base_makes_of_it(kind: str):
    assert plain(ORDINARY[kind]) == _to_jsonable(ORDINARY[kind])


@pytest.mark.parametrize("kind", ["mapping", "state", "command", "list"])
def test_values_are_offered_with_the_keys_the_base_offers_them_with(kind: str):
    theirs: list[tuple[str, ...]] = []
    ours: list[tuple[str, ...]] = []

    def note(path: tuple[str, ...], value: Any) -> Any:
        theirs.append(path)
        return UNCLAIMED

    def note_ours(path: tuple[str, ...], value: Any, in_command: bool) -> Any:  # noqa: FBT001
        ours.append(path)
        return UNCLAIMED

    _to_jsonable(ORDINARY[kind], on_value=note)
    plain(ORDINARY[kind], note_ours)
    assert ours == theirs


@pytest.mark.parametrize(
    "payload", ["text", "", "é\u2028", {"b": 1, "a": [1.5, None, "é"]}, [], {}, [{"x": True}], "[1]"]
)
@pytest.mark.parametrize("factory", [Dataset, Document, Prompt])
def test_a_payload_has_the_cid_the_sdk_gives_it(payload: Any, factory: Any):
    asset = factory.from_object(payload, name="x")
    assert str(asset.cid).removeprefix("urn:cid:") == cid_of(serialise(payload))
    assert sdk.cid_of(serialise(payload)) == str(asset.cid)


def test_a_payload_is_json():
    payload = plain(ORDINARY)
    assert json.loads(serialise(payload)) == json.loads(json.dumps(payload))
