"""The verification of a manifest: each check in its order, and the verdict that follows from all of them."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Final

from eqty_lineage.deepagents.reading.document import Document, path_of
from eqty_lineage.deepagents.reading.verification import cids, contents, coverage, pinned, pool, sealing, shapes
from eqty_lineage.deepagents.reading.verification.judging import as_fault
from eqty_lineage.deepagents.reading.verification.report import Check, Fault, Report, Tally, Verdict
from eqty_lineage.deepagents.reading.verification.stated import Stated, Statement, listed

DOES_NOT_PROVE: Final = (
    "Who holds the signing key: a key is a number, and whoever has it can sign anything.",
    "That the record is complete: what was never recorded, or a run cut off together with its seal, is not missed.",
    "That contents are true: a signed statement says what was recorded, not that it was so.",
    "That the times are right: they are the signer's clock, and can be set.",
)


def verify(
    document: Document,
    *,
    signers: Iterable[str] = (),
    subset: bool = False,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a manifest, trusting nothing that it says about itself.

    Args:
        document: The manifest.
        signers: The keys (``did:key:...``) whose signatures count. Without any, all do, and the report names them.
        subset: Whether a part of what was recorded is what is wanted: what is missing is then no fault.
        processes: How many to use; 1 is this one. ``None``: as many as there are processors and it is worth.
        progress: Is told, on this thread, how many of how many statements are done.

    Returns:
        The report. A manifest that is wrong in any way gives faults in it, and raises nothing.

    Raises:
        MissingExtraError: BLAKE3 is not installed.

    """
    hashed = cids.hasher()
    pins = tuple(sorted(set(signers)))
    faults = [
        Fault(Check.IDS, "repeated-key", "a key that stands twice; readers differ in which they take", where)
        for where in document.repeated
    ]
    faults += [
        Fault(Check.IDS, "unknown-key", "the envelope of a manifest has no such key", path_of(name))
        for name in document.others
    ]
    faults += pinned.faults(document)
    blobs = contents.examined(document, hashed)
    formed, malformed = _formed(document)
    judged, credentials = _judged(formed, processes, progress)
    faults += [*blobs.faults, *malformed, *judged.faults]
    stated = Stated.of(formed, blobs)
    valid = {key for key in credentials if key not in judged.wrong}
    signed_by = Counter(formed[key]["credential"]["issuer"] for key in valid)
    allowed, refused = _allowed(formed, valid, pins)
    faults += refused
    seals = sealing.examined(document, stated)
    covered = coverage.examined(document, stated, allowed, seals.listed)
    incomplete = [*covered.incomplete, *seals.incomplete]
    faults += [*covered.faults, *seals.faults, *([] if subset else map(_as_fault, incomplete))]
    limits = [*seals.limits, *covered.limits, *_limits(stated, blobs, signed_by, pins)]
    verdict = _verdict(
        faults=faults, subset=subset and bool(incomplete), withheld=bool(covered.withheld), limits=bool(limits)
    )
    if covered.withheld:
        limits.insert(0, _withheld(document, covered.withheld))
    if subset and incomplete:
        limits.insert(0, _left_out(incomplete))
    claims = [key for key, one in document.statements.items() if one.get("@type") != shapes.CREDENTIAL]
    return Report(
        verdict=verdict,
        tallies=(
            Tally(Check.IDS, len(formed.keys() - judged.misnamed), len(document.statements)),
            Tally(Check.SIGNATURES, len(allowed), len(document.statements) - len(claims)),
            Tally(Check.COVERAGE, sum(key in formed and key not in covered.lacking for key in claims), len(claims)),
            Tally(Check.BLOBS, len(blobs.matching), len(document.blobs)),
            Tally(Check.SEAL, len(seals.listed - seals.missing), len(seals.listed)),
        ),
        faults=tuple(faults),
        limits=tuple(limits),
        signers=tuple(sorted(signed_by)),
        pinned=pins,
        does_not_prove=DOES_NOT_PROVE,
        tool=", ".join(f"{name} {_version(name)}" for name in ("eqty-lineage-deepagents", "eqty-sdk")),
        checked_at=datetime.now(UTC).isoformat(timespec="seconds"),
        manifest=hashlib.sha256(document.raw).hexdigest(),
    )


def _formed(document: Document) -> tuple[dict[str, Statement], list[Fault]]:
    """Return the statements of a form that can be given to the SDK, and what is wrong with the others."""
    formed, faults = {}, []
    for key, statement in document.statements.items():
        wrong = list(shapes.faults(key, statement, pinned.CONTEXT))
        if wrong:
            faults += wrong
        else:
            formed[key] = statement
    return formed, faults


class _Judged:
    """What the SDK found wrong."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.misnamed: set[str] = set()
        """Statements whose id is not theirs."""
        self.wrong: set[str] = set()
        """Statements with any fault."""


def _judged(
    formed: dict[str, Statement], processes: int | None, progress: Callable[[int, int], None] | None
) -> tuple[_Judged, list[str]]:
    judged = _Judged()
    findings = pool.judged([dict(statement) for statement in formed.values()], processes, progress)
    for key, found in zip(formed, findings, strict=True):
        for fault in (as_fault(finding, path_of("statements", key)) for finding in found):
            judged.faults.append(fault)
            judged.wrong.add(key)
            if fault.check is Check.IDS:
                judged.misnamed.add(key)
    return judged, [key for key, statement in formed.items() if statement["@type"] == shapes.CREDENTIAL]


def _allowed(
    formed: dict[str, Statement], valid: Collection[str], pins: tuple[str, ...]
) -> tuple[set[str], list[Fault]]:
    """Return the valid credentials by signers that count, and a fault for each other signer."""
    if not pins:
        return set(valid), []
    allowed = {key for key in valid if formed[key]["credential"]["issuer"] in pins}
    others: dict[str, list[str]] = {}
    for key in sorted(set(valid) - allowed):
        others.setdefault(formed[key]["credential"]["issuer"], []).append(key)
    return allowed, [
        Fault(
            Check.SIGNATURES,
            "signer-not-allowed",
            f"{len(keys)} credentials by a key that was not pinned: {signer}",
            path_of("statements", keys[0], "credential", "issuer"),
        )
        for signer, keys in others.items()
    ]


def _limits(stated: Stated, blobs: contents.Contents, signed_by: Counter[str], pins: tuple[str, ...]) -> Iterable[str]:
    if len(signed_by) > 1 and not pins:
        yield f"{len(signed_by)} keys signed and none was pinned: any of them may be somebody else's."
    unreferenced = blobs.unreferenced(stated.named)
    if unreferenced:
        yield f"{len(unreferenced)} contents are named by no statement: nobody signed them."
    if blobs.unknown:
        yield f"{len(blobs.unknown)} contents are of a kind that cannot be checked against their CIDs."
    loose = Counter(one["@type"] for _, one in stated.claims if _is_loose(one))
    for kind, count in sorted(loose.items()):
        what = "which of the three kinds it is" if kind == "AssociationRegistration" else "a CID without its prefix"
        yield f"{count} {kind}: the SDK's id does not cover {what}, so it may have been changed."


def _is_loose(statement: Statement) -> bool:
    match statement["@type"]:
        case "AssociationRegistration":
            return True
        case "GovernanceRegistration":
            return not all(":" in name for key in ("subject", "document") for name in listed(statement[key]))
        case _:
            return False


def _verdict(*, faults: Collection[Fault], subset: bool, withheld: bool, limits: bool) -> Verdict:
    if faults:
        return Verdict.FAILED
    if subset:
        return Verdict.SUBSET
    if withheld:
        return Verdict.WITHHELD
    return Verdict.WITH_LIMITS if limits else Verdict.OK


def _as_fault(fault: Fault) -> Fault:
    """Say of what is missing how it may be meant."""
    hint = " (a subset, made by export, is verified as one with --subset)" if fault.check is Check.SEAL else ""
    return Fault(fault.check, fault.code, fault.message + hint, fault.where)


def _withheld(document: Document, withheld: Collection[str]) -> str:
    absent = sum(cid not in document.blobs for cid in withheld)
    return (
        f"{len(withheld)} contents were withheld as they were recorded, as their signed metadata says; {absent} of "
        "them are not there, and cannot be checked against their CIDs."
    )


def _left_out(incomplete: Iterable[Fault]) -> str:
    counted = Counter(fault.code for fault in incomplete)
    return f"Parts were left out ({', '.join(f'{code}: {count}' for code, count in sorted(counted.items()))})."


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
