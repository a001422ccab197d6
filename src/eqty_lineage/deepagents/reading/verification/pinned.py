"""The JSON-LD contexts that statements are read with: those the SDK embeds, never those a manifest brings.

A manifest carries copies of them. They are used for nothing; but a copy that says something else would mislead whoever
does use it (with ``input`` and ``output`` exchanged in context and statement, the id still matches), so it is a fault.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Final

from eqty_lineage.deepagents.reading.document import Document, path_of
from eqty_lineage.deepagents.reading.verification.report import Check, Fault

CONTEXT: Final = "urn:cid:bafkr4icploa577ziqnb57jlpoj7l2hi5kgt3knxpdtunlttjd3q33zeqpy"
"""What every statement names."""
_KNOWN: Final = {
    CONTEXT: "63010d707241ef16945af9e5230e28030d55a8c64c689663a9548ebea8abbaca",
    "urn:cid:bafkr4ihgnzvmiaoyfeil6p56pbznofd7d4gy5qxm75rxiiy6xty6zu4up4": (
        "357edb8bbe70fa4260d8c7fa888af6e54f13dfceee6e0fa444eb5daea503b4a8"
    ),
}
"""The SHA-256 of each, as JSON with sorted keys and no spaces (eqty-sdk 2.5.0)."""


def faults(document: Document) -> Iterator[Fault]:
    """Yield the contexts that are not what their name stands for."""
    for name, context in document.contexts.items():
        text = json.dumps(context, separators=(",", ":"), sort_keys=True)
        if hashlib.sha256(text.encode()).hexdigest() != _KNOWN.get(name):
            message = "a context that statements do not have" if name not in _KNOWN else "not the context of that name"
            yield Fault(Check.IDS, "context-swapped", message, path_of("contexts", name))
