"""Which names say that their value is a credential.

Wider than ``EqtyCallbackHandler._is_secret_param`` (eqty-lineage-langchain 0.2.5), which knows no ``camelCase`` and no
plurals, and narrower where that would take a page's token or a table's key for one: it is asked about configuration
alone, this about whatever a run holds.
"""

from __future__ import annotations

import functools
import re
from typing import Final

REDACTED: Final = "[redacted]"
"""Stands for a credential; always the same, so that two runs that differ in a key alone are the same run."""

_WORDS: Final = frozenset(
    {
        *("apikey", "token", "secret", "password", "passwd", "pwd", "auth", "bearer", "creds", "pass", "sshpass"),
        *("passphrase", "passcode", "jwt", "cookie", "cookies", "apikeys"),
    }
)
_STEMS: Final = ("secret", "password", "passphrase", "credential", "authoriz", "apikey", "privatekey", "accesskey")
_ENDS: Final = ("password", "passwd", "apikey", "token", "secret")
_NOT_WORDS: Final = frozenset({"secretary", "secretaries", "secretariat", "subtoken", "detoken"})
_OF_PLURALS: Final = frozenset(
    {*("api", "access", "ssh", "secret", "private", "signing", "encryption", "auth", "bearer", "refresh", "session")}
)
"""Before ``keys`` and ``tokens`` these say that they are credentials; tokens of text are counted."""
_OTHER_KEYS: Final = frozenset(
    {
        *("primary", "foreign", "sort", "cache", "partition", "row", "map", "lookup", "public", "index", "group"),
        *("unique", "natural", "composite", "dict", "json", "object", "idempotency", "config", "field", "hash"),
    }
)
_OTHER_TOKENS: Final = frozenset(
    {
        *(
            "page",
            "pagination",
            "continuation",
            "cursor",
            "stop",
            "eos",
            "bos",
            "pad",
            "unk",
            "sep",
            "mask",
            "cls",
            "sync",
            "start",
        ),
        *("end", "special"),
    }
)
_OF_COUNTS: Final = frozenset(
    {
        *("count", "counts", "details", "usage", "limit", "budget", "total", "used", "rate", "per", "size", "length"),
        *("max", "min", "num", "input", "output", "prompt", "completion", "cached", "reasoning", "id", "ids"),
    }
)
"""Beside ``token`` in a name, these say that tokens of text are counted."""
_BOUNDARY: Final = re.compile(r"[^a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SUFFIX: Final = re.compile(
    r"\.(?:py|pyi|ipynb|md|txt|rst|json|jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|xml|html?|css|s?css|jsx?|tsx?|mjs|go|rs|rb"
    r"|java|kt|cs|cpp|cc|c|h|hpp|sh|sql|php|swift|lock|log|pdf|png|jpe?g|svg|pem|key|crt|env)\Z",
    re.IGNORECASE,
)
_LONGEST: Final = 64
"""Characters of a name in a text."""
_VALUE: Final = (
    r"(?:b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\{[^}]*\}|[A-Za-z_]\w{0,63}\([^)]*\)"
    r"|(?:Bearer\s+|Basic\s+)?[^\s,;)\]}'\"]+)"
)
_ASSIGNED: Final = re.compile(
    rf"(?<![\w-])(?P<name>[A-Za-z_][\w\-]{{0,{_LONGEST}}})(?P<between>['\"]?\s{{0,4}}[=:]\s{{0,4}})(?P<value>{_VALUE})"
)
_QUOTED: Final = re.compile(
    rf"(?:(?P<quote>['\"])(?P<name>[^'\"\s\\]{{1,{_LONGEST}}})(?P=quote)\s{{0,4}}:|"
    rf"(?<![\w-])(?P<field>[A-Za-z_]\w{{0,{_LONGEST}}})=)\s{{0,4}}"
    r"(?P<value>b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\")"
)


@functools.lru_cache(maxsize=8_192)
def is_credential(name: str) -> bool:
    """Whether a name says that its value is a credential. A path (``/src/auth.py``) is no name."""
    if is_path(name):
        return False
    plain = [word for word in _BOUNDARY.split(name.lower()) if word]
    humps = [word for word in _BOUNDARY.split(_CAMEL.sub("_", name).lower()) if word]
    return _is_secret(plain) or (humps != plain and _is_secret(humps))


def is_path(name: str) -> bool:
    """Whether a name is that of a file: absolute, or with a file's suffix."""
    return name.startswith(("/", "./", "../")) or ("." in name and _SUFFIX.search(name) is not None)


def _is_secret(words: list[str]) -> bool:
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if word in _NOT_WORDS:
            continue
        if word == "key":
            # what comes after it is what is the key to something: key findings
            if at == len(words) - 1 and before not in _OTHER_KEYS:
                return True
        elif word in {"keys", "tokens"}:
            if before in _OF_PLURALS:
                return True
        elif word == "token" and before in _OTHER_TOKENS:
            continue
        elif word in _WORDS or word.startswith(_STEMS) or word.endswith(_ENDS):
            return True
    return False


def may_stay(name: str, value: object) -> bool:
    """Whether the value under a credential's name is none: nothing, a flag, or a count of tokens."""
    if value is None or isinstance(value, bool) or value in ("", REDACTED):
        return True
    words = _BOUNDARY.split(_CAMEL.sub("_", name).lower())
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
    return _ASSIGNED.sub(_without_assigned, text) if "=" in text or ":" in text else text


_OPTION: Final = re.compile(
    r"(?P<option>--?(?P<name>[A-Za-z][\w\-]{0,63})(?:=|\s{1,4}))(?P<value>'[^']*'|\"[^\"]*\"|[^\s;|&]+)"
)

_QUERY: Final = re.compile(r"(?P<option>[?&](?P<name>[A-Za-z_][\w\-.]{0,63})=)(?P<value>[^&#\s'\"]+)")


def redact_command(text: str) -> str:
    """Return a command or an address without the credentials it names: ``API_KEY=x``, ``--token x``, ``?key=x``."""
    return redact_text(_OPTION.sub(_without_option, _QUERY.sub(_without_option, text)))


def _without_option(found: re.Match[str]) -> str:
    return f"{found['option']}{REDACTED}" if is_credential(found["name"]) else found[0]


def redact_quoted(text: str) -> str:
    """Return a text without quoted values of credentials: ``'api_key': 'x'``, ``password="x"``. Prose is left alone."""
    return _QUOTED.sub(_without_quoted, text)


def _without_assigned(found: re.Match[str]) -> str:
    if not is_credential(found["name"]):
        return found[0]
    return f"{found['name']}{found['between']}{REDACTED}"


def _without_quoted(found: re.Match[str]) -> str:
    if not is_credential(found["name"] or found["field"]):
        return found[0]
    quote = found["value"][-1]
    return f"{found[0][: found.start('value') - found.start()]}{quote}{REDACTED}{quote}"
