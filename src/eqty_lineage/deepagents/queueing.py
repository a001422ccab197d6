"""How drafts become jobs of a recorder, in the order the callbacks recorded them, and what can be waited for.

Storing happens outside the handler's lock. Each asset and each computation is a job of its own, so that one that can
never be stored costs only itself; a computation leaves out the assets that were lost before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from eqty_lineage.deepagents import progress
from eqty_lineage.deepagents.base import BaseRoom
from eqty_lineage.deepagents.drafting import Frame, gaps_asset, key_of
from eqty_lineage.deepagents.facts import Asset, AssetId, Computation, Gap, Why
from eqty_lineage.deepagents.gaps import Gaps
from eqty_lineage.deepagents.recent import Recent
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.recording.jobs import Job, Step, asset_job, computation_job, other_job
from eqty_lineage.deepagents.recording.journal import Journal
from eqty_lineage.deepagents.recording.recorder import QUEUE_SIZE, BackgroundRecorder, InlineRecorder, Recorder
from eqty_lineage.deepagents.recording.seals import seal_asset
from eqty_lineage.deepagents.runs import OpenRun, Root
from eqty_lineage.deepagents.sinks import Place
from eqty_lineage.deepagents.stats import Stats

if TYPE_CHECKING:
    from eqty_lineage.deepagents.recording.sdk import Context

logger = logging.getLogger("eqty.deepagents")

SEALS: Final[Recent[str, AssetId]] = Recent(sdk.MOST_THREADS)
"""By context: the last seal this process has made there."""
RECORDING: Final = "EQTY_LINEAGE_RECORDING"


@dataclass(frozen=True, slots=True)
class Options:
    """How a handler records; ``EqtyDeepAgentsHandler`` documents each."""

    recording: str | None = None
    wait: bool = True
    flush_timeout: float | None = None
    queue_size: int = QUEUE_SIZE
    inline_messages: bool = False
    journal: bool | str | os.PathLike[str] = False
    progress: bool | None = None


class _ThreadContexts(Mapping[str, "Context"]):
    """The contexts of the threads a handler has recorded; looking one up waits for what is queued."""

    def __init__(self, handler: Queueing, targets: Recent[str, sdk.Target]) -> None:
        self._handler = handler
        self._targets = targets

    def __getitem__(self, thread_id: str) -> Context:
        target = self._targets[str(thread_id)]
        self._handler.flush()
        return target.resolve()

    def __repr__(self) -> str:
        return f"<contexts of threads {list(self._targets)}>"

    def __contains__(self, thread_id: object) -> bool:
        return str(thread_id) in self._targets

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._targets))

    def __len__(self) -> int:
        return len(self._targets)


class Queueing(BaseRoom):
    """The recorder's side of the handler."""

    def _prepare_queue(self, options: Options) -> None:
        """Set up the recorder; raise :class:`ConfigurationError` for an unknown kind."""
        _check(options)
        self._recorder = _recorder(options.recording, options.queue_size)
        self._wait = options.wait
        self._flush_timeout = options.flush_timeout
        self._progress = options.progress
        self._inline_messages = options.inline_messages
        self._journal: Journal | None = None
        self._counted = Stats()
        self._counting = threading.Lock()
        self._closed = False
        self._disabled = False
        self._agent_works = False
        """Whether a run is open that does more than wait for a model."""
        self._local = threading.local()
        self._targets: Recent[str, sdk.Target] = Recent(sdk.MOST_THREADS)
        self._latest: sdk.Target | None = None
        self.gaps = Gaps()
        """What could not be recorded; see :class:`eqty_lineage.deepagents.gaps.Gaps`."""

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
        done = self._recorder.close(timeout)
        if done and self._journal is not None:
            self._journal.close()
            self._journal = None
        return done

    @property
    def stats(self) -> Stats:
        """How much was recorded so far, and what that cost."""
        return replace(self._counted, queued=self._recorder.queued, sdk_seconds=self._recorder.seconds)

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

    # --- from drafts to jobs

    @contextlib.contextmanager
    def _recording(self, run: OpenRun, place: Place) -> Iterator[Frame]:
        """Collect what one callback drafts and queue it; without its computations if the callback fails."""
        with self.drafting(run, place) as frame:
            try:
                yield frame
            finally:
                # a version that was drafted exists, whatever fails after that
                for asset in frame.assets:
                    self._submit_asset(run.root, asset)
        for computation in frame.computations:
            self._submit_computation(run.root, computation)
        for manifest in frame.manifests:
            self._submit(run.root, partial(self._import, run.root, manifest), Gap(Why.IMPORT, run.name))

    @staticmethod
    def _import(root: Root, manifest: str) -> None:
        sdk.import_manifest(manifest, root.target.resolve())

    def _submit_asset(self, root: Root, asset: Asset) -> None:
        journal = self._journal

        def stored() -> None:
            if asset.metadata:
                # the same content can be an asset and a part of another payload: only the first may be used
                root.stored.add(asset.cid)
                root.lost.pop(asset.cid, None)
            self._counted.stored += 1
            if journal is not None and noted:
                journal.stored()

        def failed(error: BaseException) -> None:
            root.registered.pop(key_of(asset), None)
            if asset.metadata and asset.cid not in root.stored:
                root.lost[asset.cid] = None
            self._note_loss(root, Gap(Why.NOT_STORED, f"asset {asset.name}"), error)

        self._counted.assets += 1
        noted = self._note_in_journal(root, asset)
        self._hand_over(asset_job(root.store, asset, stored=stored, failed=failed), failed)

    def _submit_computation(self, root: Root, computation: Computation) -> None:
        journal = self._journal

        def stored() -> None:
            self._counted.stored += 1
            if journal is not None and noted:
                journal.stored()

        failed = partial(self._note_loss, root, Gap(Why.NOT_STORED, f"computation {computation.name}"))
        self._counted.computations += 1
        noted = self._note_in_journal(root, computation)
        job = computation_job(root.store, lambda: computation.without(root.lost.keys()), stored=stored, failed=failed)
        self._hand_over(job, failed)

    def _note_in_journal(self, root: Root, drafted: Asset | Computation) -> bool:
        """Note a job in the journal, if there is one; a journal that fails keeps nothing from being stored."""
        if self._journal is None:
            return False
        try:
            context = str(root.target.resolve().id)
            if isinstance(drafted, Asset):
                self._journal.asset(context, drafted)
            else:
                self._journal.computation(context, drafted)
        except Exception as error:  # noqa: BLE001 - the disk can be full, the store locked
            self.note_gap(root, Gap(Why.JOURNAL, f"{type(error).__name__}: {error}"))
            return False
        return True

    def _hand_over(self, job: Job, failed: Callable[[BaseException], None]) -> None:
        """Queue a job; what cannot even be queued is lost."""
        try:
            self._recorder.submit(job)
        except Exception as error:  # noqa: BLE001 - one job must not cost the others of its callback
            failed(error)

    def _submit(self, root: Root, step: Step, gap: Gap) -> None:
        self._recorder.submit(other_job(root.store, step, failed=partial(self._note_loss, root, gap)))

    def _note_loss(self, root: Root, gap: Gap, error: BaseException) -> None:
        if gap.why is Why.NOT_STORED:
            self._counted.failed += 1
            if self._journal is not None:
                self._journal.failed()
        detail = f"{gap.what}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        self.note_gap(root, Gap(gap.why, detail, gap.where))

    def _note_stated(self, count: int) -> None:
        with self._counting:
            self._counted.statements += count

    def _submit_ending(self, root: Root) -> None:
        """Queue what comes after all of a root run: gaps, seal, then its registration with the service."""
        self._submit(root, partial(self._store_gaps, root), Gap(Why.GAPS, "gaps"))
        self._submit(root, partial(self._seal, root), Gap(Why.SEAL, "run seal"))
        if self.has_service:
            self._submit(root, partial(self._push, root), Gap(Why.SERVICE, "context"))

    def _store_gaps(self, root: Root) -> None:
        """Record, last of all of a root run, what it could not record, storing included."""
        if root.gaps:
            self._store_now(root, gaps_asset(list(root.gaps), root.gap_count))

    def _seal(self, root: Root) -> None:
        """Record the ids of all statements of a root run, so that a later removal shows; and the seal before it."""
        statements = root.store.statements
        if statements:
            context = str(root.target.resolve().id)
            asset = seal_asset(list(statements), SEALS.get(context))
            self._store_now(root, asset)
            SEALS[context] = asset.cid
        statements.clear()

    @staticmethod
    def _store_now(root: Root, asset: Asset) -> None:
        if asset.data is not None:
            root.store.keep(asset.cid, asset.data)
        root.store.register([asset.cid])
        root.store.describe(asset.cid, asset.metadata)

    def _push(self, root: Root) -> None:
        """Register the run's context with the service; it is asked once, whatever it answers."""
        try:
            self.push(root.target.resolve())
        except Exception as error:  # noqa: BLE001 - the service is not the agent's concern
            self.note_gap(None, Gap(Why.SERVICE, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))

    def _after(self, *, ended: bool) -> None:
        """Store what a callback recorded, and at a root's end wait for all of it; the lock is free."""
        try:
            self._recorder.note_agent(works=self._agent_works)
            self._recorder.settle()
            if ended and self._wait:
                self._wait_for_storage()
            elif ended:
                # nothing but this call may keep the recorder
                self._recorder.finish_later()
            if ended and self._journal is not None:
                self._journal.sync()
        except Exception as error:  # noqa: BLE001 - storing must not disturb the run
            self.note_gap(None, Gap(Why.CALLBACK, f"storing: {type(error).__name__}: {error}"))

    def _wait_for_storage(self) -> None:
        try:
            with progress.shown(self._progress) as waiting:
                done = self._recorder.flush(self._flush_timeout, waiting)
        except KeyboardInterrupt:
            # the agent is done: its answer is not to be lost with the wait
            logger.warning("interrupted: %d steps are still being stored in the background", self._recorder.queued)
            return
        if not done:
            self.note_gap(None, Gap(Why.NOT_YET, f"after {self._flush_timeout} s"))

    def note_gap(self, root: Root | None, gap: Gap) -> None:
        """Count a gap, for the handler and for the root run it belongs to."""
        if root is not None and gap.why in (Why.CALLBACK, Why.NOT_STORED, Why.JOURNAL, Why.EXTRACTOR):
            # what an exception says may quote what it was about
            gap = replace(gap, what=root.conversation.discretion.memory.lines.blank(gap.what))
        self.gaps.note(gap)
        if root is not None:
            root.gaps.append(gap)
            root.gap_count += 1


def _check(options: Options) -> None:
    size, timeout = options.queue_size, options.flush_timeout
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        message = f"queue_size must be a positive whole number, not {size!r}"
        raise sdk.ConfigurationError(message)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0):
        message = f"flush_timeout must be a number of seconds or None, not {timeout!r}"
        raise sdk.ConfigurationError(message)


def _recorder(recording: str | None, queue_size: int) -> Recorder:
    kind = recording or os.environ.get(RECORDING) or "background"
    match kind:
        case "background":
            return BackgroundRecorder(queue_size)
        case "inline":
            return InlineRecorder(queue_size)
        case _:
            message = f"recording must be 'background' or 'inline', not {kind!r}"
            raise sdk.ConfigurationError(message)
