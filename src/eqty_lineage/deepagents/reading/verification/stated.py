"""What the well-formed statements of a manifest say, joined by what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import bare
from eqty_lineage.deepagents.reading.verification.contents import Contents
from eqty_lineage.deepagents.reading.verification.shapes import COMPUTATION, CREDENTIAL, DATA, METADATA

Statement = Mapping[str, Any]

_ABOUT: Final = ("data", "subject", "metadata", "input", "output", "computation", "association", "document", "storedOn")
"""The fields that name something by its CID."""


def listed(value: Any) -> list[str]:
    """Return a list of one that is written as that one, as a list."""
    return [value] if isinstance(value, str) else list(value)


@dataclass(slots=True)
class Stated:
    """Well-formed statements. CIDs of contents are bare; ids of statements are as they stand."""

    statements: dict[str, Statement]
    contents: Contents
    registered: dict[str, set[str]] = field(default_factory=dict)
    """Who registered which content as data."""
    described: dict[str, list[str]] = field(default_factory=dict)
    """The metadata statements about each subject, by its bare CID, UUID or DID."""
    computations: dict[str, Statement] = field(default_factory=dict)
    credentials: dict[str, list[str]] = field(default_factory=dict)
    """The credential statements for each statement."""
    named: set[str] = field(default_factory=set)
    """All CIDs that statements name, bare."""

    @classmethod
    def of(cls, statements: dict[str, Statement], contents: Contents) -> Stated:
        """Join them."""
        stated = cls(statements, contents)
        for key, statement in statements.items():
            match statement["@type"]:
                case kind if kind == DATA:
                    for cid in map(bare, listed(statement["data"])):
                        stated.registered.setdefault(cid, set()).add(statement["registeredBy"])
                case kind if kind == METADATA:
                    stated.described.setdefault(bare(statement["subject"]), []).append(key)
                case kind if kind == COMPUTATION:
                    stated.computations[key] = statement
                case kind if kind == CREDENTIAL:
                    subject = statement["credential"]["credentialSubject"]["id"]
                    stated.credentials.setdefault(subject, []).append(key)
                case _:
                    pass
            if statement["@type"] != CREDENTIAL:
                stated.named.update(map(bare, about(statement)))
        return stated

    @property
    def claims(self) -> Iterator[tuple[str, Statement]]:
        """All statements but credentials."""
        return ((key, one) for key, one in self.statements.items() if one["@type"] != CREDENTIAL)

    @property
    def used(self) -> dict[str, str]:
        """What computations took and made: the bare CID, and the id of one of them."""
        return {cid: key for key, one in self.computations.items() for cid in sides(one)}

    def metadata(self, statement: Statement) -> Mapping[str, Any]:
        """Return what a metadata statement says; empty if that is not there or no object."""
        value = self.contents.values.get(bare(statement["metadata"]))
        return value if isinstance(value, dict) else {}

    def withheld(self, cid: str) -> bool:
        """Whether one of those who registered a content says, in its metadata, that it is withheld."""
        return any(
            self.metadata(self.statements[key]).get("withheld") is True
            and self.statements[key]["registeredBy"] in self.registered.get(cid, ())
            for key in self.described.get(cid, ())
        )


def about(statement: Statement) -> Iterable[str]:
    """Return what a statement names."""
    return [name for key in _ABOUT if key in statement for name in listed(statement[key])]


def sides(computation: Statement) -> list[str]:
    """Return a computation's inputs and outputs, bare."""
    return [bare(cid) for key in ("input", "output") for cid in listed(computation[key])]
