"""Which release of DeepAgents is installed, what it can do, and agents built the way it wants them built.

What a release can do is found by looking (signatures, the tools of a default agent, what one run returns), never by its
number. A test that needs what is not there is skipped, and the reason names what is lacking.

As a program it prints what was found, as JSON.
"""

import functools
import importlib.util
import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from support import agents
from support.agents import asked, edit, read, says, task, write


def installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def lack(what: str) -> Any:
    """Skip this test: the release has no such thing."""
    pytest.skip(f"lacking: {what}")


def needs_deepagents() -> None:
    if not installed("deepagents"):
        lack("DeepAgents")


def _options() -> Mapping[str, inspect.Parameter]:
    from deepagents import create_deep_agent  # noqa: PLC0415 - looked at only where it is installed

    return inspect.signature(create_deep_agent).parameters


def takes(option: str) -> bool:
    """Whether ``create_deep_agent`` has this option."""
    return option in _options()


def needs(*options: str) -> None:
    """Skip this test where ``create_deep_agent`` lacks one of these options."""
    needs_deepagents()
    for option in options:
        if not takes(option):
            lack(f"{option}=")


@functools.cache
def belt() -> frozenset[str]:
    """The tools of a default agent."""
    return frozenset(agents.agent().nodes["tools"].bound.tools_by_name)


def needs_tools(*names: str) -> None:
    """Skip this test where a default agent lacks one of these tools."""
    needs_deepagents()
    for name in names:
        if name not in belt():
            lack(f"the tool {name}")


def agent(*turns: Any, plan: bool = False, **options: Any) -> Any:
    """A deep agent that follows a script, as this release builds one; see :func:`support.agents.agent`."""
    needs(*options.keys() - {"name", "model"})
    return agents.agent(*turns, plan=plan and "write_todos" not in belt(), **options)


def subagent(name: str, *turns: Any, plan: bool = False, **options: Any) -> Any:
    """The specification of a subagent that follows a script of its own."""
    needs("subagents")
    return agents.subagent(name, *turns, plan=plan and "write_todos" not in belt(), **options)


def backends() -> Any:
    """The module of the backends."""
    needs("backend")
    import deepagents.backends  # noqa: PLC0415 - not in every release

    return deepagents.backends


def disk(folder: Any) -> Any:
    """A backend that keeps files in a folder."""
    return backends().FilesystemBackend(root_dir=folder, virtual_mode=True)


def text_in(entry: Any) -> str:
    """The text of an entry of ``files``, in whichever shape this release keeps it."""
    content = entry if isinstance(entry, str) else entry["content"]
    return content if isinstance(content, str) else "\n".join(content)


def texts(answer: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the files that a run ended with."""
    return {path: text_in(entry) for path, entry in answer.get("files", {}).items()}


class Watcher(BaseCallbackHandler):
    """What the callbacks of a run are given, for a look at the release itself."""

    run_inline = True

    def __init__(self) -> None:
        self.starts: dict[str, dict[str, Any]] = {}
        self.ends: list[tuple[str, Any]] = []
        self.metadata: list[Mapping[str, Any]] = []
        self._open: dict[Any, str] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, *, metadata: Any = None, **kwargs: Any) -> None:
        self.metadata.append(metadata or {})

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, inputs: Any = None, **kwargs: Any) -> None:
        name = serialized["name"]
        self._open[run_id] = name
        self.starts.setdefault(name, {"inputs": inputs, **kwargs})

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.ends.append((self._open[run_id], output))


def _message(output: Any) -> Any:
    return output.update["messages"][-1] if hasattr(output, "goto") else output


def _status(message: Any) -> str:
    return str(getattr(message, "status", "success"))


def found() -> dict[str, str]:
    """Run one scripted agent without a recorder and say how this release behaves."""
    if not installed("deepagents"):
        return {}
    watcher = Watcher()
    helper = subagent("helper", says("helped"))
    answer = agent(
        write("w1", "/a.md", "one\n"),
        write("w2", "/a.md", "two\n"),
        edit("e", "/missing.md", "x", "y"),
        read("r", "/a.md"),
        task("t", "helper"),
        subagents=[helper],
    ).invoke(asked(), {"callbacks": [watcher]})
    calls = {"w1": "write_file", "w2": "write_file", "e": "edit_file", "r": "read_file"}
    ends = dict(zip(calls, [output for name, output in watcher.ends if name in calls.values()], strict=True))
    entry = answer["files"]["/a.md"]
    overwrote = text_in(entry) == "two\n"
    names = {name for one in watcher.metadata if isinstance(name := one.get("lc_agent_name"), str)}
    start = watcher.starts["write_file"]
    injected = sorted((start["inputs"] or {}).keys() - {"file_path", "content"})
    return {
        "tools": " ".join(sorted(belt())),
        "an entry of files": _shape(entry),
        "a write returns": type(ends["w1"]).__name__,
        "writing on a file": "overwrites" if overwrote else f"refused, status {_status(_message(ends['w2']))}",
        "a failed edit": f"status {_status(_message(ends['e']))}",
        "a read begins": repr(str(_message(ends["r"]).content)[:12]),
        "names of agents": " ".join(sorted(names)) or "none",
        "tool_call_id at a tool's start": "yes" if start.get("tool_call_id") else "no",
        "injected into a tool's inputs": " ".join(injected) or "nothing",
    }


def _shape(entry: Any) -> str:
    if isinstance(entry, str):
        return "text"
    return f"{{{', '.join(f'{key}: {type(value).__name__}' for key, value in sorted(entry.items()))}}}"


if __name__ == "__main__":
    json.dump(found(), sys.stdout)
