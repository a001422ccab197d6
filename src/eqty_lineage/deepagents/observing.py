"""How a callback becomes one critical section whose drafts reach a recorder, and how a root run is opened and ended.

Storing happens outside the lock: the recorder takes jobs in the order the callbacks recorded them, and a root's end
waits for it only when the lock is free again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from eqty_lineage.deepagents import agents
from eqty_lineage.deepagents.base import BaseRoom, Frame
from eqty_lineage.deepagents.clock import now
from eqty_lineage.deepagents.extractors import Place, SkillExtractor, TodoListExtractor, VirtualFileExtractor
from eqty_lineage.deepagents.facts import Asset, Computation, Gap, Why
from eqty_lineage.deepagents.gaps import KEPT, Gaps
from eqty_lineage.deepagents.lanes import Conversation, Lane
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.recording.recorder import BackgroundRecorder, InlineRecorder, Job, Recorder, Step
from eqty_lineage.deepagents.runs import Kind, OpenRun, OpenRuns, Root

if TYPE_CHECKING:
    from uuid import UUID

    from eqty_sdk import Context

logger = logging.getLogger("eqty.deepagents")

DISABLED: Final = "EQTY_LINEAGE_DISABLED"
RECORDING: Final = "EQTY_LINEAGE_RECORDING"
_OVERLAP: Final = (
    "EqtyDeepAgentsHandler is observing %d runs at once. File and plan versions are keyed per run, so concurrent runs "
    "will be linked to each other's assets. Use one handler per invocation (sequential reuse across turns of one "
    "conversation is fine)."
)
_said_disabled = threading.Event()

Observed = Callable[..., Any]


def observed(method: Observed) -> Observed:
    """Make a callback of a method: one critical section, nothing raised, storing only after the lock is released.

    The method returns whether it ended a root run.
    """

    @functools.wraps(method)
    def callback(self: Observer, *args: Any, **kwargs: Any) -> None:
        if self._disabled or self._closed:
            return
        ended = False
        self._local.inside = True
        try:
            with self._lock:
                ended = bool(method(self, *args, **kwargs))
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            self._note_failure(method.__name__, error, kwargs.get("run_id"))
        finally:
            self._local.inside = False
        self._after(ended=ended)

    return callback


class _ThreadContexts(Mapping[str, "Context"]):
    """The contexts of the threads a handler has recorded; looking one up waits for what is queued."""

    def __init__(self, handler: Observer, targets: dict[str, sdk.Target]) -> None:
        self._handler = handler
        self._targets = targets

    def __getitem__(self, thread_id: str) -> Context:
        target = self._targets[str(thread_id)]
        self._handler.flush()
        return target.resolve()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._targets))

    def __len__(self) -> int:
        return len(self._targets)


class Observer(BaseRoom):
    """What every callback of the handler needs; ``EqtyDeepAgentsHandler`` documents the constructor."""

    def __init__(
        self,
        verbose: bool = False,  # noqa: FBT001, FBT002 - the base handler takes it by position
        *,
        integrity_service_url: str | None = None,
        recording: Literal["background", "inline"] | None = None,
        wait: bool = True,
    ) -> None:
        """Check the configuration, then set up."""
        self._disabled = os.environ.get(DISABLED) == "1"
        self._closed = False
        self._wait = wait
        self._local = threading.local()
        self._open_runs = OpenRuns()
        self._conversations: dict[str, Conversation] = {}
        self._targets: dict[str, sdk.Target] = {}
        self._latest: sdk.Target | None = None
        self._warned = False
        self.gaps = Gaps()
        """What could not be recorded; see :class:`eqty_lineage.deepagents.gaps.Gaps`."""
        self._recorder = _recorder(recording)
        if self._disabled:
            self.verbose = verbose
            if not _said_disabled.is_set():
                _said_disabled.set()
                logger.warning("%s=1: EqtyDeepAgentsHandler records nothing", DISABLED)
            return
        sdk.require_signer()
        super().__init__(verbose, integrity_service_url=integrity_service_url)
        self._own = Conversation(sdk.cid_of)
        for extractor in (SkillExtractor(), TodoListExtractor(), VirtualFileExtractor()):
            self.add_extractor(extractor)
        sdk.warn_once_if_contents_are_not_stored()

    # --- reading back

    @property
    def context(self) -> Context:
        """The context of the latest invocation, once all that is queued is stored.

        Inside a callback of this handler it does not wait.
        """
        if self._disabled:
            return sdk.default_context()
        if not getattr(self._local, "inside", False):
            self.flush()
        return self._root_context if self._latest is None else self._latest.resolve()

    @property
    def contexts(self) -> Mapping[str, Context]:
        """The contexts of the threads this handler has recorded, by ``thread_id``; looking one up waits as above."""
        return _ThreadContexts(self, self._targets)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything queued is stored; return whether that came about within ``timeout`` seconds."""
        return self._recorder.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - the same contract as flush
        """Do what ``flush`` does without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Flush and record no more; return whether everything was stored in time."""
        self._closed = True
        return self._recorder.close(timeout)

    def __copy__(self) -> Self:
        """Return the handler itself: frameworks copy configurations, and a run must keep its one observer."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the handler itself, for the same reason."""
        return self

    def __reduce__(self) -> Any:
        """Refuse to be pickled: a handler belongs to the process whose runs it observes."""
        message = "EqtyDeepAgentsHandler cannot be pickled; construct one in the process that runs the agent"
        raise pickle.PicklingError(message)

    # --- opening runs

    def _open(
        self, kind: Kind, name: str, run_id: UUID, parent_run_id: UUID | None, metadata: dict[str, Any] | None
    ) -> OpenRun | None:
        """Open a run; ``None`` if it is open already, because the handler was attached twice."""
        if self._open_runs.get(run_id) is not None:
            return None
        meta = dict(metadata or {})
        parent = self._open_runs.get(parent_run_id)
        started = agents.started_by(parent, meta) if kind is Kind.CHAIN else None
        if parent is None:
            root, lane = self._start_root(run_id, name, meta)
        elif started is None:
            root, lane = parent.root, parent.lane
        else:
            root = parent.root
            call = started.caller.tool_call_id if started.caller is not None else None
            lane = root.conversation.enter(started.key, started.agent, parent.lane, call or "")
            lane.named = _text(meta.get(agents.AGENT_NAME)) or parent.lane.named
            lane.owner = run_id
        step = meta.get("langgraph_step")
        run = OpenRun(
            run_id,
            parent,
            root,
            kind,
            name,
            lane,
            meta,
            now(),
            step=step if isinstance(step, int) and not isinstance(step, bool) else None,
            starts_agent=started is not None,
        )
        at_once = self._open_runs.add(run)
        if at_once and not self._warned:
            self._warned = True
            logger.warning(_OVERLAP, at_once)
        return run

    def _start_root(self, run_id: UUID, name: str, metadata: Mapping[str, Any]) -> tuple[Root, Lane]:
        thread = metadata.get("thread_id")
        thread = None if thread is None else str(thread)
        if thread is not None:
            conversation = self._conversations.setdefault(thread, Conversation(sdk.cid_of))
        elif self._own.open_runs == 0:
            conversation = self._own
        else:
            # runs at the same time without a thread id: whatever one does is not known to the other
            conversation = Conversation(sdk.cid_of)
        agent = _text(metadata.get(agents.AGENT_NAME)) or name
        target = self.target_for(thread, agent)
        if thread is not None:
            self._targets[thread] = target
        self._latest = target
        conversation.turns += 1
        conversation.open_runs += 1
        lane = conversation.root
        lane.agent = agent
        lane.named = _text(metadata.get(agents.AGENT_NAME))
        lane.owner = run_id if agents.is_agent(metadata) else None
        return Root(run_id, conversation, target, conversation.turns), lane

    # --- from drafts to jobs

    @contextlib.contextmanager
    def _recording(self, run: OpenRun, place: Place) -> Iterator[Frame]:
        """Collect what one callback drafts, and queue it whole; nothing of it if the callback fails."""
        with self.drafting(run, place) as frame:
            yield frame
        root = run.root
        for asset in frame.assets:
            self._submit_asset(root, asset)
        for computation in frame.computations:
            self._submit_computation(root, computation)
        for manifest in frame.manifests:
            self._submit(
                root,
                lambda manifest=manifest: iter([lambda: sdk.import_manifest(manifest, root.target.resolve())]),
                Gap(Why.IMPORT, run.name),
            )

    def _submit_asset(self, root: Root, asset: Asset) -> None:
        def steps() -> Iterator[Step]:
            yield from sdk.asset_steps(asset, root.target.resolve)
            yield lambda: root.stored.add(asset.cid)

        def lose() -> None:
            if asset.cid not in root.stored:
                root.lost.add(asset.cid)

        self._submit(root, steps, Gap(Why.NOT_STORED, "asset " + asset.name), lose)

    def _submit_computation(self, root: Root, computation: Computation) -> None:
        def steps() -> Iterator[Step]:
            return sdk.computation_steps(computation.without(root.lost), root.target.resolve)

        self._submit(root, steps, Gap(Why.NOT_STORED, "computation " + computation.name))

    def _submit(
        self, root: Root, steps: Callable[[], Iterator[Step]], gap: Gap, lose: Callable[[], None] | None = None
    ) -> None:
        def failed(error: BaseException) -> None:
            if lose is not None:
                lose()
            detail = f"{gap.what}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
            self.note_gap(root, Gap(gap.why, detail, gap.where))

        self._recorder.submit(Job(steps, failed))

    # --- ending runs

    def _close(self, run: OpenRun) -> None:
        """Close a run; the end of a root closes all that is left of it."""
        self._open_runs.remove(run)
        if run.ticket is not None:
            run.lane.files.abandon(run.ticket)
        if run.starts_agent:
            if run.root.paused:
                run.lane.running = False
            else:
                run.root.conversation.leave(run.lane)
        if run.parent is None:
            self._close_root(run)

    def _close_root(self, run: OpenRun) -> None:
        root = run.root
        left = self._open_runs.left_open(root)
        for other in left:
            if other.recorded:
                self.note_gap(root, Gap(Why.UNFINISHED, other.name, other.lane.label))
            if other.ticket is not None:
                other.lane.files.abandon(other.ticket)
            self._open_runs.remove(other)
        self.release([other.run_id for other in left])
        conversation = root.conversation
        conversation.open_runs -= 1
        if conversation.open_runs == 0:
            conversation.rest(paused=root.paused)
        self._submit(root, lambda: self._gap_steps(root), Gap(Why.NOT_STORED, "gaps"))
        if self.has_service:
            self._submit(root, lambda: iter([lambda: self._push(root)]), Gap(Why.SERVICE, "context"))

    def _gap_steps(self, root: Root) -> Iterator[Step]:
        """The last thing a root run records: what it could not record, storing included."""
        if root.gaps:
            asset = self.gaps_asset(list(root.gaps)[-KEPT:], len(root.gaps))
            yield from sdk.asset_steps(asset, root.target.resolve)

    def _push(self, root: Root) -> None:
        """Register the run's context with the service; it is asked once, whatever it answers."""
        try:
            self.push(root.target.resolve())
        except Exception as error:  # noqa: BLE001 - the service is not the agent's concern
            self.note_gap(None, Gap(Why.SERVICE, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))

    def _after(self, *, ended: bool) -> None:
        """Store, and wait, once the lock is free."""
        try:
            self._recorder.settle()
            if ended and self._wait:
                self._recorder.flush()
        except Exception as error:  # noqa: BLE001 - storing must not disturb the run
            self._note_failure("storing", error, None)

    def note_gap(self, root: Root | None, gap: Gap) -> None:
        """Count a gap, for the handler and for the root run it belongs to."""
        self.gaps.note(gap)
        if root is not None:
            root.gaps.append(gap)

    def _note_failure(self, callback: str, error: BaseException, run_id: UUID | None) -> None:
        """Turn an exception in a callback into a gap."""
        run = self._open_runs.get(run_id)
        root = None if run is None else run.root
        logger.debug("callback %s failed", callback, exc_info=error)
        self.note_gap(root, Gap(Why.CALLBACK, f"{callback}: {type(error).__name__}: {error}"))


def _recorder(recording: str | None) -> Recorder:
    kind = recording or os.environ.get(RECORDING) or "background"
    match kind:
        case "background":
            return BackgroundRecorder()
        case "inline":
            return InlineRecorder()
        case _:
            message = f"recording must be 'background' or 'inline', not {kind!r}"
            raise sdk.ConfigurationError(message)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
