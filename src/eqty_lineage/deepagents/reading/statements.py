"""What a manifest's statements say: its computations in order, its entities, and who made which."""

from __future__ import annotations

import base64
import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import Document, bare, path_of
from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid, Computation, Entity, FileUse

FAILED: Final = "_error"
"""What the type of a failed computation ends in."""
_LARGEST: Final = 1_024
"""Characters of base64 beyond which no mark of withheld content goes."""
_WITHHELD: Final = '{"eqty:withheld"'


@dataclass(frozen=True, slots=True)
class _Stated:
    """A computation registration, before its place is known."""

    id: Cid
    statement: Mapping[str, Any]
    inputs: tuple[Cid, ...]
    outputs: tuple[Cid, ...]
    metadata: Mapping[str, Any]
    sequence: int | None
    signed_at: str


class Statements:
    """The statements of a manifest, joined by what they are about."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._registered: set[Cid] = set()
        self._about: dict[Cid, list[Cid]] = {}
        self._stated: list[tuple[str, Mapping[str, Any]]] = []
        self._signed_at: dict[Cid, str] = {}
        self.signers: tuple[str, ...] = ()
        """Every ``registeredBy``."""
        self._sort()

    def _sort(self) -> None:
        signers: set[str] = set()
        for key, statement in sorted(self._document.statements.items()):
            signer = statement.get("registeredBy")
            if isinstance(signer, str):
                signers.add(signer)
            match statement.get("@type"):
                case "DataRegistration":
                    self._registered.update(_cids(key, statement, "data"))
                case "MetadataRegistration":
                    for subject in _cids(key, statement, "subject"):
                        self._about.setdefault(subject, []).extend(_cids(key, statement, "metadata"))
                case "ComputationRegistration":
                    self._stated.append((key, statement))
                case "CredentialRegistration":
                    self._note_time(statement.get("credential"))
                case kind if not isinstance(kind, str):
                    raise ReadingError("a statement has a type", path_of("statements", key, "@type"))
        self.signers = tuple(sorted(signers))

    def _note_time(self, credential: Any) -> None:
        """Note when a statement was signed: the only order older manifests have. The earliest counts."""
        if not isinstance(credential, dict):
            return
        about = credential.get("credentialSubject")
        subject = about.get("id") if isinstance(about, dict) else None
        at = credential.get("validFrom")
        if isinstance(subject, str) and isinstance(at, str):
            known = self._signed_at.get(bare(subject))
            self._signed_at[bare(subject)] = at if known is None else min(known, at)

    # --- entities

    def metadata(self, subject: Cid) -> tuple[Mapping[str, Any], ...]:
        """Return what is said of a subject: each metadata object once; what the manifest does not hold is left out.

        Raises:
            ReadingError: It is no JSON object.

        """
        said = []
        for cid in dict.fromkeys(self._about.get(subject, ())):
            if cid not in self._document.blobs:
                continue
            value = self._document.json(cid)
            if not isinstance(value, dict):
                raise ReadingError("metadata is an object", path_of("blobs", cid))
            said.append(MappingProxyType(value))
        return tuple(said)

    @cached_property
    def entities(self) -> Mapping[Cid, Entity]:
        """All that is registered as data, or used or made by a computation."""
        used = (cid for one in self.computations.values() for cid in (*one.inputs, *one.outputs))
        return MappingProxyType({cid: self._entity(cid) for cid in sorted({*self._registered, *used})})

    def _entity(self, cid: Cid) -> Entity:
        said = self.metadata(cid)
        text = self._document.blobs.get(cid)
        return Entity(
            cid=cid,
            names=tuple(dict.fromkeys(text_of(one, "name") for one in said if text_of(one, "name"))),
            types=tuple(dict.fromkeys(text_of(one, "assetType") for one in said if text_of(one, "assetType"))),
            metadata=said,
            registered=cid in self._registered,
            size=None if text is None else _size(text),
            withheld=any(one.get("withheld") is True for one in said) or (text is not None and _is_stand_in(text)),
        )

    # --- computations

    @cached_property
    def computations(self) -> Mapping[Cid, Computation]:
        """By id, in order."""
        stated = [self._read(key, statement) for key, statement in self._stated]
        made = (_computation(one, position) for position, one in enumerate(_in_order(stated)))
        return MappingProxyType({one.id: one for one in made})

    def _read(self, key: str, statement: Mapping[str, Any]) -> _Stated:
        id_ = bare(key)
        said = self.metadata(id_)
        main = next((one for one in said if "computation_type" in one), said[0] if said else {})
        sequence = main.get("sequence")
        return _Stated(
            id=id_,
            statement=statement,
            inputs=_cids(key, statement, "input"),
            outputs=_cids(key, statement, "output"),
            metadata=main,
            sequence=sequence if isinstance(sequence, int) and not isinstance(sequence, bool) else None,
            signed_at=self._signed_at.get(id_, ""),
        )

    @cached_property
    def producers(self) -> Mapping[Cid, tuple[Computation, ...]]:
        """Which computations made an entity, in order."""
        made: dict[Cid, list[Computation]] = {}
        for one in self.computations.values():
            for cid in one.outputs:
                made.setdefault(cid, []).append(one)
        return {cid: tuple(ones) for cid, ones in made.items()}

    def producer(self, cid: Cid, before: Computation) -> Computation | None:
        """Return the latest computation before another one that made an entity: its lane's own, if there is one.

        Equal content made in two places is one CID, and an input does not say which of the two it means.
        """
        makers = [one for one in self.producers.get(cid, ()) if one.position < before.position]
        own = [one for one in makers if (one.lane, one.root_run_id) == (before.lane, before.root_run_id)]
        return (own or makers)[-1] if makers else None

    @cached_property
    def ordered_by_sequence(self) -> bool:
        """Whether every computation has a ``sequence``."""
        return all(one.sequence is not None for one in self.computations.values())


def text_of(metadata: Mapping[str, Any], key: str) -> str:
    """Return a value that ought to be text; ``""`` if it is none."""
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _cids(key: str, statement: Mapping[str, Any], field: str) -> tuple[Cid, ...]:
    """Return the CIDs of a field, each once: they are sets. A list of one is written as that one."""
    value = statement.get(field, [])
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(cid, str) for cid in listed):
        raise ReadingError("a CID is wanted, or a list of CIDs", path_of("statements", key, field))
    return tuple(dict.fromkeys(bare(cid) for cid in listed))


def _size(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _is_stand_in(text: str) -> bool:
    """Whether a blob is the mark that stands for withheld content whose identity is hidden."""
    if len(text) > _LARGEST or not text.startswith(base64.b64encode(_WITHHELD[:15].encode()).decode()):
        return False
    try:
        return base64.b64decode(text).startswith(_WITHHELD.encode())
    except ValueError:
        return False


def _computation(one: _Stated, position: int) -> Computation:
    said = one.metadata
    lane = said.get("lane")
    kind = text_of(said, "computation_type")
    return Computation(
        id=one.id,
        position=position,
        statement=one.statement,
        inputs=one.inputs,
        outputs=one.outputs,
        metadata=said,
        name=text_of(said, "name"),
        type=kind,
        sequence=one.sequence,
        agent=text_of(said, "agent"),
        lane=lane if isinstance(lane, str) else None,
        run_id=text_of(said, "run_id"),
        parent_run_id=text_of(said, "parent_run_id"),
        root_run_id=text_of(said, "root_run_id"),
        call_id=text_of(said, "tool_call_id"),
        status=text_of(said, "status") or ("error" if kind.endswith(FAILED) else ""),
        started_at=text_of(said, "started_at"),
        ended_at=text_of(said, "ended_at"),
        timestamp=text_of(one.statement, "timestamp"),
        files=tuple(_file_uses(said.get("files"))),
        signer=text_of(one.statement, "registeredBy"),
    )


def _file_uses(value: Any) -> Iterator[FileUse]:
    for use in value if isinstance(value, list) else ():
        if not isinstance(use, dict):
            continue
        path, cid, role, version = (use.get(key) for key in ("path", "cid", "role", "version"))
        if isinstance(path, str) and isinstance(cid, str) and isinstance(role, str):
            ordinal = version if isinstance(version, int) and not isinstance(version, bool) else None
            yield FileUse(path, bare(cid), ordinal, role, text_of(use, "evidence"))


# --- order


def _in_order(stated: Iterable[_Stated]) -> Iterator[_Stated]:
    """Yield computations in the order of the run.

    By ``sequence``; those without one by when they were signed, and where that is not known by what needs what. Of both
    kinds in one manifest (two recorders wrote it) each keeps its order, and statement times tell how they interleave.
    """
    ones = list(stated)
    numbered = sorted((one for one in ones if one.sequence is not None), key=lambda one: (one.sequence, one.id))
    others = [one for one in ones if one.sequence is None]
    if all(one.signed_at for one in others):
        others.sort(key=lambda one: (one.signed_at, one.id))
    else:
        others = list(_by_need(others))
    if not numbered or not others:
        return iter(numbered or others)
    return heapq.merge(numbered, others, key=_time)


def _time(one: _Stated) -> str:
    return text_of(one.statement, "timestamp")


def _by_need(ones: list[_Stated]) -> Iterator[_Stated]:
    """Yield what makes something before what uses it; where that goes in circles, the earlier stated first."""
    makers: dict[Cid, set[Cid]] = {}
    for one in ones:
        for cid in one.outputs:
            makers.setdefault(cid, set()).add(one.id)
    needs = {one.id: {maker for cid in one.inputs for maker in makers.get(cid, ())} - {one.id} for one in ones}
    needed: dict[Cid, list[Cid]] = {}
    for id_, wanted in needs.items():
        for maker in wanted:
            needed.setdefault(maker, []).append(id_)
    by_id = {one.id: one for one in ones}

    def key(id_: Cid) -> tuple[str, str, Cid]:
        return by_id[id_].signed_at, _time(by_id[id_]), id_

    ready = [key(id_) for id_, wanted in needs.items() if not wanted]
    rest = sorted(map(key, by_id), reverse=True)
    heapq.heapify(ready)
    done: set[Cid] = set()
    while len(done) < len(ones):
        id_ = heapq.heappop(ready)[-1] if ready else rest.pop()[-1]
        if id_ in done:
            continue
        done.add(id_)
        yield by_id[id_]
        for other in needed.get(id_, ()):
            needs[other].discard(id_)
            if not needs[other] and other not in done:
                heapq.heappush(ready, key(other))
