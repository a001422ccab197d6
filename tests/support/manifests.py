"""An exported manifest as a test asks about it: assets by CID, computations in the order recorded.

It takes the manifest as it stands: what is missing is empty, so that a test can say that it is missing.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


@dataclass
class Asset:
    cid: str
    registered: bool = False
    metadata: list[dict[str, Any]] = field(default_factory=list)
    """One for each name it was given."""
    data: bytes | None = None

    @property
    def types(self) -> set[str]:
        return {metadata["assetType"] for metadata in self.metadata if "assetType" in metadata}

    @property
    def names(self) -> set[str]:
        return {metadata["name"] for metadata in self.metadata if "name" in metadata}

    @property
    def text(self) -> str:
        return "" if self.data is None else self.data.decode()

    @property
    def payload(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Computation:
    id: str
    metadata: dict[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.metadata.get("name"))

    @property
    def type(self) -> str:
        return str(self.metadata.get("computation_type"))

    @property
    def sequence(self) -> int:
        return int(self.metadata.get("sequence", 0))

    def files(self, *roles: str) -> list[dict[str, Any]]:
        """The versions of files it used in one of the roles, with bare CIDs."""
        uses = [use for use in self.metadata.get("files", []) if use["role"] in roles]
        return [{**use, "cid": bare(use["cid"])} for use in uses]


class Manifest:
    """The assets and computations of one export. CIDs are bare everywhere: no ``urn:cid:``."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.statements: dict[str, dict[str, Any]] = document["statements"]
        self.blobs = {bare(cid): base64.b64decode(data, validate=True) for cid, data in document["blobs"].items()}
        described: dict[str, list[dict[str, Any]]] = {}
        for statement in self._of_kind("MetadataRegistration"):
            blob = self.blobs.get(bare(statement["metadata"]))
            if blob is not None:
                described.setdefault(bare(statement["subject"]), []).append(json.loads(blob))
        self.computations = sorted(
            (
                Computation(
                    bare(statement["@id"]),
                    {
                        key: value
                        for fields in described.get(bare(statement["@id"]), [])
                        for key, value in fields.items()
                    },
                    _listed(statement["input"]),
                    _listed(statement["output"]),
                )
                for statement in self._of_kind("ComputationRegistration")
            ),
            key=lambda computation: computation.sequence,
        )
        registered = {cid for statement in self._of_kind("DataRegistration") for cid in _listed(statement["data"])}
        used = {cid for computation in self.computations for cid in (*computation.inputs, *computation.outputs)}
        self.assets = {
            cid: Asset(cid, cid in registered, described.get(cid, []), self.blobs.get(cid))
            for cid in sorted(registered | used)
        }

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(json.loads(path.read_bytes()))

    def _of_kind(self, kind: str) -> Iterator[dict[str, Any]]:
        return (statement for statement in self.statements.values() if statement["@type"] == kind)

    def of_type(self, *types: str, name: str | None = None) -> dict[str, Asset]:
        """The assets described as one of the types, and by a name if one is given."""
        return {
            cid: asset
            for cid, asset in self.assets.items()
            if any(
                metadata.get("assetType") in types and name in (None, metadata.get("name"))
                for metadata in asset.metadata
            )
        }

    def named(self, name: str, type_: str | None = None) -> list[Computation]:
        return [one for one in self.computations if one.name == name and type_ in (None, one.type)]

    def producers(self, cid: str) -> list[Computation]:
        return [one for one in self.computations if cid in one.outputs]

    def users(self, cid: str) -> list[Computation]:
        return [one for one in self.computations if cid in one.inputs]

    def ancestry(self, computation: Computation) -> list[Computation]:
        """A computation and all behind it, by signed edges; a producer counts if it was recorded before its user."""
        found = {computation.id: computation}
        waiting = [computation]
        while waiting:
            user = waiting.pop()
            for cid in user.inputs:
                for producer in self.producers(cid):
                    if producer.sequence < user.sequence and producer.id not in found:
                        found[producer.id] = producer
                        waiting.append(producer)
        return sorted(found.values(), key=lambda one: one.sequence)


def bare(cid: str) -> str:
    return cid.removeprefix("urn:cid:")


def _listed(cids: str | list[str]) -> tuple[str, ...]:
    """A single CID is exported without a list around it."""
    return tuple(bare(cid) for cid in ([cids] if isinstance(cids, str) else cids))
