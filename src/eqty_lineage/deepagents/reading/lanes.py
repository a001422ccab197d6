"""Which lane each computation ran in: as recorded, or as far as older manifests let tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eqty_lineage.deepagents.reading.document import Document
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid, Computation, How
from eqty_lineage.deepagents.reading.statements import Statements

ROOT = ""
"""The key of the root agent's lane."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where computations ran."""

    lane: Mapping[Cid, str]
    """By computation."""
    agent: Mapping[str, str]
    """By lane, in the order they began; ``""`` where nothing says."""
    how: Mapping[str, How]
    """By lane."""
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Book:
    lane: dict[Cid, str] = field(default_factory=dict)
    agent: dict[str, str] = field(default_factory=dict)
    how: dict[str, How] = field(default_factory=dict)

    def enter(self, one: Computation, key: str, agent: str, how: How) -> None:
        self.lane[one.id] = key
        if not self.agent.get(key):
            self.agent[key] = agent
        self.how.setdefault(key, how)


def place(statements: Statements, document: Document, turns: Iterable[tuple[Computation, ...]]) -> Places:
    """Tell which lane each computation ran in.

    Recorded lanes are taken as they are, but for two root agents of different names in one manifest: both call their
    lane ``""``, so the second gets its name for a key. Where no lane is recorded, a turn belongs to the agent whose
    name its response carries, if it carries one; all else is put down to the root's lane, whose agent is then unknown.
    """
    book = _Book()
    unplaced = False
    named = _speakers(document, turns)
    first = next(iter(named.values()), "")
    for one in statements.computations.values():
        if one.lane is not None:
            key = one.lane
            if key == ROOT and book.agent.get(ROOT) and one.agent and one.agent != book.agent[ROOT]:
                key = one.agent
            book.enter(one, key, one.agent, How.SIGNED)
            continue
        speaker = named.get(one.id, "")
        book.enter(one, ROOT if speaker in {"", first} else speaker, speaker, How.INFERRED)
        unplaced = True
    ordered = sorted(book.agent, key=lambda key: key != ROOT)
    return Places(
        lane=book.lane,
        agent={key: book.agent[key] for key in ordered},
        how=book.how,
        notes=("Lanes are not recorded: agents are told by the names in their responses, if at all.",) * unplaced,
    )


def _speakers(document: Document, turns: Iterable[tuple[Computation, ...]]) -> Mapping[Cid, str]:
    """Return which agent a turn's response says that it is from, by each part of the turn without a lane."""
    found: dict[Cid, str] = {}
    for turn in turns:
        if all(part.lane is not None for part in turn):
            continue
        name = next(filter(None, (_speaker(document, cid) for part in turn for cid in part.outputs)), "")
        if name:
            found.update((part.id, name) for part in turn)
    return found


def _speaker(document: Document, cid: Cid) -> str:
    try:
        payload: Any = document.json(cid)
    except ReadingError:
        return ""
    messages = payload.get("generations") if isinstance(payload, dict) else payload
    first = messages[0] if isinstance(messages, list) and messages else None
    name = first.get("name") if isinstance(first, dict) and first.get("role") in {"ai", "assistant"} else None
    return name if isinstance(name, str) else ""
