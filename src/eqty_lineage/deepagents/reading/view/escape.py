"""How text that models wrote is made safe for the page: for HTML, and for JSON inside a script element."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_IN_SCRIPT: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def visible(text: str) -> str:
    """Show what cannot be seen or changes the direction of text: U+202E becomes ``⟨U+202E⟩``."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def html(text: str, limit: int | None = None) -> str:
    """Return text for HTML, in an element or a quoted attribute; of a long text the first ``limit`` characters."""
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return escape(visible(text), quote=True)


def script(value: Any) -> str:
    """Return a JSON value for a ``<script type="application/json">``: ASCII, and nothing in it ends the script."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str).translate(_IN_SCRIPT)
