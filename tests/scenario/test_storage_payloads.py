"""What a payload refers to: stored once, never missing, and the same as if nothing had been kept apart."""

import json
from collections import Counter
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from eqty_lineage.deepagents.references import KEY, LONG, expand
from support.agents import agent, asked, asks, call, says, subagent, task, todos
from support.recording import Export, Recording, edit, record, write
from support.sdk import cid_of

LONG_TEXT = "".join(f"line {number} of a long text\n" for number in range(150))
QUESTION = "Tell me all of this: " + "why? " * 400
OWN = [{KEY: "value", "cid": "urn:cid:not-ours"}, {KEY: "messages", "cid": "x"}, {KEY: "escaped", "value": 1}]


@tool
def look_up(query: dict, more: list) -> str:
    """Look something up."""
    return "found: " + "x" * 3_000


def everything() -> Any:
    return agent(
        asks(call("look_up", "l", query={KEY: "value", "cid": "y", "deep": OWN}, more=OWN), text="Let me see."),
        write("w", "/a.md", LONG_TEXT),
        edit("e", "/a.md", "long", "longer"),
        call("read_file", "r", file_path="/a.md"),
        call("write_todos", "t", todos=todos("one", "two " * 400)),
        edit("bad", "/missing.md", "q" * LONG, "y"),
        task("d", "helper", "Help. " * 300),
        says("All done. " * 200),
        plan=True,
        tools=[look_up],
        subagents=[subagent("helper", write("w2", "/b.md", LONG_TEXT + "too\n"), says("Helped. " * 200))],
    )


@pytest.fixture(scope="module")
def kept_apart() -> Export:
    return record(everything(), asked(QUESTION))[1]


@pytest.fixture(scope="module")
def inline() -> Export:
    return record(everything(), asked(QUESTION), inline_messages=True)[1]


def stored(export: Export, cid: str) -> Any:
    """A payload as it is stored: text where it is no JSON."""
    try:
        return export.payload(cid)
    except ValueError:
        return export.blobs[cid].decode()


def expanded(export: Export, cid: str) -> Any:
    return expand(stored(export, cid), export.manifest)


def told(payload: Any) -> str:
    """A payload without what says which state it is."""
    shown = (
        {key: value for key, value in payload.items() if key != "occurrence"} if isinstance(payload, dict) else payload
    )
    return json.dumps(shown)


def payloads(export: Export, read: Any) -> Counter[tuple[str, str, str]]:
    """The (type, name, payload) of every asset but the seal, which lists this run's ids."""
    return Counter(
        (type_, name, told(read(export, cid))) for cid, type_, name, _ in export.assets() if name != "run seal"
    )


def test_everything_expands_to_what_the_same_run_records_with_full_payloads(kept_apart: Export, inline: Export):
    apart, whole = payloads(kept_apart, expanded), payloads(inline, expanded)
    assert {key[:2] for key in apart} == {key[:2] for key in whole}
    assert apart - whole == Counter()
    assert whole - apart == Counter()


def test_the_computations_use_the_same_things_either_way(kept_apart: Export, inline: Export):
    def shape(export: Export, read: Any) -> list[Any]:
        return [
            (step.named, *([told(read(export, cid)) for cid in cids] for cids in (step.inputs, step.outputs)))
            for step in export.steps
        ]

    assert shape(kept_apart, expanded) == shape(inline, expanded)


def test_full_payloads_hold_no_references(inline: Export):
    # the user's own values that look like some are escaped
    assert inline.references() == set()


def test_full_payloads_expand_to_themselves(inline: Export):
    """A reader need not know how a manifest was recorded."""
    (cid,) = inline.called("look_up: input")
    assert expanded(inline, cid) == {"query": {KEY: "value", "cid": "y", "deep": OWN}, "more": OWN}


@pytest.mark.parametrize(
    "name", ["model: input state", "prompt", "LangChain request", "response body", "look_up: input"]
)
def test_the_long_values_are_kept_apart_in_every_kind_of_asset(kept_apart: Export, name: str):
    """What is referred to is; else the comparison above would compare nothing."""
    found = [cid for cid, _, called, _ in kept_apart.assets() if called.endswith(name)]
    assert found
    assert any(KEY in kept_apart.blobs[cid].decode() for cid in found)


def test_no_payload_but_a_single_text_holds_a_long_value(kept_apart: Export):
    def longest(value: Any) -> int:
        if isinstance(value, str):
            return len(value.encode())
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return max(map(longest, parts), default=0)

    kinds = ("state", "prompt", "request", "response body", "response", "input", "output")
    for cid, type_, name, _ in kept_apart.assets():
        if type_ in ("Dataset", "Prompt", "Document", "Reasoning") and name.endswith(kinds):
            payload = kept_apart.payload(cid)
            assert isinstance(payload, str) or longest(payload) < LONG, name


def test_nothing_referred_to_is_missing_and_nothing_dangles(kept_apart: Export):
    assert kept_apart.references()
    assert kept_apart.dangling() == []


def test_nothing_referred_to_is_missing_from_a_threads_context():
    recording = Recording()
    saver = InMemorySaver()
    for turn in ("one", "two"):
        runnable = agent(write(turn, f"/{turn}.md", LONG_TEXT + turn), checkpointer=saver)
        recording.run(runnable, asked(QUESTION + turn), thread="t")
        export = recording.export("t")
        assert export.references()
        assert export.dangling() == []
    assert not recording.export().references()


def test_nothing_referred_to_is_missing_where_two_threads_talk_about_the_same():
    recording = Recording()
    for thread in ("one", "two"):
        recording.run(agent(write("w", "/a.md", LONG_TEXT)), asked(QUESTION), thread=thread)
    for thread in ("one", "two"):
        export = recording.export(thread)
        assert export.references()
        assert export.dangling() == []
        assert json.dumps(QUESTION).encode() in export.blobs.values()


def test_nothing_referred_to_is_missing_for_one_handler_in_two_contexts():
    recording = Recording()
    recording.run(agent(write("w", "/a.md", LONG_TEXT)), asked(QUESTION))
    first = recording.context
    second = Recording(recording.handler)
    second.run(agent(write("w", "/a.md", LONG_TEXT)), asked(QUESTION))
    for context in (first, second.context):
        assert Export.of(context).dangling() == []


def test_a_users_objects_that_look_like_references_come_back(kept_apart: Export):
    (cid,) = kept_apart.called("look_up: input")
    assert expanded(kept_apart, cid) == {"query": {KEY: "value", "cid": "y", "deep": OWN}, "more": OWN}


def test_each_message_is_stored_once(kept_apart: Export):
    messages = [
        payload
        for blob in kept_apart.blobs.values()
        if isinstance(payload := as_json(blob), dict) and payload.keys() >= {"role", "content"}
    ]
    times = Counter(json.dumps(expand(message, kept_apart.manifest), sort_keys=True) for message in messages)
    assert {message["role"] for message in messages} == {"human", "ai", "tool"}
    assert len(times) > 10
    assert set(times.values()) == {1}


def as_json(blob: bytes) -> Any:
    try:
        return json.loads(blob)
    except ValueError:
        return None


def test_a_long_value_is_stored_once_however_often_it_is_shown(kept_apart: Export):
    holding = [
        blob
        for blob in kept_apart.blobs.values()
        if LONG_TEXT.encode() in blob or json.dumps(LONG_TEXT).encode()[1:-1] in blob
    ]
    assert sorted(holding) == sorted(
        [
            LONG_TEXT.encode(),  # the file
            json.dumps(LONG_TEXT).encode(),  # the argument
            (LONG_TEXT + "too\n").encode(),
            json.dumps(LONG_TEXT + "too\n").encode(),
        ]
    )


def state_sizes(turns: int) -> list[int]:
    calls = [write(f"w{turn}", "/a.md", f"{turn} " * 700) for turn in range(turns)]
    _, export = record(agent(*calls))
    return [len(export.blobs[cid]) for cid, _, name, _ in export.assets() if name == "model: input state"]


def test_a_state_is_no_larger_for_a_longer_talk():
    sizes = state_sizes(6)
    assert len(sizes) == 7
    # two more digits of a step and the CID of a file that the first state does not have yet
    assert max(sizes) - min(sizes) < 120


def test_the_transcripts_of_a_talk_hold_each_message_once():
    _, export = record(agent(*(write(f"w{turn}", "/a.md", f"{turn}") for turn in range(5))))
    transcripts = [one for blob in export.blobs.values() if isinstance(one := as_json(blob), dict) and "before" in one]
    chain = [one for one in transcripts if one.keys() == {"before", "messages"}]
    appended = Counter(message for one in chain if one["before"] is not None for message in one["messages"])
    starts = [one for one in chain if one["before"] is None]
    assert set(appended.values()) == {1}
    assert len(appended) == 11
    # those of whole states start with the question; those of updates list what a node added
    assert all(len(one["messages"]) == 1 for one in starts)


class Forgetful(AgentMiddleware):
    """Drops the first messages of the talk, as a summary does."""

    def before_model(self, state: Any, runtime: Any) -> Any:
        messages = state["messages"]
        if len(messages) < 5:
            return None
        return {"messages": [RemoveMessage(id="__remove_all__"), HumanMessage("In short."), *messages[-2:]]}


def test_a_rewrite_of_history_starts_a_new_transcript():
    _, export = record(agent(write("w1", "/a.md", "1"), write("w2", "/a.md", "2"), middleware=[Forgetful()]))
    shown = [
        expanded(export, step.inputs[0])["messages"] for step in export.steps if step.named == ("model", "graph_node")
    ]
    assert shown[-1][0]["content"] == "In short."
    states = [
        export.payload(export.payload(step.inputs[0])["messages"]["cid"].removeprefix("urn:cid:"))
        for step in export.steps
        if step.named == ("model", "graph_node")
    ]
    assert [state["before"] is None for state in states] == [True, False, True]
    assert export.dangling() == []


class Renaming(AgentMiddleware):
    """Changes the arguments of a call in place, as a person who approves it might."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        for one in state["messages"][-1].tool_calls:
            one["args"]["content"] = "changed\n"


def test_a_message_changed_in_place_shows_as_it_is():
    _, export = record(agent(write("w", "/a.md", "as asked\n"), middleware=[Renaming()]))
    shown = [
        expanded(export, step.inputs[0])["messages"][1]["tool_calls"][0]["args"]["content"]
        for step in export.steps
        if step.named == ("model", "graph_node") and len(expanded(export, step.inputs[0])["messages"]) > 1
    ]
    assert shown == ["changed\n"]


def refused() -> Any:
    taken = write("w1", "/a.md", "taken\n")
    return agent(taken, write("w2", "/../outside.md", LONG_TEXT))


def test_a_refused_write_leaves_no_data_statement_for_the_file_it_would_have_been():
    recording, export = record(refused())
    assert recording.answers[0]["messages"][-2].status == "error"
    assert cid_of(LONG_TEXT) not in export.registered
    assert cid_of(LONG_TEXT) not in export.blobs
    assert cid_of(json.dumps(LONG_TEXT)) in export.registered
    assert expanded(export, export.tool("w2").inputs[1])["content"] == LONG_TEXT


def test_a_write_the_disk_refuses_leaves_none_either(tmp_path: Any):
    (tmp_path / "taken").mkdir()
    runnable = agent(write("w", "/taken", LONG_TEXT), backend=FilesystemBackend(root_dir=tmp_path, virtual_mode=True))
    recording, export = record(runnable)
    assert recording.answers[0]["messages"][-2].content != "Updated file /taken"
    assert cid_of(LONG_TEXT) not in export.registered


def test_the_prompt_stays_readable_as_it_is():
    _, export = record(agent(write("w", "/a.md", LONG_TEXT)), asked("A question."))
    prompts = [export.payload(cid) for cid, type_, _, _ in export.assets() if type_ == "Prompt"]
    (last,) = max(prompts, key=lambda prompt: len(prompt[0]))
    assert [message["role"] for message in last] == ["system", "human", "ai", "tool"]
    assert last[1]["content"] == "A question."
    assert last[2]["tool_calls"][0]["args"] == {
        "file_path": "/a.md",
        "content": {KEY: "value", "cid": f"urn:cid:{cid_of(json.dumps(LONG_TEXT))}"},
    }
