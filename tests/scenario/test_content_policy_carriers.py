"""Where withheld bytes and credentials hide in forms of frameworks and providers, and what must not be blanked."""

import json
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.local_shell import LocalShellBackend
from langchain.tools import ToolRuntime
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from support.agents import (
    Session,
    agent,
    asked,
    asks,
    call,
    execute,
    file_data,
    model,
    read,
    reasons,
    says,
    subagent,
    task,
    write,
)
from support.canaries import canary, exported, found, recorded, short, withheld
from support.sdk import cid_of

ENV = "/.env"


def run(runnable: Any, inputs: Any = None, **options: Any) -> Session:
    session = Session(**options)
    session.invoke(runnable, inputs)
    return session


def graph(step: Any, **keys: Any) -> Any:
    """A graph of one step on a state with these keys."""
    state = TypedDict("State", dict.fromkeys(keys, Any))  # type: ignore[misc] # made as it is needed
    return StateGraph(state).add_node("step", step).add_edge(START, "step").add_edge("step", END).compile()


# --- carriers


def test_a_path_object_whose_file_is_withheld_is_in_the_graph(tmp_path: Path):
    secret = tmp_path / ".env"
    secret.write_text(canary("path"))
    for identity in ("content", "hidden"):
        session = run(graph(lambda _: {"at": secret}, at=None), {"at": None}, identity=identity)
        (cid,) = session.lineage().assets("Dataset", name=".env")
        assert session.lineage().described(cid)["withheld"] is True
        assert (cid == cid_of(secret.read_bytes())) is (identity == "content")
        assert (cid_of(secret.read_bytes()) in json.dumps(exported(session.context))) is (identity == "content")


def test_what_is_sent_to_a_node_is_opened():
    text, key = short(), canary("key")

    def send(_: Any) -> Any:
        return Command(goto=[Send("end", {"file_path": ENV, "content": text, "api_key": key})])

    class State(TypedDict):
        done: Any

    built = StateGraph(State).add_node("send", send).add_node("end", lambda _: {"done": 1}).add_edge(START, "send")
    assert not found(recorded(run(built.compile(), {"done": None})), [text, key])


def test_tuples_with_names_and_texts_of_a_class_of_their_own():
    key, text = canary("tuple"), canary("text")

    class Login(NamedTuple):
        user: str
        password: str

    class Text(str):
        __slots__ = ()

    pair = namedtuple("pair", ["token", "kept"])  # noqa: PYI024 - both ways of making one
    values = [Login("u", key), pair(key, "kept"), *(Text(f'{{"password": "{text}"}}') for _ in range(40))]
    session = run(graph(lambda _: {"it": values}, it=None), {"it": None})
    assert not found(recorded(session), [key, text])
    assert '"kept"' in session.lineage().everything()


def test_messages_in_the_forms_of_providers():
    text, tiny, more, key = canary("openai"), short(), short(), canary("function")
    asked_for = {"file_path": ENV, "content": f"{text}\n{tiny}"}
    history = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "r",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": json.dumps({"file_path": ENV})},
                },
                {"id": "w", "type": "function", "function": {"name": "write_file", "arguments": json.dumps(asked_for)}},
                {
                    "id": "l",
                    "type": "function",
                    "function": {"name": "login", "arguments": json.dumps({"api_key": key})},
                },
            ],
        },
        {"role": "tool", "content": more, "tool_call_id": "r"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "r", "content": tiny}]},
    ]
    session = run(graph(lambda state: {"talk": state["talk"]}, talk=None), {"talk": history})
    assert not found(recorded(session), [text, tiny, more, key])


def test_a_withheld_call_that_raises():
    text, tiny = canary("raised"), short()

    @tool
    def slurp(path: str) -> str:
        """Return a file."""
        raise ValueError(f"{text} {tiny}")

    session = Session()
    with pytest.raises(ValueError, match="CANARY"):
        session.invoke(agent(call("slurp", "s", path=ENV), tools=[slurp]))
    assert not found(recorded(session), [text, tiny])


def test_what_a_withheld_call_puts_into_the_state_beside_its_message():
    text, tiny = canary("scratch"), short()

    @tool
    def slurp(path: str, runtime: ToolRuntime) -> Command[Any]:
        """Return a file."""
        message = ToolMessage("read it", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [message], "scratch": f"{text}\n{tiny}"})

    session = run(agent(call("slurp", "s", path=ENV), tools=[slurp]), asked())
    assert not found(recorded(session), [text, tiny])


def test_retrieved_documents_and_what_is_quoted_of_them():
    text = canary("document")
    documents = [Document(page_content=f"{text}\n", metadata={"file_path": "/app/.env"})]
    session = run(
        graph(lambda _: {"found": documents, "quote": f"see {text}"}, found=None, quote=None), {"found": None}
    )
    assert not found(recorded(session), [text])


@pytest.mark.parametrize("name", ["shell", "bash"])
def test_a_shell_of_another_name(name: str):
    text, tiny = canary("shell"), short()

    @tool(name)
    def shell(command: str) -> str:
        """Run a command."""
        return f"{text}\n{tiny}\n"

    session = run(agent(call(name, "s", command="cat /app/.env"), says(text), tools=[shell]))
    assert not found(recorded(session), [text, tiny])


def test_a_patch_for_a_withheld_file():
    tiny = short()

    @tool
    def apply_patch(patch: str) -> str:
        """Apply a patch."""
        return "patched"

    patch = f"*** Begin Patch\n*** Update File: /app/.env\n+{tiny}\n*** End Patch"
    assert not found(recorded(run(agent(call("apply_patch", "p", patch=patch), tools=[apply_patch]))), [tiny])


def test_what_a_person_is_asked_to_approve():
    text, key = short(), canary("approve")

    @tool
    def login(api_key: str) -> str:
        """Log in."""
        return "in"

    turns = (asks(write("w", ENV, text)), asks(call("login", "l", api_key=key)), says())
    runnable = agent(
        model=model(*turns),
        tools=[login],
        interrupt_on={"write_file": True, "login": True},
        checkpointer=InMemorySaver(),
    )
    session = Session()
    session.invoke(runnable, asked(), thread="t")
    for _ in range(2):
        session.invoke(runnable, Command(resume={"decisions": [{"type": "approve"}]}), thread="t")
    assert session.results()["l"].content == "in"
    assert not found(recorded(session), [text, key])


def test_names_and_values_side_by_side_and_texts_of_objects():
    keys = [canary(place) for place in ("variable", "literal", "object")]

    @tool
    def show() -> str:
        """Show settings."""
        return f"{{'region': 'north', 'api_key': '{keys[1]}'}} Client(password='{keys[2]}')"

    environment = [{"name": "API_KEY", "value": keys[0]}, {"name": "REGION", "value": "north"}]
    session = run(agent(call("show", "s"), tools=[show]), asked(env=environment))
    state = run(graph(lambda _: {"env": environment}, env=None), {"env": None})
    assert not found([*recorded(session), *recorded(state)], keys)
    assert '"value": "north"' in state.lineage().everything()


def test_a_memory_file_too_short_for_a_line(tmp_path: Path):
    tiny = short()
    (tmp_path / "credentials.md").write_text(f"{tiny}\n")
    session = run(agent(backend=FilesystemBackend(tmp_path, virtual_mode=True), memory=["/credentials.md"]))
    assert not found(recorded(session), [tiny])


def test_a_quote_that_comes_before_the_file_in_one_payload():
    text = canary("order")
    session = run(
        graph(lambda _: {"a": f"use {text}", "files": {ENV: file_data(text)}}, a=None, files=None), {"a": None}
    )
    assert not found(recorded(session), [text])


# --- what must stay


def test_paths_and_cids_are_never_blanked():
    where = "/memories/long/.env"
    listed = "/workspace/report-of-the-year.md"
    session = run(
        agent(
            write("w", where, f"{canary('a')}\n{listed}\n"),
            write("o", listed, "a report\n"),
            read("r", where),
            read("q", listed),
            says("done"),
        )
    )
    lineage = session.lineage()
    assert lineage.versions(listed) == {cid_of("a report\n")}
    assert withheld(session, where)
    assert lineage.tool("q").files("read") == {listed: cid_of("a report\n")}


def test_a_state_shows_the_cids_of_its_withheld_files():
    text = canary("state")
    session = run(agent(write("w", ENV, text), read("r", ENV)))
    shown = [
        payload["files"][ENV]
        for blob in session.lineage().blobs.values()
        if blob.startswith(b"{")
        and isinstance(payload := json.loads(blob), dict)
        and isinstance(payload.get("files"), dict)
        and ENV in payload["files"]
    ]
    assert set(shown) == {f"urn:cid:{cid_of(text)}"}


def test_what_frames_a_withheld_result_is_not_its_content(tmp_path: Path):
    (tmp_path / ".env").write_text(canary("framed"))
    (tmp_path / "a.txt").write_text("another file\n")
    backend = LocalShellBackend(tmp_path, virtual_mode=True, inherit_env=True)
    turns = (read("r", ENV), read("q", "/a.txt"), execute("c", f"cat {tmp_path}/.env"), execute("d", "echo hello"))
    session = run(agent(*turns, backend=backend))
    shown = {
        message["tool_call_id"]: message["content"]
        for blob in session.lineage().blobs.values()
        if blob.startswith(b'{"role": "tool"') and isinstance(message := json.loads(blob), dict)
    }
    answers = session.results()
    assert shown["q"] == answers["q"].content
    assert shown["d"] == answers["d"].content


def test_a_call_id_that_is_used_again_is_another_call():
    notes = "A perfectly harmless text of notes\n"
    helper = subagent("helper", read("call_0", "/notes.md"), says("done"))
    session = run(
        agent(read("call_0", ENV), task("t", "helper"), subagents=[helper]),
        asked(files={"/notes.md": file_data(notes), ENV: file_data(canary("reused"))}),
    )
    marks = [
        message["content"]["eqty:withheld"]
        for blob in session.lineage().blobs.values()
        if b"eqty:withheld" in blob and isinstance(message := json.loads(blob), dict) and message.get("role") == "tool"
    ]
    assert set(marks) == {ENV}
    assert session.lineage().text(cid_of(notes)) == notes


def test_an_equal_file_recorded_in_the_open_before():
    session = run(
        agent(write("1", "/config.txt", "X=1\n"), write("2", ENV, "X=1\n"), read("3", "/config.txt")), identity="hidden"
    )
    assert session.lineage().tool("3").files("read") == {"/config.txt": cid_of("X=1\n")}


def test_an_asset_with_the_bytes_of_a_withheld_file_is_marked_too():
    text = canary("prompt")
    for identity in ("content", "hidden"):
        session = run(agent(write("w", ENV, text), says("done"), system_prompt=text), identity=identity)
        assert session.lineage()


def test_schemas_and_other_odd_values_cost_no_callback():
    schema = {"type": ["string", "null"], "role": {"a": 1}, "tool_calls": 3, "name": None, "value": {"name": 1}}

    @tool
    def shape(schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema."""
        return schema

    session = run(agent(call("shape", "s", schema=schema), tools=[shape]))
    assert reasons(session.handler) == set()
    assert session.lineage().tool("s")


def test_usage_and_relative_paths_are_kept():
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_token_details": {"cache_read": 4}}
    paths = {"src/auth.py": "first", "token.json": "second", "key_findings": "third", "primary_key": "fourth"}
    session = run(agent(model=model(AIMessage("hi", usage_metadata=usage))), asked())
    state = run(graph(lambda _: {"kept": paths}, kept=None), {"kept": None})
    everything = session.lineage().everything() + state.lineage().everything()
    assert all(value in everything for value in paths.values())
    assert "[redacted]" not in everything


def test_deeply_nested_json_text_costs_no_callback():
    session = run(agent(), {"messages": [HumanMessage('{"key": ' + "[" * 3_000 + "]" * 3_000 + "}")]})
    assert reasons(session.handler) == set()


def test_an_interrupt_keeps_what_it_asks():
    def ask(_: Any) -> Any:
        return {"answer": interrupt({"question": "which token?", "action_requests": "odd"})}

    class State(TypedDict):
        answer: Any

    built = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    session = Session()
    session.invoke(built, {"answer": None}, thread="t")
    session.invoke(built, Command(resume="mine"), thread="t")
    assert reasons(session.handler) == set()
