"""Which names say that their value is a credential.

A superset of ``EqtyCallbackHandler._is_secret_param`` (eqty-lineage-langchain 0.2.5), which knows no ``camelCase``;
``tests/contract/test_base_handler.py`` compares the two.
"""

from __future__ import annotations

import functools
import re
from typing import Final

REDACTED: Final = "[redacted]"
"""Stands for a credential; always the same, so that two runs that differ in a key alone are the same run."""

_WORDS: Final = frozenset(
    {
        *("key", "apikey", "token", "secret", "password", "passwd", "pwd", "auth", "bearer"),
        *("passphrase", "passcode", "jwt", "cookie"),
    }
)
_STEMS: Final = ("secret", "password", "passphrase", "credential", "authoriz", "apikey", "privatekey", "accesskey")
_OF_COUNTS: Final = frozenset(
    {
        *("count", "counts", "details", "usage", "limit", "budget", "total", "used", "rate", "per", "size", "length"),
        *("max", "min", "num", "input", "output", "prompt", "completion", "cached", "reasoning", "id", "ids"),
    }
)
"""Beside ``token`` in a name, these say that tokens of text are counted."""
_BOUNDARY: Final = re.compile(r"[^a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASSIGNED: Final = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_\-]*)(?P<between>['\"]?\s*[=:]\s*)"
    r"(?P<value>'[^']*'|\"[^\"]*\"|(?:Bearer\s+|Basic\s+)?[^\s,;)\]}'\"]+)"
)


@functools.lru_cache(maxsize=8_192)
def is_credential(name: str) -> bool:
    """Whether a name says that its value is a credential. A path (``/src/auth.py``) is no name."""
    if name.startswith("/"):
        return False
    return any(word in _WORDS or word.startswith(_STEMS) for word in _words(name))


def _words(name: str) -> list[str]:
    plain = _BOUNDARY.split(name.lower())
    return plain + _BOUNDARY.split(_CAMEL.sub("_", name).lower())


def may_stay(name: str, value: object) -> bool:
    """Whether the value under a credential's name is none: nothing, a flag, or a count of tokens."""
    if value is None or isinstance(value, bool) or value in ("", REDACTED):
        return True
    words = _words(name)
    counted = "token" in words and not _OF_COUNTS.isdisjoint(words)
    return counted and _has_numbers_alone(value)


def _has_numbers_alone(value: object) -> bool:
    if isinstance(value, dict):
        return all(_has_numbers_alone(item) for item in value.values())
    if isinstance(value, list):
        return all(_has_numbers_alone(item) for item in value)
    return value is None or isinstance(value, int | float)


def redact_text(text: str) -> str:
    """Return the text an object gives of itself without the credentials it names: ``Client(api_key='...')``."""
    return _ASSIGNED.sub(_redacted, text) if "=" in text or ":" in text else text


def _redacted(assigned: re.Match[str]) -> str:
    if not is_credential(assigned["name"]):
        return assigned[0]
    return f"{assigned['name']}{assigned['between']}{REDACTED}"
