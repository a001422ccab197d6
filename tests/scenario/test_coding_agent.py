"""A coding agent at work on a checkout: each version is what the disk held; without a witness nothing is false."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support import truth
from support.agents import (
    ScriptedModel,
    Session,
    agent,
    asked,
    asks,
    call,
    edit,
    execute,
    read,
    reasons,
    says,
    subagent,
    task,
    write,
)
from support.sdk import cid_of

ROOT = Path(__file__).parents[2]
LOGO = b"\x89PNG\r\n\x1a\n\x00\x01\xff"
MODULE, NOTES, SCRIPT, LIST = "/src/clock.py", "/docs/notes.md", "/tools/run.sh", "/names.txt"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Files of this project, some of another kind, and one with another kind of line ending."""
    folder = tmp_path / "checkout"
    for name in ("src", "docs", "tools"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "src" / "eqty_lineage" / "deepagents" / "clock.py", folder / MODULE[1:])
    shutil.copy(ROOT / "docs" / "adr" / "README.md", folder / NOTES[1:])
    (folder / "logo.png").write_bytes(LOGO)
    (folder / LIST[1:]).write_bytes(b"one\r\ntwo\r\n")
    return folder


def at_work(folder: Path, witness: truth.Witness) -> Iterator[AIMessage]:
    """What the model says; somebody else works on the same checkout meanwhile."""

    def by_hand(path: str, text: str) -> None:
        witness.during(lambda: (folder / path[1:]).write_text(text))

    calls: list[Any] = [
        asks(read("r1", MODULE), read("r2", NOTES, limit=3), read("r3", "/logo.png"), read("r4", LIST)),
        edit("e1", MODULE, "import", "import  ", replace_all=True),
        call("grep", "g1", pattern="import", path="/src", output_mode="content"),
        asks(edit("e2", LIST, "two", "TWO"), write("w1", SCRIPT, "#!/bin/sh\nexit 0\n")),
        execute("x1", "printf '# formatted\\n' >> src/clock.py && printf x >> logo.png && rm docs/notes.md"),
        lambda: by_hand(SCRIPT, "#!/bin/sh\nexit 1\n"),
        edit("e3", SCRIPT, "exit 1", "exit 2"),
        read("r5", MODULE),
        lambda: by_hand(MODULE, "# by hand\n"),
        execute("x2", "cat src/clock.py > copy.txt; echo back > docs/notes.md"),
        asks(task("t1", "first"), task("t2", "second")),
        call("grep", "g2", pattern="by", path="/src", output_mode="content"),
        call("delete", "d1", file_path="/docs"),
        read("r6", SCRIPT),
    ]
    for turn in calls:
        if callable(turn):
            turn()
        else:
            yield turn if isinstance(turn, AIMessage) else asks(turn)
    yield says()


def coding_agent(folder: Path, backend: Any, witness: truth.Witness) -> Any:
    helpers = [
        subagent("first", read("s1", MODULE), edit("s2", MODULE, "by hand", "by two hands")),
        subagent("second", write("s3", "/todo.md", "- test\n"), edit("s4", "/todo.md", "test", "tests")),
    ]
    chat = ScriptedModel(messages=at_work(folder, witness))
    return agent(model=chat, backend=backend, subagents=helpers)


@pytest.mark.parametrize("asks_witness", [True, False])
def test_every_version_is_what_the_disk_held_at_that_moment(checkout: Path, asks_witness: bool):  # noqa: FBT001
    backend, witness = truth.shell(checkout)
    handler = EqtyDeepAgentsHandler(wait=False, witness=backend if asks_witness else None)
    collected, timeline = truth.Collected.of(handler), truth.Timeline(witness)
    config = {"callbacks": [timeline, handler, timeline.until()], "recursion_limit": 200}
    coding_agent(checkout, backend, witness).invoke(asked(), config)
    calls = {step["tool_call_id"]: step for step in collected.steps if step.get("tool_call_id")}
    assert not asks_witness or calls.keys() >= {"r1", "e1", "g1", "e2", "x1", "e3", "x2", "s2", "s4", "g2", "d1", "r6"}
    assert list(truth.untruths_outside(collected, timeline)) == []
    wrote = {
        (name, use["path"]): collected.assets[use["cid"]]
        for name, step in calls.items()
        for use in step.get("files", [])
        if use["role"] == "wrote" and use["evidence"] != "edit"
    }
    for (name, path), data in wrote.items():
        if name not in ("s2", "s3", "s4"):
            # the others were alone: what they left is what the disk held as they ended
            assert timeline.held(name, path)[-1] == data
    if asks_witness:
        evidence = {use["evidence"] for step in calls.values() for use in step.get("files", [])}
        assert evidence == {"witnessed"}
        assert {path for _, path in wrote} == {MODULE, LIST, SCRIPT, NOTES, "/logo.png", "/todo.md"}


def test_the_whole_story_of_a_file_stands_in_its_manifest(checkout: Path):
    backend, witness = truth.shell(checkout)
    session = Session(witness=backend)
    session.invoke(coding_agent(checkout, backend, witness))
    lineage = session.lineage()
    assert lineage.history(MODULE) == ["2 edit_file <- 1", "3 execute <- 2", "5 edit_file <- 4"]
    assert lineage.history(SCRIPT) == ["1 write_file", "3 edit_file <- 2"]
    assert lineage.history(NOTES) == ["- execute 1", "2 execute", "- delete 2"]
    assert lineage.tool("x2").files("present") == {MODULE: cid_of("# by hand\n")}
    assert lineage.producers(cid_of("# by hand\n")) == []
    assert lineage.tool("e2").files("replaced") == {LIST: cid_of(b"one\r\ntwo\r\n")}
    assert lineage.tool("g2").files("read") == {MODULE: cid_of("# by two hands\n")}
    # from the last version back to the file as it was checked out
    checked_out = (ROOT / "src" / "eqty_lineage" / "deepagents" / "clock.py").read_bytes()
    assert cid_of(checked_out) in lineage.ancestors(lineage.tool("x1").files("wrote")[MODULE])
    assert reasons(session.handler) == {"SHELL"}
