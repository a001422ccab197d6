"""Whether the contents in a manifest are those that their CIDs stand for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from eqty_lineage.deepagents.reading.document import Document, parsed, path_of
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid
from eqty_lineage.deepagents.reading.verification import cids
from eqty_lineage.deepagents.reading.verification.report import Check, Fault


@dataclass(slots=True)
class Contents:
    """What was found out about the blobs of a manifest."""

    faults: list[Fault] = field(default_factory=list)
    matching: set[str] = field(default_factory=set)
    """The bare CIDs of blobs that are what their CID stands for."""
    values: dict[str, Any] = field(default_factory=dict)
    """The values of those that are metadata or declarations."""
    unknown: list[str] = field(default_factory=list)
    """Blobs under a CID of another kind than any known."""
    folders: dict[str, list[str]] = field(default_factory=dict)
    """What is in each folder."""

    def unreferenced(self, named: Iterable[str]) -> set[str]:
        """Return the blobs that neither a statement names nor a folder that one names."""
        waiting, reached = list(named), set[str]()
        while waiting:
            cid = waiting.pop()
            if cid not in reached:
                reached.add(cid)
                waiting.extend(self.folders.get(cid, ()))
        return self.matching - reached


def examined(document: Document, hashed: cids.Hash) -> Contents:
    """Hash every blob."""
    found = Contents()
    for cid in document.blobs:
        place = path_of("blobs", cid)
        named = cids.parts(cid)
        if named is None:
            found.faults.append(Fault(Check.BLOBS, "bad-cid", "stands under something that is no CID", place))
            continue
        if named.codec not in {cids.RAW, cids.JCS, cids.FOLDER}:
            found.unknown.append(cid)
            continue
        try:
            content = document.blob(cid)
        except ReadingError as error:
            found.faults.append(Fault(Check.BLOBS, "bad-base64", str(error), place))
            continue
        if content is not None and (fault := _examine(cid, content, named, hashed, found)) is not None:
            found.faults.append(fault)
    return found


def _examine(cid: Cid, content: bytes, named: cids.Named, hashed: cids.Hash, found: Contents) -> Fault | None:
    place = path_of("blobs", cid)
    if named.codec == cids.JCS:
        repeats: list[str] = []
        try:
            value = parsed(content)
            canonical = cids.canonical(value)
            repeats = _repeats(content)
        except (ReadingError, ValueError, RecursionError) as error:
            return Fault(Check.BLOBS, "bad-json", f"no JSON with a canonical form: {error}"[:200], place)
        if repeats:
            message = f"a key stands twice in it, and readers differ in which they take: {repeats[0][:60]}"
            return Fault(Check.BLOBS, "repeated-key", message, place)
        content = canonical
    if hashed(content) != named.digest:
        return Fault(Check.BLOBS, "blob-mismatch", "not the content that its CID stands for", place)
    found.matching.add(cid)
    if named.codec == cids.JCS:
        found.values[cid] = value
    if named.codec == cids.FOLDER:
        found.folders[cid] = cids.members(content)
    return None


def _repeats(content: bytes) -> list[str]:
    """Return the keys that stand twice in an object."""
    found: list[str] = []

    def noted(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        found.extend(name for name in set(names) if names.count(name) > 1)

    json.loads(content, object_pairs_hook=noted)
    return found
