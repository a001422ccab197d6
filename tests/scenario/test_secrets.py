"""Values under a credential's name are in no blob, at any depth, and what only looks like one is kept."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import TypedDict

from support.agents import Session, agent, asked, asks, call, file_data, model, says, write
from support.canaries import canary, found, recorded


@tool
def login(user: str, api_key: str, headers: dict[str, Any], deep: Any = None) -> dict[str, Any]:
    """Log in."""
    return {"user": user, "access_token": api_key}


def run(runnable: Any, inputs: Any = None, **options: Any) -> Session:
    config = options.pop("config", {})
    session = Session(**options)
    session.invoke(runnable, inputs, **config)
    return session


@pytest.fixture(params=[False, True], ids=["terse", "verbose"])
def verbose(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_tool_arguments_at_any_depth_and_the_results_that_repeat_them(*, verbose: bool):
    keys = [canary(place) for place in ("argument", "header", "deep", "camel", "bytes")]
    asked_for = call(
        "login",
        "l",
        user="u",
        api_key=keys[0],
        headers={"Authorization": f"Bearer {keys[1]}", "X-Api-Key": keys[1]},
        deep=[{"a": [{"password": keys[2], "note": "kept"}]}, {"clientSecret": keys[3], "accessToken": [keys[4]]}],
    )
    session = run(agent(asked_for, tools=[login]), verbose=verbose)
    assert not found(recorded(session), keys)
    assert '"note": "kept"' in session.lineage().everything()


def test_metadata_configuration_and_what_a_tool_is_injected_with(*, verbose: bool):
    keys = [canary(place) for place in ("metadata", "configurable", "context", "state")]

    class Settings(BaseModel):
        api_key: str
        region: str = "north"

    @dataclass
    class Context:
        settings: Settings
        password: str

    @tool
    def use(runtime: ToolRuntime) -> str:
        """Use what it is given."""
        assert runtime.config["configurable"]["api_key"] == keys[1]
        return "used"

    session = Session(verbose=verbose)
    runnable = agent(call("use", "u"), tools=[use], context_schema=Context)
    session.invoke(
        runnable.with_config(metadata={"api_key": keys[0], "client_secret": keys[0]}),
        asked(secret_token=keys[3]),
        configurable={"api_key": keys[1]},
        metadata={"nested": {"password": keys[0]}},
    )
    assert not found(recorded(session), keys)


def test_states_with_keys_of_that_name(*, verbose: bool):
    keys = [canary(place) for place in ("state", "object", "text")]

    class Client:
        def __repr__(self) -> str:
            return f"Client(api_key='{keys[2]}', region='north')"

    class Login(BaseModel):
        password: str
        region: str

    class State(TypedDict):
        auth: Any
        client: Any
        login: Any

    graph = (
        StateGraph(State)
        .add_node("go", lambda _: {"auth": {"user": "u", "value": keys[0]}, "client": Client(), "login": None})
        .add_node("on", lambda _: Command(update={"login": Login(password=keys[1], region="south")}))
        .add_edge(START, "go")
        .add_edge("go", "on")
        .add_edge("on", END)
        .compile()
    )
    session = run(graph, {"auth": {"key": keys[0]}, "client": None, "login": None}, verbose=verbose)
    everything = session.lineage().everything()
    assert not found(recorded(session), keys)
    assert "region='north'" in everything
    assert '"region": "south"' in everything


def test_json_text_in_arguments_and_results():
    keys = [canary(place) for place in ("block", "result", "broken")]

    @tool
    def fetch(body: str) -> str:
        """Fetch."""
        return json.dumps({"data": [{"refresh_token": keys[1], "kept": 1}]})

    turn = AIMessage(
        content=[
            {"type": "function_call", "name": "fetch", "arguments": json.dumps({"api_key": keys[0], "q": "kept"})}
        ],
        tool_calls=[call("fetch", "f", body=json.dumps({"password": keys[0]}))],
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "name": "fetch", "id": "g", "args": f'{{"token": "{keys[2]}', "error": "cut"}
        ],
    )
    session = run(agent(model=model(turn, says()), tools=[fetch]))
    assert not found(recorded(session), keys)
    assert "kept" in session.lineage().everything()


def test_commands_and_addresses():
    keys = [canary(place) for place in ("header", "variable", "option", "query")]

    @tool
    def shell(command: str, url: str) -> str:
        """Run a command."""
        return "ran"

    command = f"OPENAI_API_KEY={keys[1]} curl -H 'Authorization: Bearer {keys[0]}' --token {keys[2]} --max 3"
    session = run(agent(call("shell", "s", command=command, url=f"http://x/?a=1&api_key={keys[3]}&b=2"), tools=[shell]))
    assert not found(recorded(session), keys)
    assert "--max 3" in session.lineage().everything()
    assert "b=2" in session.lineage().everything()


def test_files_whose_names_sound_like_credentials_are_files():
    files = {"/src/auth.py": file_data("import os\n"), "/token.txt": file_data("a token of thanks\n")}
    session = run(agent(write("w", "/src/key.py", "KEY = 1\n"), plan=True), asked(files=files))
    lineage = session.lineage()
    held = [*files, "/src/key.py"]
    assert all(lineage.versions(path) for path in held)
    states = [
        payload["files"]
        for cid in lineage.assets("Dataset")
        if isinstance(payload := json.loads(lineage.blobs[cid]), dict) and isinstance(payload.get("files"), dict)
    ]
    assert states
    assert all(cid.startswith("urn:cid:") for shown in states for cid in shown.values())


def test_the_count_of_tokens_is_no_token():
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 2},
    }
    session = run(agent(model=model(AIMessage(content="hello", usage_metadata=usage))))
    assert json.dumps({"cache_read": 4}) in session.lineage().everything()
    assert "[redacted]" not in session.lineage().everything()


def test_two_runs_that_differ_in_a_key_alone_are_the_same_entities():
    entities = []
    for number in range(2):
        asked_for = call("login", "l", user="u", api_key=canary(f"k{number}"), headers={})
        entities.append(run(agent(asked_for, tools=[login])).lineage().entities)
    assert entities[0] == entities[1]


def test_messages_in_other_forms():
    keys = [canary(place) for place in ("dict", "tuple")]
    history = [
        {"role": "assistant", "content": "", "tool_calls": [call("login", "l", api_key=keys[0], user="u", headers={})]},
        ToolMessage("ok", tool_call_id="l"),
        HumanMessage("go on"),
    ]
    session = run(agent(), {"messages": history, "token": keys[1]})
    assert not found(recorded(session), keys)


def test_the_journal(tmp_path: Path):
    key = canary("journal")
    path = tmp_path / "journal.jsonl"
    noted: list[bytes] = []

    @tool
    def look(api_key: str) -> str:
        """Look at the journal while it is written."""
        noted.append(path.read_bytes())
        return "looked"

    session = run(agent(call("look", "a", api_key=key), call("look", "b", api_key=key), tools=[look]), journal=path)
    session.handler.close()
    assert len(noted) == 2
    assert not found([*noted, *recorded(session)], [key])


def test_the_agent_gets_its_credentials():
    key = canary("used")
    session = run(agent(asks(call("login", "l", user="u", api_key=key, headers={})), tools=[login]))
    assert key in session.results()["l"].content
