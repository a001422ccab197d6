"""Whether a manifest has each statement that its seals list, and none that they do not.

A seal is the last asset of a root run: the ids of all its statements, and the seal before it in the same context. A
statement in no seal was added later, unless it is one of the seal's own or one about contents of the run that the same
key made in another context: an export takes those along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import PREFIX, Document, bare, parsed, path_of
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid
from eqty_lineage.deepagents.reading.verification import cids
from eqty_lineage.deepagents.reading.verification.report import Check, Fault
from eqty_lineage.deepagents.reading.verification.shapes import COMPUTATION, CREDENTIAL, DATA, DID, METADATA
from eqty_lineage.deepagents.reading.verification.stated import Stated, Statement, about, listed

_SEAL: Final = {
    "name": "run seal",
    "description": "The ids of every statement recorded for this run, but for those of this seal.",
    "assetType": "Document",
}
"""The metadata of a seal, exactly. (A file of this name has a path for one and another description.)"""
_SHOWN: Final = 3


@dataclass(slots=True)
class Seals:
    """What the seals of a manifest say."""

    listed: set[str] = field(default_factory=set)
    """The ids that a seal lists."""
    missing: set[str] = field(default_factory=set)
    """Those of them that are not there."""
    found: dict[str, str | None] = field(default_factory=dict)
    """The seals, by bare CID, and the one before each."""
    faults: list[Fault] = field(default_factory=list)
    incomplete: list[Fault] = field(default_factory=list)
    """What was recorded and is not there: no faults where a subset is what one wants."""
    limits: list[str] = field(default_factory=list)


def examined(document: Document, stated: Stated) -> Seals:
    """Compare the seals with what is there."""
    seals = Seals()
    signed_by: dict[str, set[str]] = {}
    for key, statement in stated.claims:
        if statement["@type"] == METADATA and stated.metadata(statement) == _SEAL:
            cid = bare(statement["subject"])
            signed_by.setdefault(cid, set()).add(statement["registeredBy"])
            if cid not in seals.found:
                _read(document, stated, key, cid, seals)
    if not signed_by:
        _without(stated, seals)
        return seals
    keys = set[str]().union(*signed_by.values())
    seals.missing = seals.listed - document.statements.keys()
    if seals.missing:
        shown = ", ".join(sorted(seals.missing)[:_SHOWN])
        message = f"{len(seals.missing)} of {len(seals.listed)} sealed statements are missing: {shown}"
        seals.incomplete.append(Fault(Check.SEAL, "sealed-missing", message, "$.statements"))
    _chain(seals)
    if seals.found:
        _unsealed(stated, seals, keys)
        others = {one["registeredBy"] for key, one in stated.statements.items() if key in seals.listed} - keys
        if others:
            seals.limits.append(
                "A seal is by another key than statements that it lists: whoever holds its key chose what is listed."
            )
    return seals


def _read(document: Document, stated: Stated, key: str, cid: str, seals: Seals) -> None:
    where = path_of("blobs", cid)
    if cid not in stated.contents.matching:
        if not _holds_contents(stated):
            seals.limits.append("The seal cannot be read: the manifest holds no contents.")
        elif cid not in document.blobs:
            where = path_of("statements", key)
            seals.incomplete.append(Fault(Check.SEAL, "seal-unreadable", "the seal's content is not there", where))
        return
    try:
        value: Any = parsed(document.blob(Cid(cid)) or b"")
    except ReadingError:
        value = None
    ids = value.get("statements") if isinstance(value, dict) else None
    if (
        not isinstance(value, dict)
        or value.keys() != {"statements", "count", "before"}
        or not isinstance(ids, list)
        or not all(isinstance(one, str) for one in ids)
        or value["count"] != len(ids)
        or len(set(ids)) != len(ids)
        or not (value["before"] is None or isinstance(value["before"], str))
    ):
        seals.faults.append(Fault(Check.SEAL, "bad-seal", "no list of ids with its count and the seal before", where))
        return
    seals.found[cid] = None if value["before"] is None else bare(value["before"])
    seals.listed.update(PREFIX + bare(one) for one in ids)


def _holds_contents(stated: Stated) -> bool:
    return any((named := cids.parts(cid)) is not None and named.codec == cids.RAW for cid in stated.contents.matching)


def _without(stated: Stated, seals: Seals) -> None:
    """There is no seal at all: as it should be, unless a run that was recorded to its end would have one."""
    for key in stated.computations:
        if _root(stated, key):
            message = "a run that was recorded to its end, and no seal lists it: the seal is missing"
            seals.incomplete.append(Fault(Check.SEAL, "seal-missing", message, path_of("statements", key)))
    if not seals.incomplete:
        seals.limits.append("There is no seal: statements that were removed, whole steps among them, are not missed.")


def _root(stated: Stated, computation: str) -> bool:
    """Whether a computation is that of a root run which this package recorded to its end."""
    said = [stated.metadata(stated.statements[key]) for key in stated.described.get(bare(computation), ())]
    return any("vocabulary" in one and one.get("parent_run_id", "") is None for one in said)


def _chain(seals: Seals) -> None:
    heads = 0
    for cid, before in seals.found.items():
        if before is None:
            heads += 1
        elif before not in seals.found:
            message = "the seal before this one is not there: an earlier run of the same context is missing"
            seals.incomplete.append(Fault(Check.SEAL, "seal-before-missing", message, path_of("blobs", cid)))
    if heads > 1:
        seals.limits.append(
            f"{heads} seals have none before them: several processes recorded, or manifests were put together; whether "
            "runs between them are missing cannot be told."
        )


def _unsealed(stated: Stated, seals: Seals, keys: set[str]) -> None:
    elsewhere = 0
    allowed = seals.listed.copy()
    used = stated.used.keys()
    for key, statement in stated.claims:
        if key in allowed:
            continue
        if statement["registeredBy"] in keys and (_own(statement, seals.found) or _names_itself(statement)):
            allowed.add(key)
        elif _taken_along(stated, statement, keys, used):
            allowed.add(key)
            elsewhere += 1
        else:
            seals.faults.append(Fault(Check.SEAL, "unsealed", _why(stated, key), path_of("statements", key)))
    for subject, credentials in stated.credentials.items():
        for key in credentials:
            issuer = stated.statements[key]["registeredBy"]
            # Another context's export may bring a second credential for a statement; it says nothing new.
            known = subject in allowed and issuer == stated.statements.get(subject, {}).get("registeredBy", issuer)
            if key not in seals.listed and subject in stated.statements and subject in allowed and not known:
                message = "a credential by another key than the statement's, and in no seal"
                seals.faults.append(Fault(Check.SEAL, "unsealed", message, path_of("statements", key)))
    if elsewhere:
        seals.limits.append(
            f"{elsewhere} statements about contents or signers of this run are in no seal: the same key made them in "
            "another context, or another run. They give these further names."
        )


def _own(statement: Statement, found: Iterable[str]) -> bool:
    field_ = {DATA: "data", METADATA: "subject"}.get(statement["@type"])
    return field_ is not None and set(map(bare, listed(statement[field_]))) <= set(found)


def _names_itself(statement: Statement) -> bool:
    """Whether a key only says that it is one: the SDK adds that to every export of what the key signed."""
    return statement["@type"] == DID and bool(statement["did"] == statement["registeredBy"])


def _taken_along(stated: Stated, statement: Statement, keys: set[str], used: Collection[str]) -> bool:
    """Whether an export takes a statement along from an enclosing context."""
    if statement["@type"] in {COMPUTATION, CREDENTIAL} or statement["registeredBy"] not in keys:
        return False
    if statement["@type"] == METADATA and PREFIX + bare(statement["subject"]) in stated.statements:
        return False  # it would rename a step
    if statement["@type"] == METADATA and statement["subject"] in keys:
        return True
    return any(bare(name) in used for name in about(statement))


def _why(stated: Stated, key: str) -> str:
    if key in stated.computations and not _root(stated, key):
        return (
            "a step that no seal lists: it was added; or its run was still being recorded when this was exported, or "
            "was killed and not recovered since"
        )
    return "in no seal: it was added after the run, or made beside it"
