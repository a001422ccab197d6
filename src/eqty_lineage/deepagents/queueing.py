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
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from eqty_lineage.deepagents.base import BaseRoom
from eqty_lineage.deepagents.drafting import Frame, gaps_asset
from eqty_lineage.deepagents.facts import Asset, Computation, Gap, Why
from eqty_lineage.deepagents.gaps import Gaps
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.recording.recorder import BackgroundRecorder, InlineRecorder, Job, Recorder, Step
from eqty_lineage.deepagents.runs import OpenRun, Root
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from eqty_lineage.deepagents.recording.sdk import Context

logger = logging.getLogger("eqty.deepagents")

RECORDING: Final = "EQTY_LINEAGE_RECORDING"


class _ThreadContexts(Mapping[str, "Context"]):
    """The contexts of the threads a handler has recorded; looking one up waits for what is queued."""

    def __init__(self, handler: Queueing, targets: dict[str, sdk.Target]) -> None:
        self._handler = handler
        self._targets = targets

    def __getitem__(self, thread_id: str) -> Context:
        target = self._targets[str(thread_id)]
        self._handler.flush()
        return target.resolve()

    def __contains__(self, thread_id: object) -> bool:
        return str(thread_id) in self._targets

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._targets))

    def __len__(self) -> int:
        return len(self._targets)


class Queueing(BaseRoom):
    """The recorder's side of the handler."""

    def _prepare_queue(self, recording: str | None, *, wait: bool) -> None:
        """Set up the recorder; raise :class:`ConfigurationError` for an unknown kind."""
        self._recorder = _recorder(recording)
        self._wait = wait
        self._closed = False
        self._disabled = False
        self._local = threading.local()
        self._targets: dict[str, sdk.Target] = {}
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
            load = partial(self._import, run.root, manifest)
            self._submit(run.root, partial(iter, [load]), Gap(Why.IMPORT, run.name))

    @staticmethod
    def _import(root: Root, manifest: str) -> None:
        sdk.import_manifest(manifest, root.target.resolve())

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

    def _submit_ending(self, root: Root) -> None:
        """Queue what comes after all of a root run: its gaps, then its registration with the service."""
        self._submit(root, partial(self._gap_steps, root), Gap(Why.NOT_STORED, "gaps"))
        if self.has_service:
            self._submit(root, partial(iter, [partial(self._push, root)]), Gap(Why.SERVICE, "context"))

    def _gap_steps(self, root: Root) -> Iterator[Step]:
        """The last thing a root run records: what it could not record, storing included."""
        if root.gaps:
            asset = gaps_asset(list(root.gaps), root.gap_count)
            yield from sdk.asset_steps(asset, root.target.resolve)

    def _push(self, root: Root) -> None:
        """Register the run's context with the service; it is asked once, whatever it answers."""
        try:
            self.push(root.target.resolve())
        except Exception as error:  # noqa: BLE001 - the service is not the agent's concern
            self.note_gap(None, Gap(Why.SERVICE, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))

    def _after(self, *, ended: bool) -> None:
        """Store what a callback recorded, and at a root's end wait for all of it; the lock is free."""
        try:
            self._recorder.settle()
            if ended and self._wait:
                self._recorder.flush()
        except Exception as error:  # noqa: BLE001 - storing must not disturb the run
            self.note_gap(None, Gap(Why.CALLBACK, f"storing: {type(error).__name__}: {error}"))

    def note_gap(self, root: Root | None, gap: Gap) -> None:
        """Count a gap, for the handler and for the root run it belongs to."""
        self.gaps.note(gap)
        if root is not None:
            root.gaps.append(gap)
            root.gap_count += 1


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
