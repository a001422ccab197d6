"""The one room that knows the private members of ``EqtyCallbackHandler`` (eqty-lineage-langchain 0.2.5).

The base handler works out which computations there are and what they use; it would register each asset and statement
as it goes. Here its hooks are overridden so that the same logic only *drafts* them into a :class:`Frame`, which the
handler completes and hands to a recorder. ``tests/contract/test_base_handler.py`` asserts every private name and
signature used, so that an upgrade fails loudly instead of drifting.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

from eqty_lineage.langchain import UNCLAIMED, EqtyCallbackHandler, PathExtractor, StateExtractor

from eqty_lineage.deepagents import payloads, references, results
from eqty_lineage.deepagents.clock import next_sequence, now
from eqty_lineage.deepagents.discretion.calls import Call
from eqty_lineage.deepagents.discretion.disk import Folder, withheld_below
from eqty_lineage.deepagents.discretion.names import redact_text
from eqty_lineage.deepagents.drafting import Frame, as_occurrence, ids
from eqty_lineage.deepagents.endings import Ending
from eqty_lineage.deepagents.extractors import TodoListExtractor, VirtualFileExtractor
from eqty_lineage.deepagents.facts import (
    AssetId,
    Computation,
    Gap,
    Status,
    Why,
    files_metadata,
)
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.given import AsyncTaskExtractor, MemoryExtractor, SkillExtractor
from eqty_lineage.deepagents.packing import Packing
from eqty_lineage.deepagents.payloads import plain, serialise
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.sinks import Place, StateSink

if TYPE_CHECKING:
    from uuid import UUID

    from langchain_core.outputs import LLMResult

    from eqty_lineage.deepagents.runs import OpenRun

_STATE_KEYS: Final = frozenset(
    {SkillExtractor, MemoryExtractor, AsyncTaskExtractor, TodoListExtractor, VirtualFileExtractor}
)

_DISTRIBUTION: Final = "eqty-lineage-deepagents"
try:
    RECORDER = f"{_DISTRIBUTION}/{metadata.version(_DISTRIBUTION)}"
except metadata.PackageNotFoundError:  # a source tree that is not installed
    RECORDER = f"{_DISTRIBUTION}/unknown"
VOCABULARY: Final = 1
"""Version of the words a manifest uses; see ``docs/manifest.md``."""


class BaseRoom(Packing, EqtyCallbackHandler):
    """``EqtyCallbackHandler`` with every registration turned into a draft."""

    # --- what the handler asks of this room

    @contextlib.contextmanager
    def drafting(self, run: OpenRun, place: Place) -> Iterator[Frame]:
        """Collect what the base handler drafts for ``run``; to be used under the lock.

        The base keeps per-handler state that belongs to one conversation or one root; it is set here for the frame.
        """
        frame = Frame(run, place)
        outer, self._frame = self._frame, frame
        self._framework = run.root.framework
        self._path_versions = run.root.conversation.path_versions
        self._path_latest = run.root.conversation.path_latest
        # a second context, or another run, needs the tool's asset again
        self._tool_cids.clear()
        self._retriever_cids.clear()
        try:
            yield frame
        finally:
            run.root.framework = self._framework
            self._frame = outer

    def nested_chain_start(self, *args: Any, **kwargs: Any) -> None:
        """Let the base handler's logic see the start of a chain run that is not a root."""
        EqtyCallbackHandler.on_chain_start(self, *args, **kwargs)

    def is_tracked(self, run_id: UUID) -> bool:
        """Whether the base handler will make a computation of this run."""
        return run_id in self._runs

    def add_inputs(self, run_id: UUID, cids: list[AssetId]) -> None:
        """Make assets inputs of a run that has started."""
        tracked = self._runs.get(run_id)
        if tracked is not None:
            inputs = tracked["inputs"]
            inputs.extend(cid for cid in dict.fromkeys(cids) if cid not in inputs)

    def input_of(self, run_id: UUID) -> AssetId | None:
        """Return the asset of what a tracked run was called with."""
        tracked = self._runs.get(run_id)
        return None if tracked is None else tracked.get("state_in")

    def release(self, run_ids: list[UUID]) -> None:
        """Drop what the base keeps of runs that will not end."""
        for run_id in run_ids:
            self._runs.pop(run_id, None)
            self._parents.pop(run_id, None)
            self._forget_run(run_id)
        self._sibling_outputs.pop(None, None)
        self._fallback_steps.pop(None, None)

    def push(self, context: Any) -> None:
        """Register a context with the integrity service, if one is configured."""
        EqtyCallbackHandler._register_context(self, context)  # noqa: SLF001 - the hook below is what the base calls

    def target_for(self, thread: str | None, name: str) -> sdk.Target:
        """Return the context a root run goes to: its thread's child, under the open ``graph_context`` if any."""
        parent = sdk.active_context() or self._root_context
        return sdk.Target(parent, thread, name, self._thread_contexts, self._thread_context_lock)

    def name_of(self, run_id: UUID) -> str:
        """Return the name a tracked run is recorded under."""
        tracked = self._runs.get(run_id)
        return "model" if tracked is None else str(tracked["name"])

    @property
    def has_service(self) -> bool:
        """Whether an integrity service is configured."""
        return self._ig_service is not None

    # --- hooks of the base handler

    def _asset_factory(self, asset_type: Any) -> Any:
        return _DraftFactory(self, asset_type._asset_type.value)  # noqa: SLF001 - the SDK has no public name for it

    def _finalize(self, name: str, kind: str, input_cids: list[Any], output_cids: list[Any]) -> None:
        frame = self._require_frame()
        run = frame.run
        outputs = ids(output_cids)
        if not outputs:
            # the SDK refuses a computation without outputs; a retrieval without hits happened all the same
            outputs = [self.draft("Dataset", {"documents": []}, f"{name}: no documents", "An empty result.")]
        entity = self.memory.entity
        outputs = [entity(cid) for cid in outputs]
        given = [entity(cid) for cid in ids(input_cids)]
        inputs = [cid for cid in given if cid not in outputs]
        if len(inputs) < len(given):
            self.note_gap(run.root, Gap(Why.SELF_INPUT, name, run.lane.label))
        fields: dict[str, Any] = {
            "name": name,
            "computation_type": kind,
            "framework": self._framework or "langchain",
            "sequence": next_sequence(),
            "agent": run.lane.agent,
            "lane": run.lane.key,
            **self._identity(run),
            "status": Status.ERROR.value if kind.endswith("_error") else run.status.value,
            "started_at": run.started_at,
            "ended_at": now(),
        }
        fields.update(run.notes)
        if run.tool_call_id is not None:
            fields["tool_call_id"] = run.tool_call_id
        if run.uses:
            uses = [replace(use, cid=entity(use.cid)) for use in run.uses]
            fields["files"] = files_metadata([use for use in uses if use.cid in inputs or use.cid in outputs])
        if run.parent is None and run.recorded and kind.removesuffix("_error") == self._kind_of_root(run):
            fields["recorder"] = RECORDER
            fields["vocabulary"] = VOCABULARY
        frame.computations.append(Computation(tuple(inputs), tuple(outputs), sdk.metadata_json(fields), name, run.urn))

    @staticmethod
    def _kind_of_root(run: OpenRun) -> str:
        return {"chain": "graph", "model": "chat_model", "tool": "tool", "retriever": "retriever"}[run.kind.value]

    @staticmethod
    def _identity(run: OpenRun) -> dict[str, str | None]:
        parent = run.nearest_recorded()
        return {
            "run_id": str(run.run_id),
            "parent_run_id": None if parent is None else str(parent.run_id),
            "root_run_id": str(run.root.run_id),
        }

    def _finalize_error(self, run: dict[str, Any], error: BaseException) -> Any:
        said = redact_text(payloads.text_of(error))
        tool = self._require_frame().run
        if tool.withheld is not None:
            # whatever raised it may say what it read; so do the errors of what is around it
            self.memory.learn(said)
            self.memory.texts.add(said)
        payload = {"error": type(error).__name__, "message": said}
        name = run["name"]
        cid = self.draft("Dataset", payload, f"{name}: error", f"Failure raised by '{name}'.")
        self._finalize(name, f"{run['kind']}_error", run.get("inputs", []), [cid])
        return cid

    def _record_failure(self, run: dict[str, Any] | None, error: BaseException) -> None:
        if run is None or Ending.of(error) is not Ending.STOPPED:
            super()._record_failure(run, error)
            return
        name = run["name"]
        payload = {"stopped": type(error).__name__}
        cid = self.draft("Dataset", payload, f"{name}: stopped", f"'{name}' was stopped before it was done.")
        self._finalize(name, run["kind"], run.get("inputs", []), [cid])

    def _register_state(
        self, obj: Any, name: str, description: str, extra: dict[str, Any] | None = None
    ) -> tuple[Any, list[Any], list[Any]]:
        frame = self._require_frame()
        sink = StateSink(self._verbose_metadata(extra or {}), frame.place, frame.run, self, obj)
        if obj is None:
            # as in the base: None means "no state update", and the SDK cannot hash it
            obj = {"state_update": None, "produced_by": name}
        self._look_ahead(obj, frame.run)
        payload = plain(obj, lambda path, value, in_command: self._claim(path, value, sink, in_command=in_command))
        payload = self._without_result(payload, obj, frame)
        payload = self.refined(payload)
        if frame.place.is_state:
            payload = as_occurrence(payload, frame)
        elif frame.place is Place.RESULT and sdk.cid_of(serialise(payload)) == frame.run.input_cid:
            payload = {"result": payload}
        payload = references.shorten(payload, self.keep_apart)
        frame.state = self.draft_bytes("Dataset", serialise(payload), name, description, sink.metadata)
        created = [*ids(sink.created), *frame.created]
        carried = [cid for cid in (*ids(sink.carried), *frame.carried) if cid not in created]
        return SimpleNamespace(cid=frame.state), carried, created

    @staticmethod
    def _look_ahead(obj: Any, run: OpenRun) -> None:
        """Learn which lines a state's withheld files have, before what else it holds becomes a payload."""
        memory = run.root.conversation.discretion.memory
        for update in results.updates_in(obj):
            for key in ("files", "memory_contents"):
                held = update.get(key)
                for path, entry in held.items() if isinstance(held, Mapping) else ():
                    if memory.fits(path) and entry and contents.is_filesystem({path: entry}, plain_strings=True):
                        content = contents.content_of(entry)
                        if isinstance(content, Content):
                            memory.withholds(path, sdk.cid_of(content.data), content.data)
                            if key == "memory_contents":
                                # the prompt shows it whole, also what is too short for a line
                                memory.learn_whole(content.text)

    @staticmethod
    def _without_result(payload: Any, obj: Any, frame: Frame) -> Any:
        """Return a tool's result without what it shows of a withheld file; what is a message is told by its call."""
        run = frame.run
        if frame.place is not Place.RESULT:
            return payload
        if results.message_in(obj) is not None:
            if run.withheld is not None and isinstance(payload, dict) and "command" in payload:
                # beside its message, a tool may update the state with what it read
                run.root.conversation.discretion.memory.learn_whole(payload["command"].get("update"))
            return payload
        discretion = run.root.conversation.discretion
        call = run.withheld
        if call is None and run.name == "grep" and isinstance(payload, str):
            path = discretion.memory.shown_by_search(payload)
            call = None if path is None else Call("grep", path)
        return payload if call is None or call.may_show(payload) else discretion.result(payload, call)

    def _claim(self, path: tuple[str, ...], value: Any, sink: StateSink, *, in_command: bool) -> Any:
        sink.look_at(path, in_command=in_command)
        if sink.state_key == "messages" and not self._inline_messages and self._extractors_are_ours:
            return self.transcript_of(value, sink)
        if isinstance(value, Path) and self._is_withheld(value, sink):
            return str(value)
        for extractor in self._extractors:
            # most values are none of the built-in extractors' business: this runs for every value of every state
            kind = type(extractor)
            if (kind in _STATE_KEYS and sink.state_key is None) or (
                kind is PathExtractor and not isinstance(value, Path)
            ):
                continue
            try:
                with self._context_for(kind, sink):
                    claimed = extractor.extract(path, value, sink)
            except Exception as error:  # noqa: BLE001 - a broken extractor must not take down the run
                what = f"{type(extractor).__name__} at {'.'.join(path)}: {type(error).__name__}"
                self.note_gap(sink.run.root, Gap(Why.EXTRACTOR, what, sink.run.lane.label))
                continue
            if claimed is not UNCLAIMED:
                return claimed if kind in _STATE_KEYS else plain(claimed)
        return UNCLAIMED

    def _is_withheld(self, path: Path, sink: StateSink) -> bool:
        """Record a file of this machine whose bytes are withheld: the SDK stores what it is asked the CID of."""
        memory = sink.memory
        try:
            held = withheld_below(path, memory, sdk.cid_of)
        except OSError:
            return False
        if held is None:
            return False
        if isinstance(held, Folder):
            self.note_gap(sink.run.root, Gap(Why.FOLDER, str(path), sink.run.lane.label))
            return True
        key = (str(path.resolve()), str(held.cid))
        known = self._path_versions.get(key) is not None
        self._path_versions[key] = cast("Any", held.cid)
        description = f"Filesystem asset referenced by LangGraph state: '{path}'."
        cid = self.draft_withheld("Dataset", held.cid, path.name, description, sink.metadata)
        if known:
            sink.carry(cid)
        else:
            sink.create(cid)
        return True

    @property
    def _extractors_are_ours(self) -> bool:
        """Whether no extractor of a user's has a claim on what stands inside messages."""
        return all(type(extractor) in _STATE_KEYS or type(extractor) is PathExtractor for extractor in self._extractors)

    def _context_for(self, kind: type[StateExtractor], sink: StateSink) -> contextlib.AbstractContextManager[Any]:
        """A user's extractor registers with the SDK itself: make sure that it lands in this run's context."""
        if kind in _STATE_KEYS or kind is PathExtractor:
            return contextlib.nullcontext()
        activated: contextlib.AbstractContextManager[Any] = sink.run.root.target.activated()
        return activated

    def _verbose_metadata(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not self.verbose:
            return {}
        return dict(super()._verbose_metadata(self.refined(plain(fields))))

    @classmethod
    def _caller_metadata(cls, metadata: dict[str, Any] | None) -> dict[str, Any]:
        return dict(super()._caller_metadata(plain(metadata or {})))

    @classmethod
    def _sampling_params(cls, params: dict[str, Any] | None) -> dict[str, Any]:
        return dict(super()._sampling_params(plain(params or {})))

    def _agent_boundary(self, run_id: Any, parent_run_id: Any, metadata: Any) -> str | None:
        del run_id, parent_run_id, metadata
        run = self._require_frame().run
        return run.lane.agent if run.starts_agent else None

    def _predecessor_outputs(self, parent_run_id: UUID | None, step: int) -> list[Any]:
        """Return what the step before left, or for a first step what its graph, agent or tool was called with."""
        outputs = list(super()._predecessor_outputs(parent_run_id, step))
        if not outputs:
            enclosing = self._enclosing_node(parent_run_id)
            if enclosing is not None and enclosing.get("state_in") is not None:
                outputs.append(enclosing["state_in"])
        return outputs

    def _import_integrity_manifests(self, response: LLMResult) -> None:
        del response
        frame = self._require_frame()
        for message in _messages(frame.response):
            manifest = getattr(message, "response_metadata", {}).get("eqty_integrity_manifest")
            if isinstance(manifest, Mapping):
                text = json.dumps(plain(manifest), sort_keys=True)
                if text not in frame.manifests:
                    frame.manifests.append(text)

    def _wire_cid(self, response: LLMResult, key: str) -> Any:  # type: ignore[override] # static in the base
        del response
        frame = self._require_frame()
        return None if frame.response is None else EqtyCallbackHandler._wire_cid(frame.response, key)  # noqa: SLF001

    def _activate_thread_context(self, metadata: Any, agent_name: Any | None = None) -> None:
        """Nothing: a run's context is chosen once, when its root starts."""

    def _bind_context_to_root_run(self, parent_run_id: UUID | None) -> None:
        """Nothing, for the same reason."""

    def _register_context(self, context: Any = None) -> None:
        """Nothing: the handler pushes the context once the root's statements are stored."""


class _DraftFactory:
    """Stands in for an SDK asset factory."""

    def __init__(self, room: BaseRoom, kind: str) -> None:
        self._room = room
        self._kind = kind

    def from_object(self, obj: Any, **metadata: Any) -> Any:
        data = serialise(self._room.pack(self._kind, obj))
        return self._draft(sdk.cid_of(data), data, metadata)

    def from_cid(self, cid: Any, **metadata: Any) -> Any:
        return self._draft(AssetId(str(cid)), None, metadata)

    def from_path(self, path: Path, **metadata: Any) -> Any:
        # the bytes are stored at once, because the file may change before a recorder gets to it
        return self._draft(sdk.snapshot(path), None, metadata)

    def _draft(self, cid: AssetId, data: bytes | None, metadata: dict[str, Any]) -> Any:
        fields = {"name": f"{self._kind}-{cid[-4:]}", **metadata, "assetType": self._kind}
        return SimpleNamespace(cid=self._room.enqueue(cid, data, fields))


def _messages(response: LLMResult | None) -> list[Any]:
    generations = [] if response is None else response.generations
    return [getattr(generation, "message", None) for batch in generations for generation in batch]
