"""What the tests of recording need: exports read whole, stores and SDK calls that fail on demand, memory searched."""

import base64
import gc
import itertools
import json
import os
import tempfile
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from eqty_sdk import Context
from eqty_sdk.context import graph_context

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from eqty_lineage.deepagents.facts import Asset, AssetId, Computation
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.recording.jobs import Job, asset_job, computation_job, other_job
from eqty_lineage.deepagents.references import KEY
from support.agents import agent, asked, asks, call, says
from support.sdk import new_context

# --- exports


def bare(cid: Any) -> str:
    return str(cid).removeprefix("urn:cid:")


def _listed(cids: str | list[str]) -> tuple[str, ...]:
    """A single CID is exported without a list around it."""
    return tuple(bare(cid) for cid in ([cids] if isinstance(cids, str) else cids))


@dataclass(frozen=True)
class Step:
    """One computation."""

    id: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    fields: dict[str, Any]

    @property
    def named(self) -> tuple[str, str]:
        return self.fields.get("name", ""), self.fields.get("computation_type", "")

    @property
    def identity(self) -> tuple[Any, ...]:
        return *self.named, self.fields.get("run_id"), self.fields.get("sequence")


class Export:
    """One exported manifest. CIDs are bare; what is missing is missing."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.blobs = {bare(cid): base64.b64decode(text, validate=True) for cid, text in manifest["blobs"].items()}
        self.statements = {bare(id_): statement for id_, statement in manifest["statements"].items()}
        self.registered: set[str] = set()
        self.descriptions: dict[str, list[dict[str, Any]]] = {}
        for statement in self.of_kind("DataRegistration").values():
            self.registered.update(_listed(statement["data"]))
        for statement in self.of_kind("MetadataRegistration").values():
            blob = self.blobs.get(bare(statement["metadata"]), b"")
            # what is missing or cut off is null
            self.descriptions.setdefault(bare(statement["subject"]), []).append(json.loads(blob) if blob else None)
        steps = [
            Step(id_, _listed(one["input"]), _listed(one["output"]), (self.descriptions.get(id_) or [{}])[0] or {})
            for id_, one in self.of_kind("ComputationRegistration").items()
        ]
        self.steps = sorted(steps, key=lambda step: step.fields.get("sequence", 0))

    @classmethod
    def of(cls, context: Context) -> "Export":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "manifest.json")
            context.export(path)
            return cls(json.loads(path.read_bytes()))

    def of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        return {id_: statement for id_, statement in self.statements.items() if statement["@type"] == kind}

    def named(self) -> list[tuple[str, str]]:
        """The (name, kind) of every computation, in recorded order."""
        return [step.named for step in self.steps]

    def tool(self, call_id: str) -> Step:
        (step,) = [step for step in self.steps if step.fields.get("tool_call_id") == call_id]
        return step

    def assets(self) -> set[tuple[str, str, str, str]]:
        """The (CID, type, name, all metadata) of every asset."""
        return {
            (cid, one["assetType"], one["name"], json.dumps(one, sort_keys=True))
            for cid, described in self.descriptions.items()
            for one in described
            if one is not None and "assetType" in one
        }

    def called(self, name: str) -> list[str]:
        """The CIDs of the assets of a name."""
        return [asset[0] for asset in sorted(self.assets()) if asset[2] == name]

    def payload(self, cid: str) -> Any:
        payload = json.loads(self.blobs[cid])
        if isinstance(payload, dict) and payload.keys() == {"statements", "count", "before"}:
            # a seal; ids are bare here
            payload["statements"] = [bare(id_) for id_ in payload["statements"]]
        return payload

    def dangling(self) -> list[str]:
        """What is used and not there, as sentences; empty where all is well."""
        found = [f"{id_} has no metadata" for id_, described in self.descriptions.items() if None in described]
        for step in self.steps:
            if len(self.descriptions.get(step.id, [])) != 1:
                found.append(f"{step.named} is described {len(self.descriptions.get(step.id, []))} times")
            for cid in (*step.inputs, *step.outputs):
                if cid not in self.registered:
                    found.append(f"{step.named} uses {cid} {self.descriptions.get(cid)}, which is not registered")
                if cid not in self.descriptions:
                    found.append(f"{step.named} uses {cid}, which is not described")
                if cid not in self.blobs:
                    found.append(f"{step.named} uses {cid} {self.descriptions.get(cid)}, which has no content")
        for cid, blob in self.blobs.items():
            if cid in self.registered and bare(sdk.cid_of(blob)) != cid:
                found.append(f"{cid} is not the CID of its content")
        found += [f"{cid} is referred to and not there" for cid in self.references() - self.blobs.keys()]
        twice = [identity for identity, times in Counter(step.identity for step in self.steps).items() if times > 1]
        return found + [f"{identity} is recorded twice" for identity in twice]

    def references(self) -> set[str]:
        """Every CID that a stored payload, message or transcript refers to."""
        return {cid for blob in self.blobs.values() for cid in self.references_in(blob)}

    def references_in(self, blob: bytes) -> set[str]:
        try:
            return set(_references(json.loads(blob)))
        except ValueError:
            return set()

    def seals(self) -> list[dict[str, Any]]:
        return [self.payload(cid) for cid in self.called("run seal")]


def _references(value: Any, *, users_own: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        kind = None if users_own else value.get(KEY)
        if kind in ("value", "messages", "payload"):
            yield bare(value["cid"])
        elif kind == "escaped":
            yield from _references(value["value"], users_own=True)
        elif value.keys() == {"before", "messages"}:
            # a transcript
            yield from (bare(cid) for cid in (*value["messages"], value["before"]) if cid is not None)
        else:
            for item in value.values():
                yield from _references(item)


# --- runs

_seconds = itertools.count()


@contextmanager
def own_second() -> Iterator[None]:
    """Make all statements in a second no other run has: equal statements of one second are one, in all contexts."""
    before = os.environ.get("EQTY_TIMESTAMP")
    os.environ["EQTY_TIMESTAMP"] = time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_000_000_000 + os.getpid() * 1_000 % 10**8 + next(_seconds))
    )
    try:
        yield
    finally:
        os.environ.pop("EQTY_TIMESTAMP")
        if before is not None:
            os.environ["EQTY_TIMESTAMP"] = before


class Recording:
    """A handler with a context of its own, and what came of the runs under it."""

    def __init__(self, handler: EqtyDeepAgentsHandler | None = None, **options: Any) -> None:
        self.context = new_context("recording")
        self.handler = handler or EqtyDeepAgentsHandler(**options)
        self.answers: list[Any] = []

    def run(
        self,
        runnable: Any,
        inputs: Any = None,
        *,
        thread: str | None = None,
        callbacks: tuple[Any, ...] = (),
        context: Context | None = None,
        flush: bool = True,
    ) -> Any:
        config = {
            "callbacks": [self.handler, *callbacks],
            "recursion_limit": 120,
            "configurable": {} if thread is None else {"thread_id": thread},
        }
        with graph_context(context or self.context), own_second():
            answer = runnable.invoke(asked() if inputs is None else inputs, config)
            if flush:
                self.handler.flush()
        self.answers.append(answer)
        return answer

    def export(self, thread: str | None = None) -> Export:
        self.handler.flush()
        return Export.of(self.context if thread is None else self.handler.contexts[thread])


def record(runnable: Any, inputs: Any = None, **options: Any) -> tuple[Recording, Export]:
    """Run once under a handler of its own."""
    recording = Recording(**options)
    recording.run(runnable, inputs)
    return recording, recording.export()


def write(call_id: str, path: str, content: str) -> dict[str, Any]:
    return call("write_file", call_id, file_path=path, content=content)


def edit(call_id: str, path: str, old: str, new: str) -> dict[str, Any]:
    return call("edit_file", call_id, file_path=path, old_string=old, new_string=new, replace_all=True)


def written(text: str = "a text\n") -> Any:
    """A deep agent that writes one file."""
    return agent(write("w", "/a.md", text))


def words(answer: Any) -> list[tuple[str, Any]]:
    """What an agent answered, without ids and times."""
    files = {path: data["content"] for path, data in answer.get("files", {}).items()}
    return [(message.type, message.content) for message in answer["messages"]] + sorted(files.items())


# --- a store that is not the SDK's


class FakeStore:
    """Notes what it is asked to state; ``faults`` has what a call raises the next times it comes."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.calls: list[tuple[str, Any]] = []
        self.statements: dict[str, None] = {}
        self.faults: dict[Any, list[BaseException]] = {}
        """By subject: what is raised first. An exhausted list succeeds."""
        self.broken: dict[Any, BaseException] = {}
        """By subject: what is raised every time."""
        self.open = threading.Event()
        """Cleared, every call hangs."""
        self.open.set()
        self.tried: Counter[Any] = Counter()
        self.threads: set[str] = set()

    def _call(self, kind: str, subject: Any, note: Any = None) -> None:
        self.open.wait()
        self.threads.add(threading.current_thread().name)
        for key in (subject, (kind, subject), kind):
            self.tried[key] += 1
            if key in self.broken:
                raise self.broken[key]
            if self.faults.get(key):
                raise self.faults[key].pop(0)
        self.calls.append((kind, subject if note is None else note))
        self.statements[f"{kind} {subject}"] = None

    def keep(self, _: str, data: bytes) -> None:
        self._call("keep", data.decode())

    def register(self, cids: list[AssetId]) -> None:
        self.open.wait()
        for cid in cids:
            for key in (cid, ("register", cid)):
                if key in self.broken:
                    raise self.broken[key]
        self._call("register", ",".join(cids), tuple(cids))

    def describe(self, subject: str, metadata: str) -> None:
        self._call("describe", subject)

    def compute(self, computation: Computation) -> str:
        self._call("compute", computation.name, (computation.name, *computation.inputs))
        return f"id of {computation.name}"

    def made(self, kind: str) -> list[Any]:
        return [subject for called, subject in self.calls if called == kind]


@dataclass
class Outcomes:
    """What became of jobs."""

    stored: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)


def asset(store: FakeStore, name: str, outcomes: Outcomes, *, alone: bool = False, data: bool = True) -> Job:
    one = Asset(AssetId(name), f'{{"name": "{name}"}}', name.encode() if data else None, name, alone=alone)
    return asset_job(
        store,
        one,
        stored=lambda: outcomes.stored.append(name),
        failed=lambda error: outcomes.failed.append((name, type(error).__name__)),
    )


def computation(store: FakeStore, name: str, outcomes: Outcomes, *inputs: str) -> Job:
    one = Computation(tuple(AssetId(cid) for cid in inputs), (AssetId("out"),), "{}", name)
    return computation_job(
        store,
        lambda: one,
        stored=lambda: outcomes.stored.append(name),
        failed=lambda error: outcomes.failed.append((name, type(error).__name__)),
    )


def other(store: FakeStore, name: str, outcomes: Outcomes) -> Job:
    return other_job(
        store,
        lambda: store.describe(name, "{}"),
        failed=lambda error: outcomes.failed.append((name, type(error).__name__)),
    )


# --- SDK calls that fail

SDK_CALLS = ("keep", "add_data_statement", "add_metadata_statement", "add_computation_statement")
"""What the SDK is asked to do when something is stored."""


class PanicException(BaseException):
    """What the SDK raises from its Rust code."""


class Faults:
    """Stands between this package and the SDK."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before: dict[str, Callable[[], None]] = {}
        """By call: what happens before it, a fault for instance."""
        self.counted: Counter[str] = Counter()
        sdk.warn_once_if_contents_are_not_stored()
        for name in ("add_data_statement", "add_metadata_statement", "add_computation_statement"):
            monkeypatch.setattr(sdk, name, self._around(name, getattr(sdk, name)))
        monkeypatch.setattr(sdk, "get_cid_for_bytes", self._around_cid(sdk.get_cid_for_bytes))

    def _meet(self, name: str) -> None:
        self.counted[name] += 1
        for key in (name, "any"):
            if key == "any" and name == "cid":
                continue
            if key in self.before:
                self.before[key]()

    def _around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._meet(name)
            return real(*args, **kwargs)

        return call

    def _around_cid(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            # one function of the SDK, asked for two things: only to hash, or to store as well
            self._meet("cid" if kwargs.get("_store") is False else "keep")
            return real(*args, **kwargs)

        return call


def raising(
    error: type[BaseException] | BaseException, *, after: int = 0, times: int | None = None
) -> Callable[[], None]:
    """Raise at a call, after some that pass; so many times, or for ever."""
    met = iter(range(10**9))

    def fail() -> None:
        now = next(met)
        if now >= after and (times is None or now < after + times):
            raise error

    return fail


# --- what is kept in memory


def reachable(start: Any, *, stop: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Everything an object keeps alive: not what classes, modules and functions' globals hold."""
    seen = {id(one) for one in stop}
    waiting = [start]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type | types.ModuleType | types.FrameType):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, types.FunctionType):
            waiting.extend(value.__closure__ or ())
            waiting.extend(value.__defaults__ or ())
        else:
            waiting.extend(gc.get_referents(value))


def texts_with(start: Any, marker: str) -> list[str]:
    """The strings and bytes an object keeps alive that hold a marker."""
    return [
        repr(value)[:120]
        for value in reachable(start)
        if (isinstance(value, str) and marker in value) or (isinstance(value, bytes) and marker.encode() in value)
    ]


# --- processes


def entries(journal: bytes) -> list[dict[str, Any]]:
    """The whole lines of a journal."""
    return [json.loads(line) for line in journal.splitlines(keepends=True) if line.endswith(b"\n")]


def turns(*calls: dict[str, Any], last: str = "done") -> list[Any]:
    return [*(asks(one) for one in calls), says(last)]
