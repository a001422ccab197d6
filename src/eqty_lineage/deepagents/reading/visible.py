r"""How text that a model wrote is shown on one line: nothing in it moves the cursor, hides, or turns other text around.

A terminal obeys escape sequences, and a reader is fooled by what has no width or runs the other way. Such characters
are shown by number, as in Python: ``\\x1b``, ``\\u202e``. A backslash stays as it is, so ``\\n`` may be either a line
break or these two characters: what must be exact is read from JSON.
"""

from __future__ import annotations

import re
from typing import Final

ELLIPSIS: Final = "…"

_SPACES: Final = "\u00a0\u2009\u202f\u3000"
"""Spaces that ordinary typography uses: they are no more dangerous than a space."""
_INVISIBLE: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0]")
"""Letters and marks by category, which ``str.isprintable`` lets through, and which show nothing."""
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, *, limit: int | None = None) -> str:
    """Return text as one line that is safe to print.

    Args:
        text: Anything, lone surrogates included.
        limit: The most characters to return; what is longer ends in an ellipsis.

    """
    cut = text if limit is None else text[: limit + 1]  # each character becomes at least one
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join(_shown(character) for character in cut)
    if limit is not None and len(cut) > limit:
        return cut[: max(limit - 1, 0)] + ELLIPSIS
    return cut


def _shown(character: str) -> str:
    if character in _SPACES or (character.isprintable() and not _INVISIBLE.match(character)):
        return character
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004
        return _SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
