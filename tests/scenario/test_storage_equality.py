"""The same record, however it is stored: in the background, inline, or by the base handler alone."""

import contextlib
import json
from collections import Counter
from typing import Any

import pytest
from eqty_lineage.langchain import EqtyCallbackHandler
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from eqty_lineage.deepagents.recording import sdk
from support.agents import agent, asked, asks, call, says, subagent, task, todos
from support.recording import Export, Recording, edit, own_second, record, write
from support.sdk import new_context

LONG_TEXT = "a line of a long text\n" * 100
VARYING = ("run_id", "parent_run_id", "root_run_id", "sequence", "lane", "started_at", "ended_at")
"""What of a computation's metadata differs from run to run: ids and times."""


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
def explode() -> str:
    """Fail."""
    message = "no"
    raise ValueError(message)


def everything() -> Any:
    return agent(
        asks(call("echo", "x", text="x " * 600), text="Let me see."),
        write("w", "/a.md", LONG_TEXT),
        edit("e", "/a.md", "long", "longer"),
        call("read_file", "r", file_path="/a.md"),
        call("write_todos", "t", todos=todos("one", "two")),
        edit("bad", "/missing.md", "q", "y"),
        task("d", "helper"),
        says("All done."),
        plan=True,
        tools=[echo],
        subagents=[subagent("helper", write("w2", "/b.md", "of a helper\n"), says("Helped."))],
    )


def computations(export: Export) -> list[Any]:
    return [
        (
            {key: value for key, value in step.fields.items() if key not in VARYING},
            step.inputs,
            step.outputs,
        )
        for step in export.steps
    ]


def assets(export: Export) -> set[Any]:
    return {one for one in export.assets() if one[2] != "run seal"}


@pytest.fixture(scope="module")
def background() -> Export:
    return record(everything(), recording="background")[1]


@pytest.fixture(scope="module")
def inline() -> Export:
    return record(everything(), recording="inline")[1]


def test_background_and_inline_record_the_same(background: Export, inline: Export):
    assert assets(background) == assets(inline)
    assert computations(background) == computations(inline)
    assert background.dangling() == inline.dangling() == []


def test_background_and_inline_register_the_same_contents(background: Export, inline: Export):
    def contents(export: Export) -> set[str]:
        # the seal lists ids, and what describes the computations holds times
        described = {
            one["metadata"].removeprefix("urn:cid:") for one in export.of_kind("MetadataRegistration").values()
        }
        return set(export.blobs) - set(export.called("run seal")) - described

    assert contents(background) == contents(inline)


def test_several_turns_record_the_same():
    def turns(recording: str) -> Export:
        one = Recording(recording=recording)
        saver = InMemorySaver()
        for turn in range(3):
            runnable = agent(
                write(f"w{turn}", "/a.md", f"{turn}\n"), edit(f"e{turn}", "/a.md", f"{turn}", "x"), checkpointer=saver
            )
            one.run(runnable, asked(f"turn {turn}"), thread="t")
        return one.export("t")

    background, inline = turns("background"), turns("inline")
    assert assets(background) == assets(inline)
    assert computations(background) == computations(inline)


# --- against the base handler


def run_base(runnable: Any) -> tuple[Export, list[tuple[str, str]]]:
    """Record with the base handler alone; also return its computations in order, which its manifest does not tell."""
    made: list[tuple[str, str]] = []

    class Base(EqtyCallbackHandler):
        def _finalize(self, name: str, kind: str, input_cids: Any, output_cids: Any) -> None:
            made.append((name, kind))
            super()._finalize(name, kind, input_cids, output_cids)

    handler = Base()
    handler._root_context = handler._context = new_context("base")
    with own_second(), pytest.MonkeyPatch.context() as patched:
        patched.setenv("EQTY_SKIP_PROOF", "true")
        with contextlib.suppress(ValueError):
            runnable.invoke(asked(), {"callbacks": [handler], "recursion_limit": 120})
    return Export.of(handler._context), made


@pytest.fixture(scope="module")
def ours() -> Export:
    return record(everything(), inline_messages=True)[1]


@pytest.fixture(scope="module")
def base() -> tuple[Export, list[tuple[str, str]]]:
    return run_base(everything())


@pytest.fixture(scope="module")
def theirs(base: tuple[Export, list[tuple[str, str]]]) -> Export:
    return base[0]


def test_the_computations_are_the_base_handlers_in_its_order(ours: Export, base: tuple[Export, list[tuple[str, str]]]):
    theirs, made = base
    assert Counter(theirs.named()) == Counter(made)
    assert ours.named() == made


def test_every_asset_of_the_base_handler_is_ours_too(ours: Export, theirs: Export):
    """But for what the handler is there to record otherwise.

    - States are occurrences: they say which state of the run they are.
    - Where files and plans stand in a state or in the update a tool returns, ours have the CIDs of their assets.
    - The message of a failed tool has its status.
    """
    missing = {one[:3] for one in theirs.assets()} - {one[:3] for one in ours.assets()}
    kinds = Counter((type_, name) for _, type_, name in missing)
    states = {one for one in kinds if one[1].endswith(("input state", "output state"))}
    refused = failed_messages(theirs, missing)
    assert ("Dataset", "edit_file: output") in refused
    assert kinds.keys() - states == {("Dataset", "write_todos: output"), ("Dataset", "task: output"), *refused}


def failed_messages(export: Export, missing: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
    """The assets in which the message of the refused edit stands: what the base wrote of it has no status."""
    return {
        (type_, name)
        for cid, type_, name in missing
        if not name.endswith("state") and "'/missing.md' not found" in export.blobs[cid].decode()
    }


def test_the_payloads_that_differ_differ_in_nothing_else(ours: Export, theirs: Export):
    """The exceptions above, taken at their word: undo them, and the payloads are equal."""

    def undone(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"state", "occurrence"}:
                return undone(value["state"])
            return {
                key: None if key in ("files", "todos") else undone(item)
                for key, item in value.items()
                if key != "occurrence" and not (key == "status" and item == "error" and value.get("role") == "tool")
            }
        return [undone(item) for item in value] if isinstance(value, list) else value

    def payloads(export: Export) -> set[tuple[str, str, str]]:
        return {
            (type_, name, json.dumps(undone(json_of(export.blobs[cid])))) for cid, type_, name, _ in export.assets()
        }

    assert payloads(theirs) - payloads(ours) == set()


def json_of(blob: bytes) -> Any:
    try:
        return json.loads(blob)
    except ValueError:
        return blob.decode()


def test_a_tool_that_raises_is_the_same_computation():
    recording = Recording(inline_messages=True)
    with pytest.raises(ValueError):
        recording.run(agent(call("explode", "x"), tools=[explode]))
    ours = recording.export()
    theirs, made = run_base(agent(call("explode", "x"), tools=[explode]))
    assert ours.named() == made
    assert ("explode", "tool_error") in made
    errors = {one[:3] for one in theirs.assets() if one[2].endswith(": error")}
    assert {name for _, _, name in errors} == {"explode: error", "tools: error", "researcher: error"}
    assert errors <= {one[:3] for one in ours.assets()}


# --- nothing twice


class Registered:
    """What is stated, by context."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.described: Counter[tuple[str, str, str]] = Counter()
        self.named: Counter[tuple[str, str]] = Counter()
        describe, name = sdk.add_metadata_statement, sdk.add_data_statement

        def add_metadata(subject: Any, metadata: str, *, context: Any, **more: Any) -> Any:
            self.described[str(context.id), str(subject), metadata] += 1
            return describe(subject, metadata, context=context, **more)

        def add_data(cids: Any, *, context: Any, **more: Any) -> Any:
            self.named.update((str(context.id), str(cid)) for cid in cids)
            return name(cids, context=context, **more)

        monkeypatch.setattr(sdk, "add_metadata_statement", add_metadata)
        monkeypatch.setattr(sdk, "add_data_statement", add_data)

    def twice(self) -> list[Any]:
        return [what for what, times in self.described.items() if times > 1]


def skilled(turn: int, saver: Any = None) -> Any:
    """The same tools, model, prompts and subagents each turn, and the same file again."""
    return agent(
        write(f"w{turn}", "/a.md", LONG_TEXT),
        call("write_todos", f"t{turn}", todos=todos("one")),
        call("echo", f"x{turn}", text="again"),
        task(f"d{turn}", "helper"),
        plan=True,
        tools=[echo],
        subagents=[subagent("helper", write("w2", "/b.md", LONG_TEXT))],
        checkpointer=saver,
    )


@pytest.mark.parametrize("thread", [None, "t"])
def test_no_asset_is_described_twice_in_one_context_over_three_turns(
    monkeypatch: pytest.MonkeyPatch, thread: str | None
):
    registered = Registered(monkeypatch)
    recording = Recording()
    saver = None if thread is None else InMemorySaver()
    for turn in range(3):
        recording.run(skilled(turn, saver), asked(f"turn {turn}"), thread=thread)
    assert len(registered.described) > 100
    assert registered.twice() == []
    assert recording.export(thread).dangling() == []


def test_the_same_turn_three_times_describes_what_lasts_once(monkeypatch: pytest.MonkeyPatch):
    registered = Registered(monkeypatch)
    recording = Recording()
    for _ in range(3):
        recording.run(skilled(0))
    lasting = [
        what
        for what, times in registered.described.items()
        if times > 1 and json.loads(what[2]).get("assetType") in ("Agent", "Model", "System_Prompt", "Tool", "Skill")
    ]
    assert len(registered.described) > 100
    assert lasting == []


def test_two_contexts_each_have_their_own(monkeypatch: pytest.MonkeyPatch):
    registered = Registered(monkeypatch)
    recording = Recording()
    for thread in ("one", "two"):
        recording.run(agent(call("echo", "x", text="hi"), tools=[echo]), thread=thread)
    tools = Counter(what[0] for what in registered.described if json.loads(what[2]).get("assetType") == "Tool")
    assert list(tools.values()) == [1, 1]
    for thread in ("one", "two"):
        assert recording.export(thread).dangling() == []


def test_what_was_lost_is_registered_when_it_comes_again(monkeypatch: pytest.MonkeyPatch):
    recording = Recording()
    real = sdk.add_metadata_statement

    def refuse_tools(subject: Any, metadata: str, **more: Any) -> Any:
        if json.loads(metadata).get("assetType") == "Tool":
            message = "refused"
            raise RuntimeError(message)
        return real(subject, metadata, **more)

    with monkeypatch.context() as patched:
        patched.setattr(sdk, "add_metadata_statement", refuse_tools)
        recording.run(agent(call("echo", "x", text="hi"), tools=[echo]))
    assert not [one for one in recording.export().assets() if one[1] == "Tool"]
    recording.run(agent(call("echo", "y", text="hi"), tools=[echo]))
    export = recording.export()
    assert [one[2] for one in export.assets() if one[1] == "Tool"] == ["echo"]
    assert export.dangling() == []


def test_two_equal_answers_within_a_second_are_two_computations():
    helper = subagent("helper", says("Done."))
    _, export = record(agent(task("d", "helper"), says("Done."), subagents=[helper]))
    answers = [step for step in export.steps if step.named[1] == "chat_model"]
    assert len(answers) == 3
    assert export.dangling() == []
