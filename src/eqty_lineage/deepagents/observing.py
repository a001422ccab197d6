"""How a callback becomes one critical section, and how runs are opened and closed."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

from eqty_lineage.deepagents import agents
from eqty_lineage.deepagents.clock import now
from eqty_lineage.deepagents.discretion import globs
from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.names import redact_text
from eqty_lineage.deepagents.discretion.walk import Discretion
from eqty_lineage.deepagents.endings import Ending
from eqty_lineage.deepagents.extractors import TodoListExtractor, VirtualFileExtractor
from eqty_lineage.deepagents.facts import Gap, Status, Why
from eqty_lineage.deepagents.given import AsyncTaskExtractor, MemoryExtractor, SkillExtractor
from eqty_lineage.deepagents.lanes import NAMESPACE, REGISTERED, Conversation, Lane
from eqty_lineage.deepagents.queueing import Options, Queueing
from eqty_lineage.deepagents.recent import Recent
from eqty_lineage.deepagents.recording import process, sdk
from eqty_lineage.deepagents.recording.journal import open_journal
from eqty_lineage.deepagents.recording.recorder import QUEUE_SIZE
from eqty_lineage.deepagents.recording.sdk import MOST_THREADS
from eqty_lineage.deepagents.runs import Kind, OpenRun, OpenRuns, Root
from eqty_lineage.deepagents.sinks import Place
from eqty_lineage.deepagents.transcripts import Messages
from eqty_lineage.deepagents.witnessing import TIMEOUT, Witness

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger("eqty.deepagents")

DISABLED: Final = "EQTY_LINEAGE_DISABLED"
_OVERLAP: Final = (
    "EqtyDeepAgentsHandler is observing %d runs at once. File and plan versions are keyed per run, so concurrent runs "
    "will be linked to each other's assets. Use one handler per invocation (sequential reuse across turns of one "
    "conversation is fine)."
)
_said_disabled = threading.Event()


def observed(method: Callable[..., None]) -> Callable[..., None]:
    """Make a callback of a method: one critical section, nothing raised, storing only once the lock is free."""

    @functools.wraps(method)
    def callback(self: Observer, *args: object, **kwargs: object) -> None:
        if self._disabled or self._closed or process.is_over():
            return
        if self._witness is not None and self._witness.is_asked_here():
            # what a witness does is no part of the run, and the lock is held by the callback that asked it
            return
        began = time.perf_counter()
        self._local.inside = True
        self._local.ended = False
        try:
            with self._lock:
                method(self, *args, **kwargs)
        except BaseException as error:
            if not _is_ours(error):
                raise
            run = self._open_runs.find(kwargs.get("run_id"))
            self._note_failure(method.__name__, error, None if run is None else run.root)
        finally:
            self._local.inside = False
            self._counted.events += 1
            self._counted.callback_seconds += time.perf_counter() - began
        self._after(ended=self._local.ended)

    return callback


class Observer(Queueing):
    """What every callback of the handler needs; ``EqtyDeepAgentsHandler`` documents the constructor."""

    def __init__(  # noqa: PLR0913 - all but the first are named
        self,
        verbose: bool = False,  # noqa: FBT001, FBT002 - the base handler takes it by position
        *,
        integrity_service_url: str | None = None,
        recording: Literal["background", "inline"] | None = None,
        wait: bool = True,
        flush_timeout: float | None = None,
        queue_size: int = QUEUE_SIZE,
        inline_messages: bool = False,
        journal: bool | str | os.PathLike[str] = False,
        progress: bool | None = None,
        content_policy: Iterable[str] | None = globs.DEFAULT,
        identity: Literal["content", "hidden"] = "content",
        witness: object = None,
        witness_timeout: float = TIMEOUT,
    ) -> None:
        """Check the configuration, then set up."""
        self._policy = _policy(content_policy)
        self._hidden = _is_hidden(identity)
        self._witness = Witness.of(witness, witness_timeout)
        options = Options(recording, wait, flush_timeout, queue_size, inline_messages, journal, progress)
        self._prepare_queue(options)
        self._disabled = os.environ.get(DISABLED) == "1" or process.is_orphan()
        self._open_runs = OpenRuns()
        self._conversations: Recent[str, Conversation] = Recent(MOST_THREADS)
        self._warned = False
        if self._disabled:
            self.verbose = verbose
            if not process.is_orphan() and not _said_disabled.is_set():
                _said_disabled.set()
                logger.warning("%s=1: EqtyDeepAgentsHandler records nothing", DISABLED)
            return
        sdk.require_signer()
        try:
            super().__init__(verbose, integrity_service_url=integrity_service_url)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            message = f"the integrity service cannot be used: {str(error).partition(chr(10))[0]}"
            raise sdk.ConfigurationError(message) from error
        self._own = self._conversation()
        for kind in (SkillExtractor, MemoryExtractor, AsyncTaskExtractor, TodoListExtractor, VirtualFileExtractor):
            self.add_extractor(kind())
        sdk.warn_once_if_contents_are_not_stored()
        if journal not in (True, False) and not isinstance(journal, str | os.PathLike):
            message = f"journal must be True, False or a path, not {journal!r}"
            raise sdk.ConfigurationError(message)
        if journal is not False:
            self._journal = open_journal(None if journal is True else Path(journal))

    # --- opening runs

    def _open(
        self, kind: Kind, name: str, run_id: UUID, parent_run_id: UUID | None, metadata: dict[str, Any] | None
    ) -> OpenRun | None:
        """Open a run; ``None`` if it is open already, because the handler was attached twice."""
        if self._open_runs.get(run_id) is not None:
            return None
        meta = dict(metadata or {})
        parent = self._open_runs.get(parent_run_id) or self._open_runs.around(meta.get(NAMESPACE))
        if kind is Kind.CHAIN and parent is not None and parent.calls:
            parent = agents.delegating(parent, self._open_runs.only_tool_in(parent), meta)
        started = agents.started_by(parent, name, meta) if kind is Kind.CHAIN else None
        if parent is None:
            root, lane = self._start_root(run_id, name, meta)
        elif started is None:
            root, lane = parent.root, parent.lane
        else:
            root = parent.root
            call = started.caller.tool_call_id if started.caller is not None else None
            lane = root.conversation.enter(
                started.key, started.agent, parent.lane, call or "", same_backend=started.same_backend
            )
            lane.named = agents.name_in(meta) or parent.lane.named
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
        self._warn(self._open_runs.add(run))
        self._agent_works = kind is not Kind.MODEL or not self._open_runs.only_models()
        return run

    def _warn(self, at_once: int) -> None:
        """Say, once, that several root runs were seen at once."""
        if at_once > 1 and not self._warned:
            self._warned = True
            logger.warning(_OVERLAP, at_once)

    def _conversation(self) -> Conversation:
        memory = Memory(self._policy, sdk.cid_of, hidden=self._hidden, salt=uuid4().hex, is_stored=sdk.is_stored)
        return Conversation(sdk.cid_of, Discretion(memory), witnessed=self._witness is not None)

    def _start_root(self, run_id: UUID, name: str, metadata: Mapping[str, Any]) -> tuple[Root, Lane]:
        thread = metadata.get("thread_id")
        thread = None if thread is None else str(thread)
        if thread is not None:
            conversation = self._conversations.setdefault(thread, self._conversation())
            if conversation.open_runs:
                # two runs of one thread at once: neither sees what the other does until it is done
                conversation = self._conversation()
        elif self._own.open_runs == 0:
            conversation = self._own
        else:
            # runs at the same time without a thread id: whatever one does is not known to the other
            conversation = self._conversation()
        agent = agents.name_in(metadata) or name
        target = self.target_for(thread, agent)
        if thread is not None:
            self._targets[thread] = target
        self._latest = target
        conversation.turns += 1
        conversation.open_runs += 1
        lane = conversation.root
        lane.agent = lane.label = agent
        # which branch of its thread this run goes on, its first state will show
        lane.plan = None
        lane.named = agents.name_in(metadata)
        lane.owner = run_id if agents.is_agent(metadata) else None
        registered = conversation.registered.setdefault(target.key, Recent(REGISTERED))
        lost = conversation.lost.setdefault(target.key, Recent(REGISTERED))
        return Root(
            run_id,
            conversation,
            target,
            sdk.ContextStore(target, self._note_stated),
            registered,
            lost,
            conversation.turns,
            Messages(conversation.discretion),
        ), lane

    # --- ending runs

    @contextlib.contextmanager
    def _ending(self, run: OpenRun) -> Iterator[None]:
        """Close a run whatever happens while its end is recorded; a failure is a gap of its root, while it has one."""
        try:
            yield
        except BaseException as error:
            if not _is_ours(error):
                raise
            self._note_failure(f"the end of {run.name}", error, run.root)
        finally:
            self._close(run)

    def _close(self, run: OpenRun) -> None:
        """Close a run; the end of a root closes all that is left of it."""
        self._open_runs.remove(run)
        self._agent_works = run.parent is not None or self._open_runs.roots > 0
        self.release([run.run_id])
        if run.ticket is not None:
            run.lane.files.abandon(run.ticket)
        if run.withheld is not None:
            run.root.conversation.discretion.memory.end(run.tool_call_id)
        if run.starts_agent:
            if run.root.paused:
                run.lane.running = False
            else:
                run.root.conversation.leave(run.lane)
        if run.parent is None:
            self._close_root(run)

    def _close_root(self, run: OpenRun) -> None:
        root = run.root
        if not run.stopped:
            self._warn(self._open_runs.goes_on(root))
        left = self._open_runs.left_open(root)
        for other in left:
            if other.recorded:
                self.note_gap(root, Gap(Why.UNFINISHED, other.name, other.lane.label))
            if other.ticket is not None:
                other.lane.files.abandon(other.ticket, may_go_on=True)
            self._open_runs.remove(other)
        self.release([other.run_id for other in left])
        conversation = root.conversation
        self._close_withheld(root)
        conversation.open_runs -= 1
        if conversation.open_runs == 0:
            conversation.rest(paused=root.paused)
        self._submit_ending(root)
        self._local.ended = True

    def _judge(self, run: OpenRun, error: BaseException) -> None:
        match Ending.of(error):
            case Ending.FAILED:
                run.status = Status.ERROR
            case Ending.STOPPED:
                run.status = Status.INTERRUPTED
                run.stopped = True
            case Ending.PAUSED:
                run.status = Status.INTERRUPTED
                if any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__):
                    run.root.paused = True

    def _fail(self, run_id: UUID, error: BaseException, record: Callable[[], Any]) -> None:
        """Record a run other than a chain that raised."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        self._judge(run, error)
        with self._ending(run), self._recording(run, Place.ELSEWHERE):
            record()

    def _close_withheld(self, root: Root) -> None:
        """Record what still waits for a state; the handler knows what that is."""

    def _note_failure(self, callback: str, error: BaseException, root: Root | None) -> None:
        """Turn an exception in a callback into a gap."""
        # where it was raised, and not what is said: that can quote what it was about
        logger.debug("callback %s failed:\n%s", callback, "".join(traceback.format_tb(error.__traceback__)))
        self.note_gap(root, Gap(Why.CALLBACK, f"{callback}: {type(error).__name__}: {redact_text(str(error))}"))


def _policy(patterns: Iterable[str] | None) -> globs.Policy | None:
    try:
        return None if patterns is None else globs.Policy(patterns)
    except globs.PatternError as error:
        message = f"content_policy: {error}"
        raise sdk.ConfigurationError(message) from error


def _is_hidden(identity: str) -> bool:
    if identity not in ("content", "hidden"):
        message = f"identity must be 'content' or 'hidden', not {identity!r}"
        raise sdk.ConfigurationError(message)
    return identity == "hidden"


def _is_ours(error: BaseException) -> bool:
    """Whether an exception is one that recording can raise; the SDK panics with a BaseException."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
