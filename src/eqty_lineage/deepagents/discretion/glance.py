"""Whether a payload can hold anything that must not be stored, told from its names and texts taken together.

To walk through thousands of small values takes longer than to search all of them at once. A glance may be wrong one way
alone: it never says of what would be changed that nothing is there.
"""

from __future__ import annotations

import re
from typing import Any, Final

from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.names import is_credential

_HINTS: Final = ("key", "token", "secret", "pass", "pwd", "auth", "bearer", "cred", "jwt", "cookie")
"""Every name of a credential has one of these in it."""
_NAME: Final = re.compile(r'"([^"\\]*)\\*"(?:\s|\\+[nrt])*:')
_NAMING: Final = ("name", "key", "header")
_OF_COMMANDS: Final = frozenset({"command", "cmd", "url", "uri", "href", "endpoint"})
_JSON: Final = re.compile(r"(?:\A|\n)\s*[{\[]")
_FOLDED: Final = re.compile(r"\\u(?:212a|017f|fb0[0-6]|00df|1e9e|0130)|[\u212a\u017f\ufb00-\ufb06\u00df\u1e9e\u0130]")
"""What becomes a Latin letter if case does not count."""


def is_clean(payload: Any, memory: Memory) -> bool:
    """Whether nothing in a payload would be changed."""
    names, texts, beside = _collected(payload)
    naming = "\n".join(beside).lower()
    if any(map(is_credential, names)) or any(hint in naming for hint in _HINTS):
        return False
    text = "\n".join(texts)
    # JSON text, and text that quotes names, are looked at by themselves
    if (("{" in text or "[" in text) and _JSON.search(text) is not None) or may_quote_credentials(text):
        return False
    if memory.has_calls and (not memory.ids.keys().isdisjoint(texts) or any(map(memory.is_saved, (*names, *texts)))):
        return False
    if not memory.texts.isdisjoint(texts):
        return False
    text = "\n".join((text, *names))
    return not _may_be_withheld(text, text.lower(), memory)


def is_clean_text(text: str, memory: Memory) -> bool:
    """Whether nothing in JSON text would be changed, but for lines that stand in it as they are."""
    # a line with a quotation mark stands there in another form
    if (len(memory.lines) or memory.texts) and "\\" in text:
        return False
    if memory.has_calls and ("call_id" in text or "tool_use_id" in text or "large_tool_results" in text):
        return False
    lowered = text.lower()
    return not _may_name_credentials(text, lowered) and not _may_be_withheld(text, lowered, memory)


def may_quote_credentials(text: str) -> bool:
    """Whether a text may hold a quoted value of a credential."""
    if ("'" not in text and '"' not in text) or not any(form in text for form in ("':", '":', "='", '="')):
        return False
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)


def _collected(payload: Any) -> tuple[set[str], list[str], list[str]]:
    """Return all names, all texts, and those texts that can name a credential: beside a value, or in a command."""
    names: set[str] = set()
    texts: list[str] = []
    beside: list[str] = []
    left = [payload]
    while left:
        value = left.pop()
        if type(value) is dict:
            names.update(value)
            if "value" in value:
                beside += [value[key] for key in _NAMING if isinstance(value.get(key), str)]
            value = value.values()
        for item in value:
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is dict or kind is list:
                left.append(item)
    return names, texts, beside if _OF_COMMANDS.isdisjoint(names) else texts


def _may_name_credentials(text: str, lowered: str) -> bool:
    if "\\u" in text:
        # of a name that is escaped the letters do not tell
        return True
    if not any(hint in lowered for hint in _HINTS):
        return False
    # nor of one that breaks off
    return text[-1:] not in "}]" or any(map(is_credential, set(_NAME.findall(text))))


def _may_be_withheld(text: str, lowered: str, memory: Memory) -> bool:
    """Whether a text may hold what the content policy withholds: a path, the id of a call, or a line."""
    if memory.policy is None:
        return False
    if memory.policy.may_fit_in(lowered):
        return True
    if ("\\u" in text or not text.isascii()) and _FOLDED.search(text) is not None:
        return True
    return bool(memory.lines.found_in(text))
