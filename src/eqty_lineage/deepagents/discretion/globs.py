"""Which paths a content policy withholds.

A pattern without a slash is compared with each part of a path, so that ``.env*`` fits ``/app/.env.local`` and
``*credentials*`` all in ``/credentials/``. A pattern with slashes is compared with the whole path, ``**`` standing for
any number of folders; unless it begins with a slash it may begin anywhere, and if it ends with one it fits all below.
Case does not count, because on some disks it does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final

DEFAULT: Final[tuple[str, ...]] = (".env*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", "**/.ssh/**", "*credentials*")
"""The files whose bytes are withheld unless a policy of one's own says otherwise."""
_LONGEST_PATH: Final = 4_096
"""Characters; what is longer is no path."""
_REMEMBERED: Final = 4_096
_SEPARATORS: Final = re.compile(r"[\s'\"`=:;,|<>()&{}\[\]$]+")
"""What stands between the words of a shell command."""


class PatternError(ValueError):
    """A pattern that fits nothing, or not what it seems to."""


class Policy:
    """Which paths have their bytes withheld."""

    def __init__(self, patterns: Iterable[str] = DEFAULT) -> None:
        """Take glob patterns.

        Raises:
            PatternError: One of them is malformed, or they are no list of strings.

        """
        if isinstance(patterns, str | bytes) or not isinstance(patterns, Iterable):
            message = f"a content policy is a list of path patterns, not {patterns!r}"
            raise PatternError(message)
        self.patterns = tuple(patterns)
        for pattern in self.patterns:
            _check(pattern)
        self._known: dict[str, bool] = {}

    @cached_property
    def _of_names(self) -> list[str]:
        return [_normal(pattern) for pattern in self.patterns if "/" not in pattern]

    @cached_property
    def _of_paths(self) -> list[list[str]]:
        whole = [f"{pattern}**" if pattern.endswith("/") else pattern for pattern in self.patterns if "/" in pattern]
        anywhere = [pattern if pattern.startswith(("/", "**/")) else f"**/{pattern}" for pattern in whole]
        return [[part for part in _normal(pattern).split("/") if part] for pattern in anywhere]

    @cached_property
    def _hints(self) -> list[re.Pattern[str]] | None:
        """What finds the small letters of which some stand in every path that fits; ``None`` if there are none.

        A pattern for each first letter: what begins with one is searched for several times as fast as what does not.
        """
        pieces = {_longest_piece(pattern) for pattern in self.patterns}
        if not all(piece.isascii() and piece for piece in pieces):
            return None
        return [
            re.compile(
                re.escape(first)
                + f"(?:{'|'.join(re.escape(piece[1:]) for piece in sorted(pieces) if piece[0] == first)})"
            )
            for first in sorted({piece[0] for piece in pieces})
        ]

    def may_fit_in(self, lowered: str) -> bool:
        """Whether a text, in small letters, may hold a path that fits."""
        return self._hints is None or any(hint.search(lowered) for hint in self._hints)

    def fits(self, path: str) -> bool:
        """Whether the bytes of the file at ``path`` are withheld."""
        known = self._known.get(path)
        if known is None:
            if len(path) > _LONGEST_PATH:
                return False
            known = self._fits(path)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[path] = known
        return known

    def _fits(self, path: str) -> bool:
        parts = [part for part in _normal(path.replace("\\", "/")).split("/") if part not in {"", "."}]
        return any(fnmatchcase(part, pattern) for pattern in self._of_names for part in parts) or any(
            _is_fitting(parts, pattern) for pattern in self._of_paths
        )

    def path_in(self, command: str) -> str | None:
        """Return the first word of a shell command that names a withheld path."""
        return next((word for word in _SEPARATORS.split(command) if word and self.fits(word)), None)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _is_fitting(parts: list[str], pattern: list[str]) -> bool:
    # how many of the parts can be behind us
    reached = {0}
    for piece in pattern:
        if piece == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], piece)}
    return len(parts) in reached


def _longest_piece(pattern: str) -> str:
    """Return the longest run of letters that a path must have to fit a pattern."""
    return max(re.split(r"\[[^\]]*\]|[*?/\]]", _normal(pattern)), key=len)


def _check(pattern: object) -> None:
    if not isinstance(pattern, str) or not pattern.strip("/ "):
        message = f"not a path pattern: {pattern!r}"
        raise PatternError(message)
    why = None
    if "\\" in pattern or "\0" in pattern:
        why = "the parts of a path are separated by '/'"
    if pattern.startswith(("!", "~")) or "{" in pattern:
        why = "'!', '~' and braces have no meaning here"
    for part in pattern.split("/"):
        if "**" in part and part != "**":
            why = "'**' stands alone between slashes"
        if part in {".", ".."}:
            why = "paths are compared as they are, without '.' and '..'"
        if part.count("[") and not re.fullmatch(r"(?:[^\[]|\[!?\]?[^\]]*\])*", part):
            why = "a '[' without its ']'"
    if why is not None:
        message = f"malformed path pattern {pattern!r}: {why}"
        raise PatternError(message)
