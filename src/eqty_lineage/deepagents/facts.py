"""What happened in a run, as frozen values that can be handed to another thread.

A handler turns callbacks into these; a recorder turns these into signed statements. Nothing here knows LangChain, the
SDK, threads or the clock. CIDs are opaque strings, with or without the ``urn:cid:`` prefix, made elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

AssetId = NewType("AssetId", str)
"""A content identifier, as the SDK prints it."""


class Role(StrEnum):
    """What a computation did with a version of a file."""

    WROTE = "wrote"
    READ = "read"
    REPLACED = "replaced"
    REMOVED = "removed"
    PRESENT = "present"


class Evidence(StrEnum):
    """How the bytes of a version are known."""

    STATE = "state"
    ARGUMENTS = "arguments"
    RECONSTRUCTED = "reconstructed"
    BYTES = "bytes"
    WITNESSED = "witnessed"
    RENDERING = "rendering"
    EDIT = "edit"


class Status(StrEnum):
    """How a computation ended."""

    OK = "ok"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Why(StrEnum):
    """Why something is missing from the record. The value is what a manifest and ``handler.gaps`` show."""

    NO_BASE = "the file's content before the edit is not known"
    CONTESTED = "another call could change the file at the same time"
    MISMATCH = "the result contradicts what the arguments would do"
    LINE_ENDINGS = "the backend may rewrite line endings"
    UNCLEAR = "the result is not a known form of success"
    NOT_SHOWN = "a file was said to be saved, and the agent's state does not show it"
    FAILED = "a failed change may have left the file half-written"
    SHELL = "a shell may have changed any file"
    FOREIGN = "a tool that is not DeepAgents' own may have changed a file it was told of"
    UNENCODABLE = "the content is not valid Unicode text"
    BAD_BINARY = "the content is not valid base64"
    UNUSED_INPUT = "a file passed in was not taken up by the graph"
    UNASKED = "the model turn that asked for this call was not seen"
    UNFINISHED = "the run ended before this did"
    CALLBACK = "recording a callback failed"
    NOT_STORED = "the statement store refused it"
    NOT_YET = "storing was not done in time; it goes on"
    JOURNAL = "the journal could not be written"
    GAPS = "the list of gaps could not be stored"
    SEAL = "the run's seal could not be stored"
    NOT_CHAT = "a completion model without messages is not recorded"
    SERVICE = "the integrity service refused the context"
    IMPORT = "the evidence attached by the model could not be imported"
    REMOTE = "what a remote agent does is not seen here"
    SELF_INPUT = "an asset stood on both sides of one computation"
    EXTRACTOR = "an extractor failed"
    STORED = "the store had the bytes of a withheld file already; a number stands for them"
    LINES = "more lines are withheld than are looked for elsewhere"
    FOLDER = "a folder holds a file whose bytes the content policy withholds"
    WITNESS_FAILED = "the witness failed, or what it returned is no answer"
    WITNESS_SLOW = "the witness did not answer in time"
    WITNESS_CONTRADICTS = "the witness shows what the call cannot have left or read"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be recorded: why, what it was about, and where in the run."""

    why: Why
    what: str
    where: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the gap as it stands in a manifest's ``gaps`` asset."""
        return {"reason": self.why.value, "what": self.what, "where": self.where}


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one path: an ordinal within a scope, pointing at content.

    Two versions can have the same content (a restore), and one content can be a version of several paths.
    """

    path: str
    ordinal: int
    cid: AssetId
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class FileUse:
    """What a computation did with a file; ``version`` is ``None`` for a rendering, which is no version."""

    path: str
    cid: AssetId
    version: int | None
    role: Role
    evidence: Evidence

    @classmethod
    def of(cls, version: Version, role: Role) -> FileUse:
        """Return the use of a known version."""
        return cls(version.path, version.cid, version.ordinal, role, version.evidence)

    def as_json(self) -> dict[str, str | int]:
        """Return the entry of a computation's ``files`` metadata."""
        entry: dict[str, str | int] = {
            "path": self.path,
            "cid": str(self.cid),
            "role": self.role.value,
            "evidence": self.evidence.value,
        }
        if self.version is not None:
            entry["version"] = self.version
        return entry


@dataclass(frozen=True, slots=True)
class Asset:
    """An entity to register: its content's CID, its metadata as JSON text, and its bytes unless already stored.

    Without metadata it is only something that other payloads refer to. A version of a file is registered ``alone``,
    because readers look files up by the data statement that names just them.
    """

    cid: AssetId
    metadata: str
    data: bytes | None = field(default=None, repr=False)
    name: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Computation:
    """A step to register: what it used, what it made, and its metadata as JSON text.

    ``executed_on`` names the run. Without it two steps with equal inputs and outputs that are stored in one second
    would be one statement, because its id is a hash of its content (eqty-sdk 2.5.0).
    """

    inputs: tuple[AssetId, ...]
    outputs: tuple[AssetId, ...]
    metadata: str
    name: str = ""
    executed_on: str | None = None

    def without(self, lost: AbstractSet[AssetId]) -> Computation:
        """Return the computation without the assets that could not be registered, in its metadata too."""
        if lost.isdisjoint(self.inputs) and lost.isdisjoint(self.outputs):
            return self
        inputs = tuple(cid for cid in self.inputs if cid not in lost)
        outputs = tuple(cid for cid in self.outputs if cid not in lost)
        fields = json.loads(self.metadata)
        if "files" in fields:
            fields["files"] = [use for use in fields["files"] if use["cid"] not in lost]
        return replace(self, inputs=inputs, outputs=outputs, metadata=json.dumps(fields))


@dataclass(frozen=True, slots=True)
class PlanRevision:
    """One revision of an agent's plan; ``ordinal`` counts within the lane."""

    ordinal: int
    cid: AssetId
    open_items: int


def files_metadata(uses: tuple[FileUse, ...] | list[FileUse]) -> list[Mapping[str, str | int]]:
    """Return a computation's ``files`` metadata: each distinct use once, in the order seen."""
    return [use.as_json() for use in dict.fromkeys(uses)]
