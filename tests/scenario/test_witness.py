"""A witness beside real agents on real backends: what it is asked, what its answers are worth, and what it may do."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deepagents import FilesystemPermission
from deepagents.backends import CompositeBackend, FilesystemBackend, LocalShellBackend, StateBackend, StoreBackend
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from eqty_lineage.deepagents import ConfigurationError, EqtyDeepAgentsHandler
from support import truth
from support.agents import (
    ScriptedModel,
    Session,
    agent,
    asked,
    asks,
    call,
    delete,
    edit,
    execute,
    file_data,
    read,
    reasons,
    run,
    says,
    script,
    subagent,
    task,
    write,
)
from support.lineage import Lineage
from support.sandboxes import Sandbox
from support.sdk import cid_of

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


def disk(folder: Path) -> FilesystemBackend:
    return FilesystemBackend(folder, virtual_mode=True)


def shell(folder: Path) -> LocalShellBackend:
    return LocalShellBackend(folder, virtual_mode=True, env={"PATH": "/usr/bin:/bin"})


class Asked:
    """A witness that notes what it is asked about."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.paths: list[str] = []
        self.asks = 0

    def download_files(self, paths: list[str]) -> Any:
        self.asks += 1
        self.paths += paths
        return self._backend.download_files(paths)


def uses(lineage: Lineage, call_id: str) -> list[tuple[str, str, int | None, str, bytes]]:
    """What a call did with files: role, path, version, evidence, bytes."""
    return [
        (use["role"], use["path"], use.get("version"), use["evidence"], lineage.blobs[use["cid"]])
        for use in lineage.tool(call_id).fields.get("files", [])
    ]


def meanwhile(*turns: Any) -> ScriptedModel:
    """A model that follows a script, with functions in it that are called while it thinks."""

    def said() -> Iterator[AIMessage]:
        for turn in turns:
            if callable(turn):
                turn()
            else:
                yield from script(turn)[:1]
        yield says()

    return ScriptedModel(messages=said())


# --- backends


@pytest.mark.parametrize("invoke", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["disk", "shell", "store", "sandbox", "route", "callable"])
def test_a_file_outside_state_is_known_exactly_from_the_first_read_on(tmp_path: Path, kind: str, invoke: str):
    kept = InMemoryStore()
    stored = StoreBackend(store=kept, namespace=lambda _: ("files",))
    path = {"sandbox": f"{tmp_path}/a.txt", "route": "/disk/a.txt"}.get(kind, "/a.txt")
    backend = {
        "disk": lambda: disk(tmp_path),
        "callable": lambda: disk(tmp_path),
        "shell": lambda: shell(tmp_path),
        "store": lambda: stored,
        "sandbox": Sandbox,
        "route": lambda: CompositeBackend(default=StateBackend(), routes={"/disk/": disk(tmp_path)}),
    }[kind]()
    (tmp_path / "a.txt").write_text("one two\n")
    if kind == "store":
        stored.write("/a.txt", "one two\n")
    witness = (lambda path: (tmp_path / path[1:]).read_bytes()) if kind == "callable" else backend
    session = Session(witness=witness)
    runnable = agent(read("r", path), edit("e", path, "two", "TWO"), read("again", path), backend=backend)
    getattr(session, invoke)(runnable)
    lineage = session.lineage()
    assert uses(lineage, "r") == [("read", path, 1, "witnessed", b"one two\n")]
    assert uses(lineage, "e") == [
        ("replaced", path, 1, "witnessed", b"one two\n"),
        ("wrote", path, 2, "witnessed", b"one TWO\n"),
    ]
    assert uses(lineage, "again") == [("read", path, 2, "witnessed", b"one TWO\n")]
    assert not lineage.renderings(path)
    assert not reasons(session.handler)


def test_a_backend_that_finds_its_store_through_the_run_is_asked_in_the_runs_context():
    backend = StoreBackend(namespace=lambda _: ("files",))
    session, lineage = run(
        agent(write("w", "/a.txt", "x\n"), edit("e", "/a.txt", "x", "y"), backend=backend, store=InMemoryStore()),
        witness=backend,
    )
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 1, "witnessed", b"x\n"),
        ("wrote", "/a.txt", 2, "witnessed", b"y\n"),
    ]
    assert not reasons(session.handler)


def test_files_in_the_state_are_the_states_alone(tmp_path: Path):
    (tmp_path / "a.md").write_text("another file\n")
    witness = Asked(disk(tmp_path))
    runnable = agent(edit("e", "/a.md", "x", "y"), read("r", "/a.md"), delete("d", "/a.md"))
    session, lineage = run(runnable, asked(files={"/a.md": file_data("x\n")}), witness=witness)
    assert witness.paths == []
    assert lineage.versions("/a.md") == {cid_of("x\n"), cid_of("y\n")}
    assert not reasons(session.handler)


def test_a_first_write_to_the_state_is_not_contradicted_by_a_disk_without_that_file(tmp_path: Path):
    session, lineage = run(
        agent(write("w", "/a.md", "x\n"), edit("e", "/a.md", "x", "y"), read("r", "/a.md")), witness=disk(tmp_path)
    )
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert uses(lineage, "r") == [("read", "/a.md", 2, "reconstructed", b"y\n")]
    assert not reasons(session.handler)


def test_what_a_state_and_a_witness_say_of_one_path_is_not_mixed(tmp_path: Path):
    (tmp_path / "a.md").write_text("another file\n")
    session, lineage = run(agent(write("w", "/a.md", "x\n"), read("r", "/a.md")), witness=disk(tmp_path))
    assert lineage.versions("/a.md") == {cid_of("x\n")}
    assert uses(lineage, "w") == []
    assert [use[4] for use in uses(lineage, "r")] == [b"x\n"]
    assert reasons(session.handler) == {"WITNESS_CONTRADICTS"}


def test_an_agent_with_a_backend_of_its_own_is_not_told_by_its_callers_witness(tmp_path: Path):
    (tmp_path / "a.txt").write_text("the caller's\n")
    own = agent(write("w", "/a.txt", "its own\n"), read("r", "/a.txt"), name="own")
    helper = {"name": "own", "description": "Helps.", "runnable": own}
    witness = Asked(disk(tmp_path))
    _, lineage = run(agent(task("t", "own"), subagents=[helper], backend=disk(tmp_path)), witness=witness)
    assert lineage.versions("/a.txt") == {cid_of("its own\n")}
    assert witness.asks == 0


def test_a_declared_subagent_shares_what_was_seen(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n")
    helper = subagent("helper", edit("e", "/a.txt", "x", "y"))
    _, lineage = run(
        agent(read("r", "/a.txt"), task("t", "helper"), backend=disk(tmp_path), subagents=[helper]),
        witness=disk(tmp_path),
    )
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 1, "witnessed", b"x\n"),
        ("wrote", "/a.txt", 2, "witnessed", b"y\n"),
    ]


# --- what others change


def test_a_change_from_outside_between_two_turns_of_the_model_is_nobodys(tmp_path: Path):
    file = tmp_path / "a.txt"
    chat = meanwhile(
        write("w", "/a.txt", "x\n"),
        lambda: file.write_text("x and more\n"),
        edit("e", "/a.txt", "more", "less"),
        lambda: file.write_text("again\n"),
        read("r", "/a.txt"),
    )
    session, lineage = run(agent(model=chat, backend=disk(tmp_path)), witness=disk(tmp_path))
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 2, "witnessed", b"x and more\n"),
        ("wrote", "/a.txt", 3, "witnessed", b"x and less\n"),
    ]
    assert uses(lineage, "r") == [("read", "/a.txt", 4, "witnessed", b"again\n")]
    for text in ("x and more\n", "again\n"):
        assert lineage.producers(cid_of(text)) == []
    assert not reasons(session.handler)


def test_a_change_from_outside_between_two_runs_is_nobodys_and_no_change_is_the_same_version(tmp_path: Path):
    session = Session(witness=disk(tmp_path))
    session.invoke(agent(write("w", "/a.txt", "x\n"), backend=disk(tmp_path)))
    session.invoke(agent(read("same", "/a.txt"), backend=disk(tmp_path)))
    (tmp_path / "a.txt").write_text("y\n")
    session.invoke(agent(edit("e", "/a.txt", "y", "z"), backend=disk(tmp_path)))
    lineage = session.lineage()
    assert uses(lineage, "same") == [("read", "/a.txt", 1, "witnessed", b"x\n")]
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 2, "witnessed", b"y\n"),
        ("wrote", "/a.txt", 3, "witnessed", b"z\n"),
    ]
    assert lineage.producers(cid_of("y\n")) == []


def siblings(*turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Subagents that work side by side; calls of one message may not change one file (0.7.32)."""
    helpers = [subagent(f"helper{number}", *calls) for number, calls in enumerate(turns)]
    return {
        "subagents": helpers,
        "first": asks(*[task(f"t{number}", f"helper{number}") for number in range(len(turns))]),
    }


def test_siblings_that_write_one_file_make_versions_that_were_there(tmp_path: Path):
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        backend, witness = truth.disk(folder)
        handler = EqtyDeepAgentsHandler(wait=False, witness=backend)
        collected, timeline = truth.Collected.of(handler), truth.Timeline(witness)
        made = siblings(
            *[
                [write(f"w{number}{turn}", "/a.txt", f"{number} {turn}\n" * 20_000) for turn in range(3)]
                for number in range(3)
            ]
        )
        runnable = agent(made.pop("first"), read("r", "/a.txt"), backend=backend, **made)
        runnable.invoke(asked(), {"callbacks": [timeline, handler, timeline.until()], "recursion_limit": 100})
        assert list(truth.untruths_outside(collected, timeline)) == []
        (reading,) = [step for step in collected.steps if step.get("tool_call_id") == "r"]
        assert [use["evidence"] for use in reading["files"]] == ["witnessed"]
        wrote = [
            (use["cid"], use["version"])
            for step in collected.steps
            for use in step.get("files", [])
            if use["role"] == "wrote"
        ]
        assert len(wrote) == len(set(wrote)) == 9


class Slower(FilesystemBackend):
    """Its write of ``first`` returns only when one of ``second`` is done, and that begins only after it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first_wrote, self.second_wrote = threading.Event(), threading.Event()

    def write(self, file_path: str, content: str) -> Any:
        if content == "second\n":
            self.first_wrote.wait(60)
        result = super().write(file_path, content)
        if content == "first\n":
            self.first_wrote.set()
            self.second_wrote.wait(60)
        else:
            self.second_wrote.set()
        return result


def test_a_sibling_that_was_faster_is_seen_beside_what_was_written(tmp_path: Path):
    backend = Slower(tmp_path, virtual_mode=True)
    made = siblings([write("1", "/a.txt", "first\n")], [write("2", "/a.txt", "second\n")])
    _, lineage = run(agent(made.pop("first"), backend=backend, **made), witness=backend)
    found = [(role, data) for role, _, _, _, data in uses(lineage, "1") + uses(lineage, "2")]
    assert ("wrote", b"first\n") in found
    assert ("wrote", b"second\n") in found
    assert {(role, data) for role, data in found if role != "wrote"} <= {("present", b"second\n")}
    versions = {(use[4], use[2]) for use in uses(lineage, "1") + uses(lineage, "2")}
    assert len(versions) == 2


def test_a_tool_of_the_users_leaves_versions_that_are_nobodys(tmp_path: Path):
    @tool
    def formatter(file: str) -> str:
        """Format a file."""
        (tmp_path / file[1:]).write_text("formatted\n")
        return "done"

    runnable = agent(
        write("w", "/a.txt", "x\n"),
        call("formatter", "f", file="/a.txt"),
        edit("e", "/a.txt", "formatted", "neat"),
        tools=[formatter],
        backend=disk(tmp_path),
    )
    _, lineage = run(runnable, witness=disk(tmp_path))
    assert uses(lineage, "f") == [("present", "/a.txt", 2, "witnessed", b"formatted\n")]
    assert uses(lineage, "e")[0] == ("replaced", "/a.txt", 2, "witnessed", b"formatted\n")


# --- shells, kinds of files


def test_what_a_shell_does_to_files_that_are_known_is_its_work(tmp_path: Path):
    (tmp_path / "keep.txt").write_text("k\n")
    runnable = agent(
        asks(*[write(name, f"/{name}.txt", f"{name}\n") for name in ("rewritten", "deleted", "appended")]),
        read("k", "/keep.txt"),
        execute("x", "echo new > rewritten.txt; rm deleted.txt; echo more >> appended.txt"),
        execute("y", "echo back > deleted.txt"),
        backend=shell(tmp_path),
    )
    session, lineage = run(runnable, witness=shell(tmp_path))
    assert sorted(uses(lineage, "x")) == [
        ("removed", "/deleted.txt", 1, "witnessed", b"deleted\n"),
        ("replaced", "/appended.txt", 1, "witnessed", b"appended\n"),
        ("replaced", "/rewritten.txt", 1, "witnessed", b"rewritten\n"),
        ("wrote", "/appended.txt", 2, "witnessed", b"appended\nmore\n"),
        ("wrote", "/rewritten.txt", 2, "witnessed", b"new\n"),
    ]
    assert uses(lineage, "y") == [("wrote", "/deleted.txt", 2, "witnessed", b"back\n")]
    # what else it may have changed, nobody was asked about
    assert reasons(session.handler) == {"SHELL"}


def test_a_binary_file_is_a_version_of_its_bytes(tmp_path: Path):
    (tmp_path / "p.png").write_bytes(PNG)
    runnable = agent(
        read("r", "/p.png"), execute("x", "printf more >> p.png"), delete("d", "/p.png"), backend=shell(tmp_path)
    )
    _, lineage = run(runnable, witness=shell(tmp_path))
    assert uses(lineage, "r") == [("read", "/p.png", 1, "witnessed", PNG)]
    assert uses(lineage, "x")[1] == ("wrote", "/p.png", 2, "witnessed", PNG + b"more")
    assert uses(lineage, "d") == [("removed", "/p.png", 2, "witnessed", PNG + b"more")]


def test_line_endings_that_the_backend_converts_are_known_as_they_are(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    runnable = agent(read("r", "/a.txt"), edit("e", "/a.txt", "two", "TWO"), backend=disk(tmp_path))
    session, lineage = run(runnable, witness=disk(tmp_path))
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 1, "witnessed", b"one\r\ntwo\r\n"),
        ("wrote", "/a.txt", 2, "witnessed", (tmp_path / "a.txt").read_bytes()),
    ]
    assert not reasons(session.handler)


def test_a_first_edit_of_a_file_with_line_endings_that_are_gone_asserts_no_base(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    session, lineage = run(agent(edit("e", "/a.txt", "two", "TWO"), backend=disk(tmp_path)), witness=disk(tmp_path))
    assert lineage.versions("/a.txt") == {cid_of((tmp_path / "a.txt").read_bytes())}
    assert lineage.tool("e").version("wrote", "/a.txt") is None or lineage.tool("e").files("replaced") == {}
    assert reasons(session.handler) == {"NO_BASE"}


def test_a_first_edit_of_one_line_has_the_only_base_it_can_have_had(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one two")
    session, lineage = run(agent(edit("e", "/a.txt", "two", "TWO"), backend=disk(tmp_path)), witness=disk(tmp_path))
    assert uses(lineage, "e") == [
        ("replaced", "/a.txt", 1, "reconstructed", b"one two"),
        ("wrote", "/a.txt", 2, "witnessed", b"one TWO"),
    ]
    assert not reasons(session.handler)


def test_a_search_has_the_exact_versions_it_shows_lines_of(tmp_path: Path):
    file = tmp_path / "a.txt"
    search = call("grep", "g", pattern="needle", output_mode="content")
    chat = meanwhile(write("w", "/a.txt", "x\n"), lambda: file.write_text("a needle\n"), search)
    _, lineage = run(agent(model=chat, backend=disk(tmp_path)), witness=disk(tmp_path))
    assert uses(lineage, "g") == [("read", "/a.txt", 2, "witnessed", b"a needle\n")]


class Shouting(FilesystemBackend):
    """Writes something else than it is given."""

    def write(self, file_path: str, content: str) -> Any:
        return super().write(file_path, content.upper())


def test_a_backend_that_writes_something_else_is_not_believed_its_arguments(tmp_path: Path):
    backend = Shouting(tmp_path, virtual_mode=True)
    runnable = agent(write("1", "/a.txt", "one\n"), read("r", "/a.txt"), write("2", "/a.txt", "two\n"), backend=backend)
    session, lineage = run(runnable, witness=backend)
    assert lineage.versions("/a.txt") == {cid_of("ONE\n"), cid_of("TWO\n")}
    assert uses(lineage, "r") == [("read", "/a.txt", 1, "witnessed", b"ONE\n")]
    assert uses(lineage, "2") == [("present", "/a.txt", 2, "witnessed", b"TWO\n")]
    assert reasons(session.handler) == {"WITNESS_CONTRADICTS"}


# --- whom it is asked about


@pytest.mark.parametrize(
    "refused",
    [
        read("c", "/deny/a.txt"),
        write("c", "/deny/a.txt", "bad\n"),
        edit("c", "/deny/a.txt", "t", "u"),
        delete("c", "/deny/a.txt"),
        write("c", "/../a.txt", "bad\n"),
        read("c", "~/a.txt"),
        edit("c", "C:\\a.txt", "s", "t"),
        delete("c", "/deny/../../a.txt"),
    ],
)
def test_a_path_that_the_backend_refuses_is_never_asked_about(tmp_path: Path, refused: dict[str, Any]):
    (tmp_path / "deny").mkdir()
    (tmp_path / "deny" / "a.txt").write_text("secret\n")
    denied = FilesystemPermission(operations=["read", "write"], paths=["/deny/**"], mode="deny")
    witness = Asked(disk(tmp_path))
    search = call("grep", "g", pattern="ecr", output_mode="content")
    session, lineage = run(
        agent(search, refused, {**refused, "id": "d"}, backend=disk(tmp_path), permissions=[denied]), witness=witness
    )
    assert session.results()["c"].status == "error"
    assert witness.paths == []
    assert "secret" not in lineage.everything()


def test_it_is_asked_once_before_and_once_after_a_call_and_never_for_one_without_files(tmp_path: Path):
    witness = Asked(shell(tmp_path))
    runnable = agent(
        write("w", "/a.txt", "x\n"),
        call("ls", "l", path="/"),
        call("glob", "b", pattern="*"),
        edit("e", "/a.txt", "x", "y"),
        execute("x", "true"),
        read("r", "/a.txt"),
        delete("d", "/a.txt"),
        backend=shell(tmp_path),
    )
    run(runnable, witness=witness)
    assert witness.asks == 1 + 2 + 2 + 1 + 2


# --- bad witnesses


def bad(answer: Callable[[list[str]], Any]) -> Any:
    return SimpleNamespace(download_files=answer)


def response(content: Any = None, error: Any = None, **more: Any) -> Any:
    return SimpleNamespace(content=content, error=error, **more)


def leave(*_: Any) -> Any:
    raise SystemExit


def interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


class Odd:
    @property
    def content(self) -> bytes:
        raise RuntimeError


async def later() -> bytes:
    return b"x\n"


@pytest.mark.parametrize(
    "witness",
    [
        lambda path: 1 / 0,
        lambda path: "x\n",
        lambda path: [b"x\n"],
        lambda path: later(),
        leave,
        interrupt,
        bad(leave),
        bad(interrupt),
        bad(lambda paths: None),
        bad(lambda paths: []),
        bad(lambda paths: [response(b"x\n")] * 2),
        bad(lambda paths: dict.fromkeys(paths, b"x\n")),
        bad(lambda paths: (response(b"x\n") for _ in paths)),
        bad(lambda paths: later()),
        bad(lambda paths: [b"x\n" for _ in paths]),
        bad(lambda paths: [response("x\n") for _ in paths]),
        bad(lambda paths: [response(b"x\n", "permission_denied") for _ in paths]),
        bad(lambda paths: [response(None, 7) for _ in paths]),
        bad(lambda paths: [Odd() for _ in paths]),
        # what DeepAgents' protocol does where a backend has no such method
        bad(lambda paths: (_ for _ in ()).throw(NotImplementedError)),
    ],
)
def test_what_is_no_answer_costs_a_gap_and_nothing_else(tmp_path: Path, witness: Any):
    turns = [write("w", "/a.txt", "x\n"), edit("e", "/a.txt", "x", "y"), read("r", "/a.txt")]
    session, lineage = run(agent(*turns, backend=disk(tmp_path)), witness=witness)
    assert (tmp_path / "a.txt").read_text() == "y\n"
    _, without = run(agent(*turns, backend=disk(tmp_path)))
    for call_id in ("w", "e", "r"):
        assert uses(lineage, call_id) == uses(without, call_id)
    assert reasons(session.handler) == {"WITNESS_FAILED"}


def test_bytes_in_any_form_are_an_answer_and_so_is_an_order_that_is_said(tmp_path: Path):
    def answer(paths: list[str]) -> Any:
        found = [response(memoryview((tmp_path / path[1:]).read_bytes()), path=path) for path in paths]
        return tuple(reversed(found))

    runnable = agent(
        asks(write("a", "/a.txt", "a\n"), write("b", "/b.txt", "b\n")),
        execute("x", "echo more >> a.txt"),
        backend=shell(tmp_path),
    )
    session, lineage = run(runnable, witness=bad(answer))
    assert uses(lineage, "x") == [
        ("replaced", "/a.txt", 1, "witnessed", b"a\n"),
        ("wrote", "/a.txt", 2, "witnessed", b"a\nmore\n"),
    ]
    assert reasons(session.handler) == {"SHELL"}


def test_a_response_for_another_path_is_no_answer(tmp_path: Path):
    def answer(paths: list[str]) -> Any:
        return [response(b"a\n", path=paths[0]) for _ in paths]

    runnable = agent(
        asks(write("a", "/a.txt", "a\n"), write("b", "/b.txt", "a\n")), execute("x", "true"), backend=shell(tmp_path)
    )
    session, lineage = run(runnable, witness=bad(answer))
    assert uses(lineage, "x") == []
    assert reasons(session.handler) == {"SHELL", "WITNESS_FAILED"}


def test_answers_that_change_each_time_are_what_they_say_and_nothing_is_made_of_them(tmp_path: Path):
    answers = iter(range(100))
    turns = [write("w", "/a.txt", "x\n"), edit("e", "/a.txt", "x", "y"), read("r", "/a.txt"), delete("d", "/a.txt")]
    session, lineage = run(
        agent(*turns, backend=disk(tmp_path)), witness=lambda path: f"answer {next(answers)}\n".encode()
    )
    wrote = {use[4] for call_id in "wer" for use in uses(lineage, call_id) if use[0] in ("wrote", "read", "replaced")}
    assert not {data for data in wrote if data.startswith(b"answer")}
    assert lineage.versions("/a.txt") <= {cid_of(f"answer {number}\n") for number in range(10)}
    assert "WITNESS_CONTRADICTS" in reasons(session.handler)


def test_one_that_hangs_is_left_behind_and_after_three_times_asked_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    let_go, asks_made = threading.Event(), []

    def hang(path: str) -> bytes:
        asks_made.append(path)
        let_go.wait()
        return b"late\n"

    try:
        turns = [write(f"w{number}", "/a.txt", f"{number}\n") for number in range(5)]
        session, lineage = run(agent(*turns, backend=disk(tmp_path)), witness=hang, witness_timeout=0.05)
        hanging = [thread for thread in threading.enumerate() if thread.name == "eqty-witness"]
        assert len(asks_made) == 1
        assert len(hanging) == 1
        assert hanging[0].daemon
    finally:
        let_go.set()
    assert lineage.history("/a.txt") == [
        "1 write_file",
        *[f"{number} write_file <- {number - 1}" for number in range(2, 6)],
    ]
    assert {use[3] for use in uses(lineage, "w4")} == {"arguments"}
    slow = [gap for gap in session.handler.gaps if gap.why.name == "WITNESS_SLOW"]
    assert len(slow) == 4
    assert "no more" in slow[-1].what
    assert sum("asked no more" in record.getMessage() for record in caplog.records if "the witness:" in record.msg) == 1


def test_one_that_was_slow_once_is_asked_again_when_it_has_answered(tmp_path: Path):
    let_go, first = threading.Event(), []

    def slow_at_first(path: str) -> bytes:
        if not first:
            first.append(threading.current_thread())
            let_go.wait()
        return (tmp_path / path[1:]).read_bytes()

    def go_on() -> None:
        let_go.set()
        first[0].join()

    chat = meanwhile(write("w", "/a.txt", "x\n"), go_on, edit("e", "/a.txt", "x", "y"))
    session, lineage = run(agent(model=chat, backend=disk(tmp_path)), witness=slow_at_first, witness_timeout=0.05)
    assert uses(lineage, "w") == [("wrote", "/a.txt", 1, "arguments", b"x\n")]
    assert uses(lineage, "e")[-1] == ("wrote", "/a.txt", 2, "witnessed", b"y\n")
    assert session.handler.gaps.counts == {gap.why: 1 for gap in session.handler.gaps}


def test_one_that_runs_an_agent_under_the_same_handler_is_not_recorded_and_nothing_waits(tmp_path: Path):
    handlers: list[EqtyDeepAgentsHandler] = []

    def curious(path: str) -> bytes:
        agent(write("inner", "/inner.txt", "inner\n")).invoke(asked(), {"callbacks": handlers})
        return (tmp_path / path[1:]).read_bytes()

    handlers.append(EqtyDeepAgentsHandler(witness=curious, witness_timeout=60))
    session = Session(handlers[0])
    session.invoke(agent(write("w", "/a.txt", "x\n"), backend=disk(tmp_path)))
    lineage = session.lineage()
    assert uses(lineage, "w") == [("wrote", "/a.txt", 1, "witnessed", b"x\n")]
    assert not lineage.all(tool_call_id="inner")
    assert not reasons(session.handler)


def test_one_for_which_no_thread_can_be_started_costs_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    start = threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        if self.name == "eqty-witness":
            message = "can't start new thread"
            raise RuntimeError(message)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    session, lineage = run(agent(write("w", "/a.txt", "x\n"), backend=disk(tmp_path)), witness=disk(tmp_path))
    assert uses(lineage, "w") == [("wrote", "/a.txt", 1, "arguments", b"x\n")]
    assert reasons(session.handler) == {"WITNESS_FAILED"}


HANGS = """
import sys, threading
sys.path.insert(0, {tests!r})
from pathlib import Path
from support.sdk import initialise
initialise(Path({store!r}))
from deepagents.backends import FilesystemBackend
from support.agents import Session, agent, write
session = Session(witness=lambda path: threading.Event().wait(), witness_timeout=0.05)
session.invoke(agent(write("w", "/a.txt", "x"), backend=FilesystemBackend({store!r}, virtual_mode=True)))
print("hanging", sum(thread.name == "eqty-witness" for thread in threading.enumerate()))
"""


def test_one_that_hangs_does_not_keep_the_process_from_ending(tmp_path: Path):
    source = HANGS.format(tests=str(Path(__file__).parents[1]), store=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "hanging 1"


# --- configuration


class OldBackend:
    """What a backend of an early release has."""

    def read(self, file_path: str) -> str:
        return ""


class OnlyAsynchronous:
    async def adownload_files(self, paths: list[str]) -> Any:
        return []


class AsynchronousCall:
    async def __call__(self, path: str) -> bytes:
        return b""


async def async_witness(path: str) -> bytes:
    return b""


async def async_generator(path: str) -> Any:
    yield b""


@pytest.mark.parametrize(
    ("witness", "says_so"),
    [
        (7, "not int"),
        ("/a/folder", "not str"),
        (OldBackend(), "not OldBackend"),
        (FilesystemBackend, "the class FilesystemBackend"),
        (OnlyAsynchronous(), "only adownload_files"),
        (async_witness, "asynchronous"),
        (async_generator, "asynchronous"),
        (AsynchronousCall(), "asynchronous"),
        (bad(async_witness), "asynchronous"),
        (SimpleNamespace(download_files=7), "not SimpleNamespace"),
    ],
)
def test_what_can_be_no_witness_is_refused_at_once(witness: Any, says_so: str):
    with pytest.raises(ConfigurationError, match=says_so):
        EqtyDeepAgentsHandler(witness=witness)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "2", None, True])
def test_what_is_no_time_limit_is_refused_at_once(limit: Any):
    with pytest.raises(ConfigurationError, match="witness_timeout"):
        EqtyDeepAgentsHandler(witness_timeout=limit)


def test_an_object_that_is_callable_too_is_asked_through_download_files(tmp_path: Path):
    class Both(FilesystemBackend):
        def __call__(self, path: str) -> bytes:
            raise AssertionError(path)

    backend = Both(tmp_path, virtual_mode=True)
    session, lineage = run(agent(write("w", "/a.txt", "x\n"), backend=backend), witness=backend)
    assert uses(lineage, "w") == [("wrote", "/a.txt", 1, "witnessed", b"x\n")]
    assert not reasons(session.handler)
