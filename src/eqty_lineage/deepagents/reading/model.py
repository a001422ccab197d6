"""What a reader sees in a manifest: computations and entities as stated; steps, files, plans and agents.

Frozen values; everything that is a question of its own (why, blame, verification) stands in a module of its own. CIDs
are bare everywhere: no ``urn:cid:``. Text comes as it was recorded, and models wrote it: whoever shows it must make it
safe for where it is shown (:mod:`~.visible` for terminals).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

Cid = NewType("Cid", str)
"""A CID without ``urn:cid:``."""


class How(StrEnum):
    """What a connection stands on."""

    SIGNED = "signed"
    """A computation's input or output."""
    INFERRED = "inferred"
    """A tool call's id, or a name: what older manifests leave."""


class Kind(StrEnum):
    """What a step was."""

    TURN = "turn"
    """A model turn: request, inference and response are one step."""
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    NODE = "node"
    """A node of a graph that did something of its own: it failed, compacted, saved files, or is a user's own."""
    AGENT = "agent"
    """A subagent's run, where no tool call stands for it."""
    RUN = "run"
    """A root run, as it ended."""
    OTHER = "computation"
    """A computation of a type this reader does not know."""


class Mark(StrEnum):
    """What must not be overlooked about a step."""

    ERROR = "error"
    INTERRUPTED = "interrupted"
    COMPACTED = "context compacted"
    FILES_UNKNOWN = "files unknown after this"
    """It ran a shell."""
    RENDERING = "rendering, not bytes"
    WITHHELD = "content withheld"
    MERGED_LANE = "lanes could not be told apart"


@dataclass(frozen=True, slots=True)
class FileUse:
    """What a computation did with one version of a file, as its metadata say."""

    path: str
    cid: Cid
    version: int | None
    """The ordinal; a rendering and an edit of an unknown file have none."""
    role: str
    """``wrote``, ``read``, ``replaced``, ``removed``, ``present``, or a word this reader does not know."""
    evidence: str


@dataclass(frozen=True, slots=True)
class Computation:
    """A computation as stated. What its metadata do not say is ``""``, ``None`` or empty."""

    id: Cid
    position: int
    """Its place in the order of the run: by ``sequence``, else by credential time, else by what needs what."""
    statement: Mapping[str, Any]
    """The statement itself, with whatever else it holds."""
    inputs: tuple[Cid, ...]
    outputs: tuple[Cid, ...]
    metadata: Mapping[str, Any]
    name: str
    type: str
    sequence: int | None
    agent: str
    lane: str | None
    """``""`` is the root agent's; ``None`` is not recorded."""
    run_id: str
    parent_run_id: str
    root_run_id: str
    call_id: str
    status: str
    """``ok``, ``error``, ``interrupted``, or ``""`` where it is not recorded and its type does not say."""
    started_at: str
    ended_at: str
    timestamp: str
    """Of the statement; one second of resolution."""
    files: tuple[FileUse, ...]
    signer: str
    """``registeredBy``: claimed, not verified."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An asset, or anything else a computation used or made."""

    cid: Cid
    names: tuple[str, ...]
    """Each name it was given; equal content has one CID and may have several."""
    types: tuple[str, ...]
    """Each asset type (``Document``, ``Prompt``, ``Reasoning``, ...), in the order of :attr:`metadata`."""
    metadata: tuple[Mapping[str, Any], ...]
    registered: bool
    """Whether a data statement says that it exists."""
    size: int | None
    """Of its content, in bytes; ``None`` if the manifest does not hold it."""
    withheld: bool
    """Whether its content was left out on purpose."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The model turn that asked for a tool call."""

    step: int
    how: How


@dataclass(frozen=True, slots=True)
class Step:
    """What a person would call a step; the computations behind it are its parts."""

    number: int
    """From 1, in order; ``#13``."""
    kind: Kind
    name: str
    """The tool's, the model's, or the node's name."""
    agent: str
    """``""`` if nothing says."""
    lane: str
    """A key of :attr:`Run.lanes`."""
    turn: int | None
    """Of a turn: its number in its lane, from 1. Of a tool call: that of the turn that asked for it."""
    status: str
    """``ok``, ``error``, ``interrupted`` or ``""``."""
    parts: tuple[Computation, ...]
    """In order; for a turn request, inference and response."""
    inputs: tuple[Cid, ...]
    """What came from outside the step."""
    outputs: tuple[Cid, ...]
    """What its parts made, without what only passes between them."""
    call_id: str
    asked_by: Asker | None
    within: int | None
    """The step in whose course it ran: the ``task`` call, for a subagent's steps."""
    files: tuple[FileUse, ...]
    wrote_plan: int | None
    """The number of the plan revision it made."""
    marks: tuple[Mark, ...]
    started_at: str
    ended_at: str
    timestamp: str
    root: str
    """The ``root_run_id`` of its run; ``""`` if not recorded."""

    @property
    def failed(self) -> bool:
        """Whether it ended in an error."""
        return self.status == "error"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asked for."""

    id: str
    name: str
    arguments: Any
    """JSON value; text if the model's call could not be parsed."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a prompt or an answer."""

    role: str
    text: str
    """Its text blocks, joined; other blocks stand in :attr:`raw`."""
    calls: tuple[Call, ...]
    name: str
    call_id: str
    """Of a tool's answer: the call it answers."""
    raw: Any


@dataclass(frozen=True, slots=True)
class Detail:
    """What a step was given and gave; looked up when asked for, because prompts are long."""

    prompt: tuple[Message, ...]
    """Of a turn, in order; the system prompt is its first message."""
    answer: tuple[Message, ...]
    """Of a turn."""
    arguments: Any
    """Of a tool call, a retrieval or a node; ``None`` if there are none."""
    output: Any
    """Of a tool call, a retrieval or a node: JSON value, or text."""
    model: Any
    """Of a turn: the payload of its model (name, provider, parameters)."""
    source: str
    """Of a tool call: the tool's source, if it was recorded."""
    usage: Mapping[str, Any]
    """Of a turn: tokens, as the model told."""
    missing: tuple[str, ...]
    """What could not be shown, and why: withheld, not in the manifest, not readable. One line each."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a file, or what stands for one that was never seen exactly."""

    path: str
    cid: Cid
    ordinal: int | None
    """``None`` for a rendering and for an edit of an unknown file."""
    evidence: str
    """By which its bytes were first known; see docs/manifest.md."""
    order: int
    """Rises through all versions of a path: the reader's own count, from 1, in the order first met."""
    wrote: tuple[int, ...]
    """The steps that made it: usually one; none if it was given to the run or changed from outside; two where two
    agents wrote the same bytes under the same ordinal."""
    read: tuple[int, ...]
    """The steps that read it or were given it."""
    replaced: tuple[int, ...]
    """The steps that put another version in its place."""
    removed: tuple[int, ...]
    lanes: tuple[str, ...]
    """The lanes in which it was met, the first first."""
    size: int | None
    withheld: bool
    restores: int | None
    """The ordinal of the earliest version with the same bytes, if that is another one."""

    @property
    def exact(self) -> bool:
        """Whether its bytes are a version of the file: no rendering, and no edit of an unknown one."""
        return self.ordinal is not None


@dataclass(frozen=True, slots=True)
class File:
    """All that is known of one path."""

    path: str
    versions: tuple[Version, ...]
    """In the order first met."""
    last: Version | None
    """What the path held when the record ended, as far as is known; ``None`` if it was removed or is unknown."""
    removed: bool
    """Whether the last thing known of it is its removal."""


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One item of a plan."""

    content: str
    status: str
    """``pending``, ``in_progress``, ``completed``, or a word of the user's own."""


@dataclass(frozen=True, slots=True)
class PlanRevision:
    """A revision of an agent's plan."""

    number: int
    """From 1, in the order written, through all agents."""
    cid: Cid
    items: tuple[PlanItem, ...]
    wrote: int | None
    """The step; ``None`` if the run was given it."""
    agent: str
    lane: str
    before: int | None
    """The number of the revision that it replaced."""
    withheld: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """One execution of an agent: the root's, or a subagent's."""

    key: str
    """``""`` is the root agent's; else what the manifest calls it, or a name of the reader's own where it says none."""
    agent: str
    how: How
    """Whether the manifest says which lane its steps ran in, or they were told apart by names."""
    within: int | None
    """The step that started it (a ``task`` call)."""
    steps: tuple[int, ...]
    turns: int
    calls: int


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent or subagent, by name."""

    name: str
    role: str
    """``deep agent``, ``subagent``, or ``""``."""
    cid: Cid | None
    lanes: tuple[str, ...]
    turns: int
    calls: int


@dataclass(frozen=True, slots=True)
class Root:
    """A root run: one call of the agent."""

    run_id: str
    name: str
    status: str
    """``""`` if it is not known how it ended."""
    steps: tuple[int, ...]
    started_at: str
    ended_at: str
    question: str
    """The person's last message when it began; ``""`` if it cannot be told."""
    answer: str
    """The last thing the root agent said; ``""`` if it cannot be told."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be recorded, as the run itself says."""

    reason: str
    what: str
    where: str


@dataclass(frozen=True, slots=True)
class Recording:
    """How a manifest came about, as it says itself."""

    recorder: str
    """``eqty-lineage-deepagents/0.1.0``; ``""`` if nothing says."""
    vocabulary: int | None
    framework: str
    versions: Mapping[str, str]
    """Of the frameworks, as the root agent's entity says."""
    signers: tuple[str, ...]
    """Every ``registeredBy``: claimed, not verified."""
    statements: int
    sealed: bool
    """Whether there is a seal at all; whether it holds is for ``verify``."""
    hidden: int
    """Computations that are part of no step: framework plumbing."""
    notes: tuple[str, ...] = field(default=())
    """What the reader had to fall back on, one sentence each: no ``sequence``, agents told by names, ..."""
