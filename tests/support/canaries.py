"""Secrets planted in a run, and looking for them in all that was recorded of it."""

import base64
import itertools
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.agents import Session

_numbers = itertools.count(1)


def canary(place: str) -> str:
    """A line that stands nowhere else."""
    return f"CANARY_{place.upper()}={next(_numbers):04d}x{place[::-1]}-9f8e7d"


def short() -> str:
    """A secret too short to be recognised by itself."""
    return f"P={next(_numbers):04d}~q"


def found(recorded: Iterable[bytes], canaries: Iterable[str]) -> list[str]:
    """The canaries that stand in what was recorded: as they are, as JSON, or as base64 at any offset."""
    parts = list(recorded)
    return [
        f"{one} in {part[:300]!r}" for one in canaries for part in parts if any(form in part for form in _forms(one))
    ]


def _forms(one: str) -> list[bytes]:
    data = one.encode()
    # what surrounds it decides which of three ways base64 cuts it, and changes what stands at its ends
    encoded = [base64.b64encode(b"\0" * shift + data)[4 if shift else 0 :].rstrip(b"=")[:-2] for shift in range(3)]
    return [data, json.dumps(one)[1:-1].encode(), *(form for form in encoded if len(form) >= 8)]


def recorded(session: Session, *more: Any) -> list[bytes]:
    """Every blob of a session's contexts, its statements, what was logged, and files beside the store."""
    assert session.handler.flush()
    contexts = [session.context, *(session.handler.contexts[thread] for thread in session.handler.contexts)]
    parts: list[bytes] = []
    for context in contexts:
        manifest = exported(context)
        parts += [base64.b64decode(text) for text in manifest["blobs"].values()]
        parts.append(json.dumps(manifest["statements"], ensure_ascii=False).encode())
    parts += [one.read_bytes() if isinstance(one, Path) else str(one).encode() for one in more]
    parts += [f"{gap.why.value} {gap.what} {gap.where}".encode() for gap in session.handler.gaps]
    return parts


def exported(context: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "manifest.json")
        context.export(path)
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        return manifest


def withheld(session: Session, path: str) -> list[str]:
    """The CIDs of the versions of a path that are marked as withheld."""
    lineage = session.lineage()
    return [
        cid
        for cid in lineage.versions(path)
        if any(one.get("withheld") and one.get("file_path") == path for one in lineage.metadata[cid])
    ]
