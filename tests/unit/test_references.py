"""References and transcripts: what is kept apart, how it is referred to, and how it comes back."""

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from eqty_lineage.deepagents import references
from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.walk import Discretion
from eqty_lineage.deepagents.facts import AssetId
from eqty_lineage.deepagents.references import KEY, LONG, NotExpandableError, expand, is_long, reference, shorten
from eqty_lineage.deepagents.transcripts import Messages, Transcript, extend
from support.files import cid_of


class Shelf:
    """Keeps bytes under names of its own; equal bytes have one name."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.asked = 0

    def keep(self, data: bytes) -> AssetId:
        self.asked += 1
        name = f"urn:cid:kept-{data.hex()}"
        self.kept[name.removeprefix("urn:cid:")] = data
        return AssetId(name)

    @property
    def manifest(self) -> dict[str, Any]:
        return {"blobs": {name: base64.b64encode(data).decode() for name, data in self.kept.items()}}

    def holds(self, cid: str) -> Any:
        return json.loads(self.kept[cid.removeprefix("urn:cid:")])


long_texts = st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=4), st.integers(200, 1_200))
texts = st.text(max_size=8) | long_texts
keys = st.sampled_from([KEY, "cid", "value", "before", "messages", "eqty:ref:"]) | st.text(max_size=3)
looks_like_one = st.builds(
    lambda kind, rest: {KEY: kind, **rest},
    st.sampled_from(["value", "messages", "payload", "escaped", "other", ""]) | st.none() | st.integers(),
    st.fixed_dictionaries({}, optional={"cid": texts, "value": st.dictionaries(keys, texts, max_size=2)}),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3) | looks_like_one,
    max_leaves=8,
)


@given(json_values)
@example({KEY: "value", "cid": "x"})
@example({KEY: "escaped", "value": {KEY: "escaped", "value": {}}})
@example([{KEY: None}])
@example({"a": "ä" * LONG, "b": ["\ud800" * LONG]})
def test_what_was_shortened_comes_back_byte_for_byte(value: Any):
    shelf = Shelf()
    stored = json.dumps(shorten(value, shelf.keep))
    assert json.dumps(expand(json.loads(stored), shelf.manifest)) == json.dumps(value)


@given(json_values)
def test_nothing_long_is_left_in_what_is_stored_unless_it_is_the_whole(value: Any):
    shelf = Shelf()

    def longest(part: Any) -> int:
        if isinstance(part, str):
            return len(part.encode("utf-8", "surrogatepass"))
        if isinstance(part, dict):
            return max((longest(item) for item in part.values()), default=0)
        return max((longest(item) for item in part), default=0) if isinstance(part, list) else 0

    short = shorten(value, shelf.keep)
    if not isinstance(value, str) and all(len(key.encode("utf-8", "surrogatepass")) < LONG for key in ["", KEY]):
        # names this shelf gives are as long as what it keeps
        assert longest(json.loads(json.dumps(short), object_hook=without_cid)) < LONG


def without_cid(value: dict[str, Any]) -> dict[str, Any]:
    return {KEY: "value"} if value.get(KEY) == "value" and str(value.get("cid")).startswith("urn:cid:kept-") else value


def test_a_string_is_long_from_1_kb_of_utf_8_on():
    assert not is_long("x" * 1_023)
    assert is_long("x" * 1_024)
    assert not is_long("é" * 511)
    assert is_long("é" * 512)
    assert is_long("😀" * 256)
    assert not is_long("😀" * 255)


def test_a_long_string_is_kept_as_json_so_that_it_has_never_the_cid_of_a_file():
    shelf = Shelf()
    text = "x" * LONG
    assert shorten({"content": text}, shelf.keep) == {
        "content": {KEY: "value", "cid": shelf.keep(json.dumps(text).encode())}
    }
    assert list(shelf.kept.values()) == [json.dumps(text).encode()]
    assert text.encode() not in shelf.kept.values()


def test_a_payload_that_is_one_string_stays_as_it_is():
    shelf = Shelf()
    assert shorten("x" * LONG, shelf.keep) == "x" * LONG
    assert not shelf.kept


def test_a_users_object_that_looks_like_a_reference_is_escaped_and_ours_is_not():
    shelf = Shelf()
    ours = reference("messages", AssetId("urn:cid:m"))
    assert shorten({"messages": ours, "args": dict(ours)}, shelf.keep) == {
        "messages": {KEY: "messages", "cid": "urn:cid:m"},
        "args": {KEY: "escaped", "value": {KEY: "messages", "cid": "urn:cid:m"}},
    }


@pytest.mark.parametrize("kind", ["value", "messages", "payload"])
def test_what_is_referred_to_and_not_there_is_an_error_and_not_a_hole(kind: str):
    with pytest.raises(NotExpandableError, match="gone"):
        expand({"state": {KEY: kind, "cid": "urn:cid:gone"}}, {"blobs": {}})


def test_a_reference_of_an_unknown_kind_is_an_error():
    with pytest.raises(NotExpandableError, match="newer"):
        expand({KEY: "newer", "cid": "x"}, {"blobs": {}})


def test_a_blob_that_is_no_json_is_an_error():
    blob = base64.b64encode(b"\xff").decode()
    with pytest.raises(NotExpandableError):
        expand({KEY: "value", "cid": "urn:cid:b"}, {"blobs": {"b": blob}})


def test_a_transcript_that_goes_on_from_itself_is_an_error_and_no_endless_loop():
    blob = base64.b64encode(json.dumps({"before": "t", "messages": []}).encode()).decode()
    with pytest.raises(NotExpandableError, match="itself"):
        expand({KEY: "messages", "cid": "urn:cid:t"}, {"blobs": {"t": blob}})


def test_a_referred_payload_is_expanded_too():
    shelf = Shelf()
    prompt = [["x" * LONG, {KEY: "users own"}]]
    cid = shelf.keep(json.dumps(shorten(prompt, shelf.keep)).encode())
    assert expand({"messages": reference("payload", cid)}, shelf.manifest) == {"messages": prompt}


# --- transcripts


def listed(*cids: str) -> tuple[AssetId, ...]:
    return tuple(AssetId(cid) for cid in cids)


def test_a_first_transcript_goes_on_from_none():
    shelf = Shelf()
    transcript = extend(None, listed("a", "b"), shelf.keep)
    assert shelf.holds(transcript.cid) == {"before": None, "messages": ["a", "b"]}
    assert transcript.messages == listed("a", "b")


def test_a_transcript_holds_only_what_was_appended():
    shelf = Shelf()
    before = extend(None, listed("a", "b"), shelf.keep)
    after = extend(before, listed("a", "b", "c"), shelf.keep)
    assert shelf.holds(after.cid) == {"before": str(before.cid), "messages": ["c"]}


def test_the_same_messages_are_the_same_transcript_and_nothing_new_is_kept():
    shelf = Shelf()
    before = extend(None, listed("a", "b"), shelf.keep)
    asked = shelf.asked
    assert extend(before, listed("a", "b"), shelf.keep) is before
    assert shelf.asked == asked


@pytest.mark.parametrize("rewritten", [("x", "b", "c"), ("a",), ("b", "a"), ()])
def test_a_rewrite_of_history_starts_a_new_transcript(rewritten: tuple[str, ...]):
    shelf = Shelf()
    before = extend(None, listed("a", "b"), shelf.keep)
    after = extend(before, listed(*rewritten), shelf.keep)
    assert shelf.holds(after.cid) == {"before": None, "messages": list(rewritten)}


def test_an_empty_transcript_is_not_gone_on_from():
    shelf = Shelf()
    after = extend(extend(None, (), shelf.keep), listed("a"), shelf.keep)
    assert shelf.holds(after.cid)["before"] is None


@given(st.lists(st.lists(st.text("ab", min_size=1, max_size=2), max_size=4), max_size=5))
def test_whatever_the_history_every_transcript_expands_to_its_messages(states: list[list[str]]):
    shelf = Shelf()
    before: Transcript | None = None
    for state in states:
        cids = tuple(shelf.keep(json.dumps({"content": content}).encode()) for content in state)
        before = extend(before, cids, shelf.keep)
        expanded = expand(references.reference("messages", before.cid), shelf.manifest)
        assert expanded == [{"content": content} for content in state]


# --- messages


def test_a_message_is_worked_out_once():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    message = HumanMessage("x" * LONG)
    cid = messages.cid(message, shelf.keep)
    asked = shelf.asked
    assert messages.cid(message, shelf.keep) == cid
    assert messages.payload(message, shelf.keep) == shelf.holds(cid)
    assert shelf.asked == asked


def test_equal_messages_have_one_blob():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    assert messages.cid(HumanMessage("one"), shelf.keep) == messages.cid(HumanMessage("one"), shelf.keep)
    assert len(shelf.kept) == 1


def changed_name(message: AIMessage) -> None:
    message.name = "researcher"


def changed_content(message: AIMessage) -> None:
    message.content = "two"


def changed_call(message: AIMessage) -> None:
    message.tool_calls[0] = {"name": "t", "id": "2", "args": {}}


def changed_arguments(message: AIMessage) -> None:
    message.tool_calls[0]["args"] = {"a": 2}


def changed_argument(message: AIMessage) -> None:
    message.tool_calls[0]["args"]["a"] = 2


def changed_id(message: AIMessage) -> None:
    message.tool_calls[0]["id"] = "2"


@pytest.mark.parametrize(
    "change", [changed_name, changed_content, changed_call, changed_arguments, changed_argument, changed_id]
)
def test_a_message_changed_in_place_is_another_message(change: Any):
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    message = AIMessage("one", tool_calls=[{"name": "t", "id": "1", "args": {"a": 1}}])
    before = messages.cid(message, shelf.keep)
    change(message)
    assert messages.cid(message, shelf.keep) != before


def test_blocks_changed_in_place_are_another_message():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    message = HumanMessage([{"type": "text", "text": "one"}])
    before = messages.cid(message, shelf.keep)
    message.content[0]["text"] = "two"
    assert messages.cid(message, shelf.keep) != before


def test_another_message_at_the_same_address_is_another_message():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    cids = {messages.cid(HumanMessage(f"number {number}"), shelf.keep) for number in range(200)}
    assert len(cids) == 200


def test_the_status_of_a_result_belongs_to_it():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    message = ToolMessage("no", tool_call_id="1")
    before = messages.cid(message, shelf.keep)
    message.status = "error"
    assert messages.cid(message, shelf.keep) != before


def test_a_circular_argument_is_worked_out_each_time():
    shelf, messages = Shelf(), Messages(Discretion(Memory(None, cid_of)))
    message = AIMessage("one", tool_calls=[{"name": "t", "id": "1", "args": {"a": [1]}}])
    message.tool_calls[0]["args"]["a"] = circle = []
    circle.append(circle)
    before = messages.cid(message, shelf.keep)
    message.tool_calls[0]["args"]["b"] = 1
    assert messages.cid(message, shelf.keep) != before
