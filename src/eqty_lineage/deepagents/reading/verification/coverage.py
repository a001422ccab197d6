"""Whether each statement is signed, and all that it needs to be understood is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from eqty_lineage.deepagents.reading.document import PREFIX, Document, bare, path_of
from eqty_lineage.deepagents.reading.verification import cids
from eqty_lineage.deepagents.reading.verification.report import Check, Fault
from eqty_lineage.deepagents.reading.verification.shapes import METADATA
from eqty_lineage.deepagents.reading.verification.stated import Stated, Statement, sides

_CONTENT: Final = {cids.RAW, cids.FOLDER}


@dataclass(slots=True)
class Coverage:
    """What was found out."""

    faults: list[Fault] = field(default_factory=list)
    incomplete: list[Fault] = field(default_factory=list)
    """What is needed and not there: no faults where a subset is what one wants."""
    limits: list[str] = field(default_factory=list)
    withheld: set[str] = field(default_factory=set)
    """Contents that were left out on purpose, as those who registered them say."""
    lacking: set[str] = field(default_factory=set)
    """The statements that lack something."""


def examined(document: Document, stated: Stated, valid: Collection[str], sealed: Collection[str]) -> Coverage:
    """Look for what is missing.

    Args:
        document: The manifest.
        stated: Its well-formed statements.
        valid: The credential statements that hold.
        sealed: The statements that a seal lists.

    """
    found = Coverage()
    loose = 0
    keys = {one["registeredBy"] for one in stated.statements.values()}
    for key, statement in stated.claims:
        own = [
            stated.statements[one]["credential"]["issuer"] for one in stated.credentials.get(key, ()) if one in valid
        ]
        if statement["registeredBy"] in own:
            continue
        if statement["@type"] == METADATA and statement["subject"] in keys and not stated.credentials.get(key):
            loose += 1
            continue
        found.lacking.add(key)
        message = "no valid credential by the key that it is registered by"
        found.faults.append(Fault(Check.COVERAGE, "unsigned", message, path_of("statements", key)))
    if loose:
        found.limits.append(
            f"{loose} statements say something of a signer, and are not signed here: an export takes them along "
            "without their credentials. Anybody can have written them."
        )
    for subject, credentials in stated.credentials.items():
        if subject not in document.statements:
            for key in credentials:
                place = path_of("statements", key, "credential", "credentialSubject", "id")
                message = "a credential for a statement that is not there"
                found.incomplete.append(Fault(Check.COVERAGE, "dangling-credential", message, place))
    _metadata(document, stated, found)
    _contents(document, stated, sealed, found)
    found.withheld |= {cid for cid in stated.registered if stated.withheld(cid)}
    return found


def _metadata(document: Document, stated: Stated, found: Coverage) -> None:
    for key, statement in stated.claims:
        if statement["@type"] != METADATA:
            continue
        if bare(statement["metadata"]) not in document.blobs:
            found.lacking.add(key)
            place = path_of("statements", key, "metadata")
            found.incomplete.append(Fault(Check.COVERAGE, "no-metadata", "its content is not there", place))
        if not _exists(stated, statement["subject"]):
            found.lacking.add(key)
            place = path_of("statements", key, "subject")
            message = "metadata of something that no statement registers"
            found.incomplete.append(Fault(Check.COVERAGE, "dangling-metadata", message, place))
    for key in stated.computations:
        if bare(key) not in stated.described:
            found.lacking.add(key)
            message = "a computation without metadata: nothing says what it was"
            found.incomplete.append(Fault(Check.COVERAGE, "no-metadata", message, path_of("statements", key)))


def _exists(stated: Stated, subject: str) -> bool:
    return not subject.startswith(PREFIX) or bare(subject) in stated.registered or subject in stated.statements


def _contents(document: Document, stated: Stated, sealed: Collection[str], found: Coverage) -> None:
    holds = any(_codec(cid) in _CONTENT for cid in document.blobs)
    absent: set[str] = set()
    elsewhere: set[str] = set()
    for cid in stated.registered:
        if cid not in document.blobs and not stated.withheld(cid) and _codec(cid) in _CONTENT:
            absent.add(cid)
    for key, computation in stated.computations.items():
        for cid in sides(computation):
            if PREFIX + cid in stated.statements:
                continue
            if cid not in document.blobs and not stated.withheld(cid):
                absent.add(cid)
            elif key not in sealed:  # a seal would miss a statement that was removed
                _stated(stated, key, cid, found, elsewhere)
    if absent and not holds:
        found.limits.append("The manifest holds no contents: nothing but its statements can be checked.")
    else:
        for key, cid in _needing(stated, absent):
            found.lacking.add(key)
            message = f"a content that is not there and not said to be withheld: {cid}"
            found.incomplete.append(Fault(Check.COVERAGE, "no-content", message, path_of("statements", key)))
    if elsewhere:
        found.limits.append(
            f"{len(elsewhere)} inputs or outputs are stated in another context: it does not say here what they are."
        )


def _stated(stated: Stated, key: str, cid: str, found: Coverage, elsewhere: set[str]) -> None:
    registered, described = cid in stated.registered, cid in stated.described
    if registered and described:
        return
    if not registered and not described:
        elsewhere.add(cid)
        return
    found.lacking.add(key)
    code, what = ("no-data", "is registered by no statement") if described else ("no-metadata", "has no metadata")
    message = f"an input or output {what}: {cid}"
    found.incomplete.append(Fault(Check.COVERAGE, code, message, path_of("statements", key)))


def _needing(stated: Stated, absent: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each absent content once, with a statement that names it."""
    left = set(absent)
    for key, statement in stated.claims:
        for cid in sorted(left & {bare(name) for name in _named(statement)}):
            left.discard(cid)
            yield key, cid


def _named(statement: Statement) -> list[str]:
    return [*sides(statement)] if "input" in statement else [*_data(statement)]


def _data(statement: Statement) -> list[str]:
    data = statement.get("data", [])
    return [data] if isinstance(data, str) else list(data)


def _codec(cid: str) -> int | None:
    named = cids.parts(cid)
    return None if named is None else named.codec
