"""Files whose bytes a content policy withholds: they stay in the graph, and their bytes are in no blob."""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.local_shell import LocalShellBackend
from deepagents.backends.state import StateBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.tools import ToolRuntime
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from eqty_lineage.deepagents import ConfigurationError, EqtyDeepAgentsHandler
from eqty_lineage.deepagents.recording import journal
from support.agents import (
    Session,
    agent,
    asked,
    call,
    delete,
    edit,
    execute,
    file_data,
    model,
    read,
    reasons,
    says,
    script,
    subagent,
    task,
    todos,
    write,
)
from support.canaries import canary, found, recorded, short, withheld
from support.sdk import cid_of

ENV = "/.env"


def run(runnable: Any, inputs: Any = None, **options: Any) -> Session:
    session = Session(**options)
    session.invoke(runnable, inputs)
    return session


@pytest.fixture(params=["content", "hidden"])
def identity(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG, logger="eqty.deepagents")
    return caplog


# --- what is recorded of such a file


def test_a_withheld_version_has_its_true_cid_and_no_bytes():
    text = canary("written") + "\n"
    session = run(agent(write("w", ENV, text), read("r", ENV)))
    lineage = session.lineage()
    assert lineage.versions(ENV) == {cid_of(text)}
    assert withheld(session, ENV) == [cid_of(text)]
    assert cid_of(text) not in lineage.blobs
    assert lineage.tool("w").files("wrote") == lineage.tool("r").files("read") == {ENV: cid_of(text)}


def test_a_hidden_identity_is_none_that_a_guess_can_confirm():
    text, other = short() + "\n", short() + "\n"
    session = run(
        agent(write("w", ENV, text), edit("e", ENV, text.strip(), other.strip()), read("r", ENV)), identity="hidden"
    )
    lineage = session.lineage()
    everything = json.dumps(lineage.manifest)
    for guess in (text, other, text.strip(), other.strip()):
        assert cid_of(guess) not in everything
    assert lineage.history(ENV) == ["1 write_file", "2 edit_file <- 1"]
    (first,), (second,) = lineage.tool("w").files("wrote").values(), lineage.tool("e").files("wrote").values()
    assert first != second
    assert lineage.tool("e").files("replaced") == {ENV: first}
    assert lineage.tool("r").files("read") == {ENV: second}


def test_hidden_contents_are_told_apart_and_a_restore_is_the_old_one():
    one, two = canary("one"), canary("two")
    session = run(agent(write("1", ENV, one), write("2", ENV, two), write("3", ENV, one)), identity="hidden")
    lineage = session.lineage()
    cids = [lineage.tool(call_id).files("wrote")[ENV] for call_id in "123"]
    assert cids[0] == cids[2] != cids[1]
    assert not found(recorded(session), [one, two])


def test_the_hidden_contents_of_two_conversations_are_not_one_entity():
    one, two = canary("one"), canary("two")
    first = run(agent(write("1", ENV, one)), identity="hidden")
    second = run(agent(write("1", ENV, two)), identity="hidden")
    assert first.lineage().versions(ENV).isdisjoint(second.lineage().versions(ENV))


def test_an_empty_file_has_nothing_to_withhold():
    session = run(agent(write("w", ENV, ""), write("x", "/empty.txt", "")))
    assert withheld(session, "/empty.txt") == []


def test_without_a_policy_nothing_is_withheld():
    text = canary("open")
    session = run(agent(write("w", ENV, text)), content_policy=None)
    assert session.lineage().text(cid_of(text)) == text


def test_a_policy_of_ones_own_takes_the_place_of_the_default():
    secret, open_ = canary("secret"), canary("open")
    session = run(
        agent(write("1", "/data/salaries.csv", secret), write("2", ENV, open_)), content_policy=["data/*.csv"]
    )
    assert not found(recorded(session), [secret])
    assert found(recorded(session), [open_])


@pytest.mark.parametrize(
    "path",
    [
        "/.env",
        "/app/.env.local",
        "/tls/server.PEM",
        "/a.key",
        "/id_rsa",
        "/home/x/.ssh/config",
        "/aws_credentials.json",
    ],
)
def test_what_is_withheld_by_default(path: str):
    text = canary("default")
    session = run(agent(write("w", path, text)))
    assert not found(recorded(session), [text])


# --- where such bytes are carried


def test_write_and_edit_arguments(identity: str):
    first, second, third = (canary(place) for place in ("first", "second", "third"))
    tiny, other = short(), short()
    turns = (
        write("w", ENV, f"{first}\n{tiny}\n"),
        edit("e", ENV, first, second),
        edit("f", ENV, tiny, other),
        edit("missing", ENV, f"{third}\nnot there {tiny}", "x"),
    )
    session = run(agent(*turns), identity=identity, verbose=True)
    assert not found(recorded(session), [first, second, third, tiny, other])


def test_a_file_that_is_handed_in_in_each_shape(identity: str):
    texts = [canary(place) for place in ("v2", "v1", "binary", "unused")]
    files = {
        "/.env": file_data(f"{texts[0]}\n"),
        "/.env.old": {"content": [texts[1], ""], "created_at": "x", "modified_at": "x"},
        "/server.key": file_data(base64.b64encode(texts[2].encode()).decode(), encoding="base64"),
    }
    session = run(
        agent(read("r", "/.env"), read("o", "/.env.old"), read("b", "/server.key")),
        asked(files=files),
        identity=identity,
    )
    assert not found(recorded(session), texts)


def test_a_file_that_is_handed_in_and_quoted_beside_it():
    text = canary("quoted")
    session = run(agent(), asked(f"Use {text} please.", files={ENV: file_data(f"{text}\n")}))
    assert not found(recorded(session), [text])


@pytest.mark.parametrize("where", ["state", "disk", "witnessed disk"])
def test_reads_searches_and_shells(tmp_path: Path, identity: str, where: str):
    text, tiny, copy = canary("shown"), short(), canary("copy")
    content = f"{text}\n{tiny}\n"
    (tmp_path / ".env").write_text(content)
    (tmp_path / "other.txt").write_text("nothing here\n")
    turns = [
        read("r", ENV),
        call("grep", "g", pattern="CANARY", output_mode="content"),
        call("grep", "h", pattern="P=", path="/", glob=".env*", output_mode="content"),
        says(f"It says {text}, as I read."),
    ]
    if where == "state":
        session = run(agent(*turns), asked(files={ENV: file_data(content)}), identity=identity)
    else:
        backend = LocalShellBackend(tmp_path, virtual_mode=True, inherit_env=True)
        cat = execute("c", f"cat {tmp_path}/.env")
        put = execute("p", f"printf '%s' '{copy}' > {tmp_path}/.env.copy")
        change = edit("e", ENV, tiny, short())
        rewrite = execute("s", f"sed -i s/CANARY/canary/ {tmp_path}/.env")
        witness = backend if where == "witnessed disk" else None
        runnable = agent(cat, put, *turns[:-1], change, rewrite, turns[-1], backend=backend)
        session = run(runnable, identity=identity, witness=witness)
        if witness is not None:
            # before the edit, after it, and what the shell made of it
            assert len(withheld(session, ENV)) == 3
    assert not found(recorded(session), [text, tiny, copy])


def test_a_shell_that_shows_a_file_which_nothing_else_has_shown(tmp_path: Path):
    text, tiny = canary("shell"), short()
    (tmp_path / ".env").write_text(f"{text}\n{tiny}\n")
    backend = LocalShellBackend(tmp_path, virtual_mode=True, inherit_env=True)
    session = run(agent(execute("c", f"cat '{tmp_path}/.env'; echo done"), says(f"I saw {text}"), backend=backend))
    assert not found(recorded(session), [text, tiny])
    assert session.lineage().tool("c").fields["status"] == "ok"


def test_a_tool_of_ones_own_that_is_given_the_path():
    text, tiny = canary("own"), short()

    @tool
    def slurp(target: str) -> str:
        """Return a file."""
        return f"{text}\n{tiny}\n"

    @tool
    def store(path: str, body: str) -> str:
        """Keep a text."""
        return "kept"

    session = run(
        agent(
            call("slurp", "s", target="config/.env"), call("store", "t", path=".env", body=tiny), tools=[slurp, store]
        )
    )
    assert not found(recorded(session), [text, tiny])


def test_a_tool_that_returns_a_command_and_one_that_writes_files():
    text, tiny = canary("command"), short()

    @tool
    def provide(runtime: ToolRuntime) -> Command[Any]:
        """Provide a file."""
        return Command(
            update={
                "files": {ENV: file_data(f"{text}\n{tiny}\n")},
                "messages": [ToolMessage(f"wrote {text}", tool_call_id=runtime.tool_call_id)],
            }
        )

    session = run(agent(call("provide", "p"), read("r", ENV), tools=[provide]))
    assert withheld(session, ENV)
    assert not found(recorded(session), [text, tiny])


def test_another_file_that_holds_a_withheld_line_is_withheld_too(identity: str):
    text = canary("copied")
    session = run(
        agent(write("w", ENV, f"{text}\n"), write("c", "/notes.md", f"# Notes\n\n{text}\n")), identity=identity
    )
    assert withheld(session, "/notes.md")
    assert not found(recorded(session), [text])


def test_what_subagents_plans_and_answers_repeat():
    text = canary("repeated")
    helper = subagent("helper", read("r", ENV), says(f"The file holds {text}."))
    session = run(
        agent(
            write("w", ENV, f"{text}\n"),
            task("t", "helper", f"Look for {text}."),
            call("write_todos", "p", todos=todos(f"rotate {text}")),
            says(f"Done: {text}"),
            subagents=[helper],
            plan=True,
        ),
        verbose=True,
    )
    assert not found(recorded(session), [text])


def test_memory_files_and_the_prompt_that_quotes_them(tmp_path: Path, identity: str):
    text = canary("memory")
    (tmp_path / "credentials.md").write_text(f"{text}\n")
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    session = run(agent(backend=backend, memory=["/credentials.md"]), identity=identity)
    assert withheld(session, "/credentials.md")
    assert not found(recorded(session), [text])


@pytest.mark.parametrize("where", ["state", "disk"])
def test_a_large_read_that_was_moved_to_a_file(tmp_path: Path, where: str):
    rows = "".join(f"{short()} row\n" for _ in range(12_000))
    backend = StateBackend() if where == "state" else FilesystemBackend(tmp_path, virtual_mode=True)

    @tool
    def slurp(path: str) -> str:
        """Return a file."""
        return rows

    session = run(
        agent(
            call("slurp", "big", path=ENV),
            read("r", "/large_tool_results/big", limit=5),
            tools=[slurp],
            backend=backend,
        )
    )
    assert not found(recorded(session), rows.splitlines()[:200] + rows.splitlines()[-200:])


def test_arguments_that_could_not_be_parsed():
    text = short()
    broken = {
        "name": "write_file",
        "id": "x",
        "args": f'{{"file_path": "/.env", "content": "{text}',
        "error": "cut off",
    }
    turn = AIMessage(content="", invalid_tool_calls=[{**broken, "type": "invalid_tool_call"}])
    session = run(agent(model=model(turn)))
    assert not found(recorded(session), [text])


def test_content_blocks_of_providers():
    text, tiny, more = canary("block"), short(), short()
    turn = AIMessage(
        content=[
            {"type": "text", "text": f"I write {text}"},
            {
                "type": "tool_use",
                "id": "w",
                "name": "write_file",
                "input": {"file_path": ENV, "content": f"{text}\n{tiny}"},
            },
            {
                "type": "function_call",
                "name": "write_file",
                "arguments": json.dumps({"file_path": ENV, "content": more}),
            },
        ],
        tool_calls=[write("w", ENV, f"{text}\n{tiny}")],
    )
    session = run(agent(model=model(turn, says())))
    assert not found(recorded(session), [text, tiny, more])


def test_errors_that_quote_what_they_were_about(logged: Any):
    text = canary("error")

    @tool
    def fail() -> str:
        """Fail."""
        message = f"bad line: {text}"
        raise ValueError(message)

    session = Session()
    with pytest.raises(ValueError, match="bad line"):
        session.invoke(agent(write("w", ENV, f"{text}\n"), call("fail", "f"), tools=[fail]))
    ours = "\n".join(record.getMessage() for record in logged.records if record.name == "eqty.deepagents")
    assert not found(recorded(session, ours), [text])


@pytest.mark.parametrize("below", ["", "inner"])
def test_a_folder_in_a_state_that_holds_a_withheld_file_is_left_out_and_counted(tmp_path: Path, below: str):
    text = canary("folder")
    place = tmp_path / "project" / below
    place.mkdir(parents=True)
    (place / "server.key").write_text(text)

    class State(TypedDict):
        root: Any

    graph = StateGraph(State).add_node("look", lambda _: {"root": tmp_path / "project"})
    session = run(graph.add_edge(START, "look").add_edge("look", END).compile(), {"root": None})
    assert not found(recorded(session), [text])
    assert "FOLDER" in reasons(session.handler)


def test_documents_of_a_retriever_and_files_named_by_a_path_object(tmp_path: Path, identity: str):
    text, tiny, on_disk = canary("document"), short(), canary("path")
    secret = tmp_path / "id_rsa"
    secret.write_text(f"{on_disk}\n")

    class Retriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(page_content=f"{text}\n{tiny}", metadata={"source": str(tmp_path / ".env")})]

    class State(TypedDict):
        found: Any
        key_file: Any

    def look(state: State) -> Any:
        return {"found": Retriever().invoke("secrets"), "key_file": secret}

    graph = StateGraph(State).add_node("look", look).add_edge(START, "look").add_edge("look", END).compile()
    session = run(graph, {"found": None, "key_file": None}, identity=identity)
    assert not found(recorded(session), [text, tiny, on_disk])


def test_history_that_a_compaction_dropped(tmp_path: Path):
    tiny, text = short(), canary("history")
    for backend in (StateBackend(), FilesystemBackend(tmp_path, virtual_mode=True)):
        chat = model(
            *script(
                write("w", ENV, f"{tiny}\n{text}\n"), read("r", ENV), *(write(f"w{n}", f"/f{n}", "x") for n in range(4))
            ),
            *(says(f"sum {n}") for n in range(6)),
        )
        middleware = SummarizationMiddleware(model=chat, backend=backend, trigger=("messages", 8), keep=("messages", 2))
        session = run(create_deep_agent(model=chat, name="r", backend=backend, middleware=[middleware]))
        assert [step for step in session.lineage().steps if "compaction" in step.fields]
        assert not found(recorded(session), [tiny, text])


def test_a_new_handler_on_an_old_thread(tmp_path: Path):
    text, tiny = canary("thread"), short()
    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    saver = InMemorySaver()
    turns = (write("w", ENV, f"{text}\n{tiny}\n"), read("r", ENV), says("one"), says(f"two {text}"))
    talking = agent(model=model(*script(*turns)), backend=backend, checkpointer=saver)
    talking.invoke(asked("first"), {"configurable": {"thread_id": "t"}})
    session = Session()
    session.invoke(talking, asked("second"), thread="t")
    assert not found(recorded(session), [text, tiny])


def test_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text, tiny = canary("journal"), short()
    lines: list[bytes] = []
    write_line = journal.os.write
    monkeypatch.setattr(
        journal.os, "write", lambda descriptor, line: lines.append(line) or write_line(descriptor, line)
    )
    session = run(agent(write("w", ENV, f"{text}\n{tiny}\n"), read("r", ENV)), journal=tmp_path / "j.jsonl")
    session.handler.close()
    noted = [base64.b64decode(json.loads(line).get("asset", {}).get("data") or b"") for line in lines]
    assert any(b"messages" in data for data in noted)
    assert not found([*lines, *noted], [text, tiny])


def test_messages_stored_in_place(identity: str):
    text, tiny = canary("inline"), short()
    session = run(
        agent(write("w", ENV, f"{text}\n{tiny}\n"), read("r", ENV), says(text)), inline_messages=True, identity=identity
    )
    assert not found(recorded(session), [text, tiny])


def test_bytes_that_the_store_had_before_the_policy_are_in_no_later_export():
    text = canary("before")
    run(agent(write("w", "/.env", text)), content_policy=None)
    session = run(agent(write("w", "/.env", text), read("r", "/.env")))
    assert not found(recorded(session), [text])
    assert "STORED" in reasons(session.handler)
    (cid,) = withheld(session, ENV)
    assert cid != cid_of(text)


def test_a_folder_whose_pattern_ends_with_a_slash():
    text, other = canary("payroll"), canary("elsewhere")
    paths = ("/app/payroll/2026/jan.csv", "/payroll.csv")
    session = run(agent(write("1", paths[0], text), write("2", paths[1], other)), content_policy=["payroll/"])
    assert not found(recorded(session), [text])
    assert found(recorded(session), [other])


def test_what_happened_to_a_withheld_file_is_told_in_full():
    session = run(agent(write("w", ENV, canary("gone")), delete("d", ENV), read("r", ENV)))
    lineage = session.lineage()
    assert lineage.history(ENV) == ["1 write_file", "- delete 1"]
    said = {
        message["tool_call_id"]: message["content"]
        for cid in lineage.assets("Dataset")
        if isinstance(message := json.loads(lineage.blobs[cid]), dict) and message.get("role") == "tool"
    }
    assert said == {call_id: message.content for call_id, message in session.results().items()}


# --- configuration


@pytest.mark.parametrize(
    "patterns", [["["], [""], [3], ["!*.csv"], ["{a,b}.csv"], ["~/x/*"], "*.pem", ["a**b"], ["../x"], ["a\\b"], 7]
)
def test_a_malformed_policy_is_refused_at_construction(patterns: Any):
    with pytest.raises(ConfigurationError, match="content_policy"):
        EqtyDeepAgentsHandler(content_policy=patterns)


@pytest.mark.parametrize(
    "options",
    [
        {"queue_size": -1},
        {"queue_size": "x"},
        {"queue_size": True},
        {"flush_timeout": -1},
        {"flush_timeout": "x"},
        {"journal": 5},
    ],
)
def test_options_that_would_only_show_in_a_run_are_refused_at_construction(options: Any):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        EqtyDeepAgentsHandler(**options)


def test_an_integrity_service_without_its_credential_is_refused_at_construction(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("EQTY_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="integrity service"):
        EqtyDeepAgentsHandler(integrity_service_url="http://127.0.0.1:1")


def test_an_unknown_identity_is_refused_at_construction():
    with pytest.raises(ConfigurationError, match="identity"):
        EqtyDeepAgentsHandler(identity="secret")  # type: ignore[arg-type]


def test_the_agent_itself_sees_everything():
    text = canary("agent")
    session = run(agent(write("w", ENV, text), read("r", ENV)))
    assert text in session.results()["r"].content
    assert session.answer["files"][ENV]["content"] == text
