"""What a reader's questions are answered with: ``why``, ``downstream``, ``blame``, ``diff``. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from eqty_lineage.deepagents.reading.model import Cid, How, Version


class What(StrEnum):
    """What a node of a :class:`Graph` is."""

    STEP = "step"
    VERSION = "version"
    PLAN = "plan"
    PROMPT = "prompt"
    """A turn's prompt that nobody in the record made: its last human message is what the person asked."""
    GIVEN = "given"
    """A state that the run was called with: what the person and the caller gave."""
    SKILL = "skill"
    AGENT = "agent"
    SYSTEM_PROMPT = "system prompt"
    TOOL = "tool"
    MODEL = "model"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a reference names: a step, a version, a plan revision, a computation or an entity."""

    text: str
    """As it is written: ``#13``, ``/report.md@2``, ``plan@1``, or a whole CID; resolves to the same thing again."""
    what: What
    step: int | None
    version: Version | None
    plan: int | None
    cid: Cid | None
    """Of the version, plan revision, entity or computation."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of an answer. Its key tells an entity *and* its producer apart: equal bytes made twice are two nodes."""

    key: str
    what: What
    label: str
    """One line of text as recorded: not safe for a terminal or a page as it stands."""
    reference: str
    """What to ask for to go on from here; ``""`` if nothing does."""
    step: int | None
    """Its step, or the step that made it."""
    cid: Cid | None


@dataclass(frozen=True, slots=True)
class Link:
    """From a node to what it came from (``why``) or to what came of it (``downstream``)."""

    start: str
    end: str
    how: How


@dataclass(frozen=True, slots=True)
class Graph:
    """An answer of ``why`` and ``downstream``: what is reached from :attr:`root`; it has no cycles.

    A link comes after all links that lead to its start.
    """

    root: str
    nodes: Mapping[str, Node]
    links: tuple[Link, ...]
    direction: Literal["up", "down"]

    def after(self, key: str) -> tuple[Link, ...]:
        """Return the links that start at a node."""
        return tuple(link for link in self.links if link.start == key)

    def reached(self, what: What, *, signed: bool = False) -> tuple[Node, ...]:
        """Return the nodes of a kind that are reached; with ``signed``, those that signed links alone lead to."""
        keep = {self.root}
        for link in self.links:  # a link comes after all that lead to its start
            if link.start in keep and (not signed or link.how is How.SIGNED):
                keep.add(link.end)
        return tuple(node for key, node in self.nodes.items() if key in keep and node.what is what)


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of a version, and what wrote it."""

    number: int
    """From 1."""
    text: str
    """Without its line ending."""
    version: Version | None
    """The version in which the line first stood; ``None`` if that cannot be told."""
    step: int | None
    """The step that made that version; ``None`` if the run was given it, or it cannot be told."""
    agent: str
    tool: str
    call_id: str
    turn: int | None
    """The number, in its lane, of the turn that asked for it."""
    turn_step: int | None
    """The step that this turn is."""
    prompt: str
    """What that turn was last told: its prompt's last message by a person, or a subagent's task; ``""`` if unknown."""
    note: str
    """Why it cannot be told, or what is uncertain; ``""``."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Each line of a version."""

    version: Version
    lines: tuple[BlamedLine, ...]
    note: str
    """Why there are no lines (binary, withheld, a rendering, not in the manifest); ``""``."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing in which two runs differ."""

    topic: Literal["files", "steps", "tools", "model", "system prompt", "prompt", "plan", "agents", "recording"]
    kind: Literal["added", "removed", "changed"]
    what: str
    """Which: a path, ``researcher: write_file``, ``word_count``. Text as recorded."""
    before: str
    """In the first run: a reference, a CID or a value; ``""`` if it is not there."""
    after: str
    detail: tuple[str, ...]
    """Lines of a unified diff, if there are any."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs."""

    changes: tuple[Change, ...]
    same: Mapping[str, int]
    """By topic, how many were compared and equal."""
    aligned: tuple[tuple[int | None, int | None], ...]
    """Steps of the first run beside those of the second."""

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What differs between two versions of a file."""

    before: Version
    after: Version
    lines: tuple[str, ...]
    """A unified diff, without line endings; empty if they are equal or cannot be shown."""
    note: str
    """Why they cannot be shown as lines (binary, withheld, not in the manifest); ``""``."""
