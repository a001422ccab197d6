"""What a string replacement makes of a text, or why the backend refuses it.

Mirrors ``deepagents.backends.utils.perform_string_replacement`` (0.7.32), which the state, store and hub backends
use; ``tests/agreement/test_edits.py`` compares the two. Disk and sandbox backends convert line endings first, so a
replay is their result too only where :func:`line_endings_matter` says no.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class NoEdit(Enum):
    """Why the backend would refuse the replacement."""

    EMPTY_OLD = "the text to replace is empty"
    NOT_FOUND = "the text to replace does not occur"
    AMBIGUOUS = "the text to replace occurs more than once"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A replacement that was applied: the new text, and how many occurrences were replaced."""

    text: str = field(repr=False)
    count: int


def replace(text: str, old: str, new: str, *, every: bool) -> Replaced | NoEdit:
    """Return ``text`` with ``old`` replaced by ``new`` (all occurrences if ``every``), or why it is refused."""
    if not old:
        return NoEdit.EMPTY_OLD
    count = text.count(old)
    if count == 0:
        return NoEdit.NOT_FOUND
    if count > 1 and not every:
        return NoEdit.AMBIGUOUS
    return Replaced(text.replace(old, new), count)


def with_one_ending(text: str) -> str:
    """Return ``text`` as a backend that converts line endings reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def line_endings_matter(*texts: str) -> bool:
    """Whether a backend that converts line endings could end with other bytes than a plain replacement."""
    return any("\r" in text for text in texts)
