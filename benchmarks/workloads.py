"""The scripted runs that are measured: what the agent does, and how long its model takes to answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Answers from a script, after a pause that stands for the latency of a real model."""

    script: Any
    latency: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        """Ignore the tools: the script knows them."""
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        time.sleep(self.latency)
        return ChatResult(generations=[ChatGeneration(message=next(self.script))])


def _calls(*calls: tuple[str, dict[str, Any]], turn: int) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "id": f"c{turn}-{n}", "args": args} for n, (name, args) in enumerate(calls)]
    )


def _eight_turns() -> Iterator[AIMessage]:
    yield _calls(("write_file", {"file_path": "/notes.md", "content": "tide tables\n" * 40}), turn=1)
    yield _calls(("read_file", {"file_path": "/notes.md"}), turn=2)
    yield _calls(("write_file", {"file_path": "/report.md", "content": "# Tides\n\ndraft\n" * 30}), turn=3)
    edit = {"file_path": "/notes.md", "old_string": "tide", "new_string": "Tide", "replace_all": True}
    yield _calls(("edit_file", edit), turn=4)
    yield _calls(("ls", {"path": "/"}), ("read_file", {"file_path": "/report.md"}), turn=5)
    edit = {"file_path": "/report.md", "old_string": "draft", "new_string": "final", "replace_all": True}
    yield _calls(("edit_file", edit), turn=6)
    yield _calls(("read_file", {"file_path": "/report.md"}), turn=7)
    yield AIMessage("The report is in /report.md.")


def _writing_turns(turns: int) -> Iterator[AIMessage]:
    for turn in range(1, turns):
        text = f"turn {turn}\n" + "four kilobytes of text, more or less, line after line\n" * 75
        yield _calls(("write_file", {"file_path": "/draft.md", "content": text}), turn=turn)
    yield AIMessage("Done.")


def _editing_turns(turns: int) -> Iterator[AIMessage]:
    yield _calls(("read_file", {"file_path": "/draft.md"}), turn=0)
    for turn in range(1, turns + 1):
        edit = {"file_path": "/draft.md", "old_string": f"edit {turn - 1}\n", "new_string": f"edit {turn}\n"}
        yield _calls(("edit_file", edit), turn=turn)
    yield AIMessage("Done.")


def _listing_turns(turns: int) -> Iterator[AIMessage]:
    for turn in range(1, turns):
        yield _calls(("ls", {"path": "/"}), turn=turn)
    yield AIMessage("Done.")


def _parallel_calls() -> Iterator[AIMessage]:
    writes = [("write_file", {"file_path": f"/part-{n}.md", "content": f"part {n}\n"}) for n in range(20)]
    yield _calls(*writes, turn=1)
    yield AIMessage("Done.")


@dataclass(frozen=True)
class Workload:
    """One run to measure."""

    name: str
    script: Callable[[], Iterator[AIMessage]]
    latency: float = 0.0
    files: int = 0
    on_disk: bool = False

    def backend(self, folder: Path) -> FilesystemBackend | None:
        """Return the disk to work on, with the file that is edited there, or ``None`` for the agent's state."""
        if not self.on_disk:
            return None
        (folder / "draft.md").write_text("edit 0\n" + "ten kilobytes in a file of a hundred\n" * 280, encoding="utf-8")
        return FilesystemBackend(folder, virtual_mode=True)

    def run(self, callbacks: list[Any], backend: FilesystemBackend | None = None) -> Any:
        """Build the agent and run it once."""
        agent = create_deep_agent(
            model=ScriptedModel(script=self.script(), latency=self.latency),
            system_prompt="Work.",
            name="bench",
            **({} if backend is None else {"backend": backend}),
        )
        state: dict[str, Any] = {"messages": [HumanMessage("Go.")]}
        if self.files:
            state["files"] = {f"/seed/{n}.md": {"content": _seed(n), "encoding": "utf-8"} for n in range(self.files)}
        return agent.invoke(state, config={"callbacks": callbacks, "recursion_limit": 1_000})

    def holds(self, text: bytes) -> bool:
        """Return whether a text is that of one of the files this workload starts with."""
        number, _, _ = text.partition(b"\n")
        return number.isdigit() and int(number) < self.files and text.decode() == _seed(int(number))


def _seed(number: int) -> str:
    return f"{number}\n" + "ten kilobytes in a file of a hundred\n" * 280


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("a-8-turns-latency", _eight_turns, latency=0.5),
        *(Workload(f"b-{turns}-turns", lambda turns=turns: _writing_turns(turns)) for turns in (10, 20, 40, 80)),
        Workload("c-100-files", lambda: _listing_turns(20), files=100),
        Workload("d-20-parallel", _parallel_calls),
        Workload("e-run", lambda: _writing_turns(2)),
        Workload("f-50-edits-on-disk", lambda: _editing_turns(50), latency=0.5, on_disk=True),
    )
}
