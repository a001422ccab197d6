"""Nothing false: whatever a real agent does, every version asserted is what the files held at that moment.

The agent, its subagents, the tools and the backends are real; what is recorded is looked at before it is signed.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support import truth
from support.agents import agent, asked, asks, call, delete, edit, execute, file_data, read, says, subagent, task, write

PATHS = st.sampled_from(["/a.txt", "/d/b.txt", "//a.txt", "/d/e/c.txt"])
TEXTS = st.sampled_from(["x\n", "x y\n", "y\nx\n", "x\r\ny\r\n", "", "é x", "x\nx\n"])
WORDS = st.sampled_from(["x", "y", "\n", "xx"])


@st.composite
def calls(draw: st.DrawFn, *, shell: bool) -> dict[str, Any]:
    kinds = ["write", "write", "edit", "edit", "read", "delete", "grep", *(["execute"] if shell else [])]
    match draw(st.sampled_from(kinds)):
        case "write":
            return write("", draw(PATHS), draw(TEXTS))
        case "edit":
            return edit("", draw(PATHS), draw(WORDS), draw(WORDS), replace_all=draw(st.booleans()))
        case "read":
            window = (
                {"offset": draw(st.integers(0, 2)), "limit": draw(st.integers(1, 3))} if draw(st.booleans()) else {}
            )
            return read("", draw(PATHS), **window)
        case "delete":
            return delete("", draw(st.sampled_from(["/a.txt", "/d", "/d/b.txt", "//a.txt"])))
        case "grep":
            return call("grep", "", pattern=draw(WORDS.filter(str.isalpha)), output_mode="content")
        case _:
            commands = [
                "echo z >> a.txt",
                "rm -f a.txt",
                "false",
                "mkdir -p d && echo x > d/b.txt",
                "true",
                "echo Error",
            ]
            return execute("", draw(st.sampled_from(commands)))


@dataclass
class Script:
    """What an agent says, the subagents it calls, and what they say."""

    messages: list[AIMessage]
    helpers: list[Any]
    theirs: list[AIMessage]


@st.composite
def scripts(draw: st.DrawFn, *, shell: bool, delegates: bool, prefix: str = "") -> Script:
    """What an agent says, and the subagents it calls."""
    messages, helpers, scripted, number = [], [], [], 0
    for _ in range(draw(st.integers(1, 5))):
        asked_for = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            number += 1
            if delegates and draw(st.integers(0, 4)) == 0:
                name = f"helper{len(helpers)}"
                theirs = draw(scripts(shell=shell, delegates=False, prefix=f"{prefix}{name}-")).messages
                note(f"{name}: {[message.tool_calls for message in theirs]}")
                helpers.append(subagent(name, *theirs))
                scripted.extend(theirs)
                one = task("", name)
            else:
                one = draw(calls(shell=shell))
            asked_for.append({**one, "id": f"{prefix}c{number}"})
        messages.append(asks(*asked_for))
    return Script([*messages, says()], helpers, scripted)


def record(script: Script, witness: truth.Witness | None, *, asks_witness: bool = False, **options: Any) -> Any:
    messages, helpers = script.messages, script.helpers
    for message in messages:
        note(str(message.tool_calls))
    handler = EqtyDeepAgentsHandler(wait=False, witness=options.get("backend") if asks_witness else None)
    collected, timeline = truth.Collected.of(handler), truth.Timeline(witness)
    inputs = options.pop("inputs", asked())
    answer = agent(*messages, subagents=helpers, **options).invoke(
        inputs, {"callbacks": [timeline, handler, timeline.until()], "recursion_limit": 200}
    )
    assert not [why for why in handler.gaps.counts if why.name in ("CALLBACK", "EXTRACTOR", "SELF_INPUT")]
    return collected, timeline, answer


@given(st.data(), st.sampled_from(["disk", "shell", "store"]))
def test_outside_state(data: st.DataObject, kind: str):
    with tempfile.TemporaryDirectory() as folder:
        makers = {
            "disk": lambda: truth.disk(Path(folder)),
            "shell": lambda: truth.shell(Path(folder)),
            "store": truth.store,
        }
        if kind != "store" and data.draw(st.booleans()):
            Path(folder, "a.txt").write_text("x was here\n")
        backend, witness = makers[kind]()
        script = data.draw(scripts(shell=kind == "shell", delegates=True))
        asks_witness = data.draw(st.booleans(), "the backend is a witness too")
        collected, timeline, _ = record(script, witness, asks_witness=asks_witness, backend=backend)
        assert list(truth.untruths_outside(collected, timeline)) == []


@given(st.data())
def test_in_state(data: st.DataObject):
    files = {"/a.txt": file_data("x was here\n")} if data.draw(st.booleans()) else {}
    script = data.draw(scripts(shell=False, delegates=True))
    collected, timeline, answer = record(script, None, inputs=asked(files=files))
    messages = [*script.messages, *script.theirs]
    alone = {message.tool_calls[0]["id"] for message in messages if len(message.tool_calls) == 1}
    assert list(truth.untruths_in_state(collected, timeline, answer["files"], alone)) == []
