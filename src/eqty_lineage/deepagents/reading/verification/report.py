"""What a verification says: a verdict, what was checked, what failed, and what it does not prove. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a verification ended."""

    OK = "ok"
    WITH_LIMITS = "ok with limits"
    """Nothing was changed, and something could not be checked: which, stands in :attr:`Report.limits`."""
    WITHHELD = "withheld"
    """Nothing was changed; contents were left out on purpose and cannot be checked against their CIDs."""
    SUBSET = "subset of a sealed run"
    """What is there is unchanged, and the seal, or who made it, says that more was recorded."""
    FAILED = "failed"


class Check(StrEnum):
    """What is checked."""

    BLOBS = "contents"
    """Blobs hash to their CIDs."""
    IDS = "statements"
    """Ids match their content, with pinned contexts; keys and types are known."""
    SIGNATURES = "signatures"
    """Credentials are valid, by an allowed signer, for a statement that is there."""
    COVERAGE = "coverage"
    """Each statement has a credential; each input and output data, metadata and content; each computation a name."""
    SEAL = "seal"
    """Each sealed statement is there, and each statement is sealed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong."""

    check: Check
    code: str
    """A short stable word for programs: ``blob-mismatch``, ``id-mismatch``, ``unsigned``, ..."""
    message: str
    """One line; text from the manifest in it is as it stands there, not safe for a terminal."""
    where: str
    """The JSON path."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How a check went: how many of how many passed."""

    check: Check
    passed: int
    total: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found."""

    verdict: Verdict
    tallies: tuple[Tally, ...]
    faults: tuple[Fault, ...]
    limits: tuple[str, ...]
    """What could not be checked in this manifest, one sentence each."""
    signers: tuple[str, ...]
    """Whose credentials are valid."""
    pinned: tuple[str, ...]
    """Which signers were allowed; empty if none was pinned."""
    does_not_prove: tuple[str, ...]
    """What no verification of a manifest proves, one sentence each."""
    tool: str
    """``eqty-lineage-deepagents 0.1.0, eqty-sdk 2.5.0``."""
    checked_at: str
    """ISO-8601, UTC."""
    manifest: str
    """SHA-256 of the bytes that were checked, in hex."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found to be wrong."""
        return self.verdict is not Verdict.FAILED

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "verdict": str(self.verdict),
            "tallies": [{"check": str(t.check), "passed": t.passed, "total": t.total} for t in self.tallies],
            "faults": [
                {"check": str(f.check), "code": f.code, "message": f.message, "where": f.where} for f in self.faults
            ],
            "limits": list(self.limits),
            "signers": list(self.signers),
            "pinned": list(self.pinned),
            "does_not_prove": list(self.does_not_prove),
            "tool": self.tool,
            "checked_at": self.checked_at,
            "manifest_sha256": self.manifest,
        }
