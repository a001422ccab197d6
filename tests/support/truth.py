"""What files really held, and when, while an agent ran; and whether what was recorded of them is so."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepagents.backends import FilesystemBackend, LocalShellBackend, StoreBackend
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.store.memory import InMemoryStore

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from eqty_lineage.deepagents.facts import Asset, Computation
from eqty_lineage.deepagents.filesystem import contents

Snapshot = dict[str, bytes]


class Witness:
    """Looks at the files after every change, one change at a time."""

    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look
        self.one_slash = look.__name__ == "on_disk"
        """Whether a second slash at the start of a path makes no difference."""
        self.lock = threading.RLock()
        self.snapshots: list[Snapshot] = [look()]

    def during(self, change: Callable[[], Any]) -> Any:
        with self.lock:
            try:
                return change()
            finally:
                self.snapshots.append(self._look())


def witnessed(kind: type[Any], look: Callable[[], Snapshot], *args: Any, **options: Any) -> tuple[Any, Witness]:
    """A backend of a kind whose every change is witnessed."""
    witness = Witness(look)

    class Witnessed(kind):  # type: ignore[misc]
        def write(self, *args: Any, **kwargs: Any) -> Any:
            return witness.during(lambda: super(Witnessed, self).write(*args, **kwargs))

        def edit(self, *args: Any, **kwargs: Any) -> Any:
            return witness.during(lambda: super(Witnessed, self).edit(*args, **kwargs))

        def delete(self, *args: Any, **kwargs: Any) -> Any:
            return witness.during(lambda: super(Witnessed, self).delete(*args, **kwargs))

        if hasattr(kind, "execute"):

            def execute(self, *args: Any, **kwargs: Any) -> Any:
                return witness.during(lambda: super(Witnessed, self).execute(*args, **kwargs))

    return Witnessed(*args, **options), witness


def look_at(folder: Path) -> Callable[[], Snapshot]:
    def on_disk() -> Snapshot:
        found: Snapshot = {}
        for where, _, names in os.walk(folder):
            for name in names:
                path = Path(where, name)
                found["/" + str(path.relative_to(folder))] = path.read_bytes()
        return found

    return on_disk


def disk(folder: Path) -> tuple[Any, Witness]:
    return witnessed(FilesystemBackend, look_at(folder), folder, virtual_mode=True)


def shell(folder: Path) -> tuple[Any, Witness]:
    return witnessed(LocalShellBackend, look_at(folder), folder, virtual_mode=True)


def store() -> tuple[Any, Witness]:
    kept = InMemoryStore()

    def look() -> Snapshot:
        found: Snapshot = {}
        for item in kept.search(("files",), limit=1_000):
            content = contents.content_of(item.value)
            if isinstance(content, contents.Content):
                found[item.key] = content.data
        return found

    return witnessed(StoreBackend, look, store=kept, namespace=lambda _: ("files",))


class Timeline(BaseCallbackHandler):
    """Notes what the files held when each tool call began and ended, and what each lane's states showed."""

    run_inline = True

    def __init__(self, witness: Witness | None) -> None:
        self._witness = witness
        self._calls: dict[Any, str] = {}
        self.begun: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.states_before: dict[str, int] = {}
        """How many states had been shown when a call ended."""
        self.states: list[tuple[str, dict[str, bytes]]] = []
        """Lane and files of each model node's input, in order."""

    def _now(self) -> int:
        if self._witness is None:
            return 0
        with self._witness.lock:
            return len(self._witness.snapshots) - 1

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **kwargs: Any) -> None:
        self._calls[run_id] = kwargs["tool_call_id"]
        self.begun[kwargs["tool_call_id"]] = self._now()

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.ended[self._calls[run_id]] = self._now()
        self.states_before[self._calls[run_id]] = len(self.states)

    def on_tool_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        self.ended[self._calls[run_id]] = self._now()

    def on_chain_start(self, serialized: Any, inputs: Any, *, metadata: Any = None, **kwargs: Any) -> None:
        if kwargs.get("name") == "model" and isinstance(inputs, dict) and "files" in inputs:
            lane = (metadata or {}).get("langgraph_checkpoint_ns", "").rpartition("|")[0]
            found = {path: contents.content_of(entry) for path, entry in inputs["files"].items()}
            self.states.append(
                (lane, {path: one.data for path, one in found.items() if isinstance(one, contents.Content)})
            )

    def until(self) -> "Timeline":
        """Another, to be called after the handler: a witness that the handler asks sees what comes up until then."""
        later = Timeline(self._witness)
        later._calls, self.ended = self._calls, later.ended
        return later

    def next_state(self, call: str, lane: str) -> dict[str, bytes] | None:
        """What the next state of a lane showed after a call."""
        later = self.states[self.states_before[call] :]
        return next((files for where, files in later if where == lane), None)

    def held(self, call: str, path: str) -> list[bytes | None]:
        """What ``path`` held at some time between the start and the end of a call."""
        assert self._witness is not None
        place = "/" + path.lstrip("/") if self._witness.one_slash else path
        between = self._witness.snapshots[self.begun[call] : self.ended[call] + 1]
        return [snapshot.get(place) for snapshot in between]


@dataclass
class Collected:
    """What a handler recorded, without signing it."""

    assets: dict[str, bytes] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, handler: EqtyDeepAgentsHandler) -> "Collected":
        """Have a handler hand over what it would store."""
        collected = cls()

        def asset(_: Any, one: Asset) -> None:
            if one.data is not None:
                collected.assets[str(one.cid)] = one.data

        def computation(_: Any, one: Computation) -> None:
            fields = json.loads(one.metadata)
            collected.steps.append({**fields, "inputs": one.inputs, "outputs": one.outputs})

        handler._submit_asset = asset  # type: ignore[method-assign]
        handler._submit_computation = computation  # type: ignore[method-assign]
        handler._submit_ending = lambda root: None  # type: ignore[method-assign]
        return collected


def untruths_outside(collected: Collected, timeline: Timeline) -> Iterator[str]:
    """What is asserted of files outside state that was not so at that moment."""
    for step in collected.steps:
        call = step.get("tool_call_id")
        for use in step.get("files", []):
            told = f"{step['name']} {call} {use['role']} {use['path']} ({use['evidence']})"
            if use["evidence"] in ("rendering", "edit") or call is None or call not in timeline.ended:
                continue
            data = collected.assets[use["cid"]]
            held = timeline.held(call, use["path"])
            after, before = held[1:], held[:-1] or held
            match use["role"]:
                case "wrote" if data not in after:
                    yield f"{told}: {data!r} was never there, but {held}"
                case "read" | "present" if data not in held:
                    yield f"{told}: {data!r} was not there, but {held}"
                case "replaced" if data not in before:
                    yield f"{told}: {data!r} was not there before, but {held}"
                case "removed" if data not in before or None not in after:
                    yield f"{told}: {data!r} was not there or is still, but {held}"


def untruths_in_state(
    collected: Collected, timeline: Timeline, final: dict[str, Any], alone: set[str]
) -> Iterator[str]:
    """What is asserted of files in state that no state of that lane ever showed.

    ``alone`` are the calls that were the only ones of their message: the next state shows what they did.
    """
    shown: dict[str, list[dict[str, bytes]]] = {}
    for lane, files in timeline.states:
        shown.setdefault(lane, []).append(files)
    last = {path: contents.content_of(entry) for path, entry in final.items()}
    shown.setdefault("", []).append({path: one.data for path, one in last.items() if isinstance(one, contents.Content)})
    for step in collected.steps:
        lane = step["lane"]
        for use in step.get("files", []):
            if use["evidence"] in ("rendering", "edit") or lane not in shown:
                continue
            data = collected.assets[use["cid"]]
            # a call that delegates hands on what another lane held
            states = [state for states in shown.values() for state in states] if step["name"] == "task" else shown[lane]
            if use["role"] in ("read", "replaced", "removed", "present") and not any(
                state.get(use["path"]) == data for state in states
            ):
                yield f"{step['name']} {use['role']} {use['path']} in {lane!r}: no state showed {data!r}"
            call = step.get("tool_call_id")
            state = timeline.next_state(call, lane) if call in alone and call in timeline.states_before else None
            if state is not None and step["name"] != "task":
                if use["role"] == "wrote" and state.get(use["path"]) != data:
                    yield f"{step['name']} {call} wrote {use['path']}: the next state has {state.get(use['path'])!r}"
                if use["role"] == "removed" and use["path"] in state:
                    yield f"{step['name']} {call} removed {use['path']}: the next state has it"
