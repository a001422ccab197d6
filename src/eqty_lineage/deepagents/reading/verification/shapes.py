"""Which keys and values a statement may have. What JSON-LD would drop, or read otherwise, is in no id: it is refused.

An id commits to what JSON-LD expansion leaves of a statement, and expansion leaves out keys that the context does not
define. So the keys of each type are a closed list, and each value has the one form in which it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from eqty_lineage.deepagents.reading.document import PREFIX, bare, path_of
from eqty_lineage.deepagents.reading.verification import cids
from eqty_lineage.deepagents.reading.verification.report import Check, Fault

CREDENTIAL: Final = "CredentialRegistration"
COMPUTATION: Final = "ComputationRegistration"
DATA: Final = "DataRegistration"
METADATA: Final = "MetadataRegistration"
DID: Final = "DidRegistration"

_MOST: Final = 20_000
"""CIDs in one statement beyond which it is not given to the SDK."""
_LONGEST: Final = 4_096
_DID: Final = re.compile(r"did:[a-z0-9]{1,32}:[A-Za-z0-9._:%-]{1,1024}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_UUID: Final = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE: Final = re.compile(r"[!#-;=?-\[\]_a-z~]{1,2048}")
_JWS: Final = re.compile(r"[A-Za-z0-9_-]{1,1024}\.\.[A-Za-z0-9_-]{1,1024}")
_SUITES: Final = {"Ed25519Signature2018", "EcdsaSecp256k1Signature2019", "EcdsaSecp256r1Signature2019"}
_CREDENTIAL_CONTEXTS: Final = ["https://www.w3.org/ns/credentials/v2", "https://w3id.org/security/v2"]

Wrong = str | None
"""What is wrong with a value; ``None`` if nothing is."""


def _cid(value: Any) -> Wrong:
    if not isinstance(value, str) or not value.startswith(PREFIX) or cids.parts(bare(value)) is None:
        return "a CID with the prefix urn:cid: is wanted"
    return None


def _many(one: Callable[[Any], Wrong]) -> Callable[[Any], Wrong]:
    """One, or a list of at least one."""

    def judged(value: Any) -> Wrong:
        if not isinstance(value, list):
            return one(value)
        if not value:
            return "an empty list"
        if len(value) > _MOST:
            return f"more than {_MOST:,} in one list"
        return next((wrong for item in value if (wrong := one(item)) is not None), None)

    return judged


def _did(value: Any) -> Wrong:
    return None if isinstance(value, str) and _DID.fullmatch(value) else "a DID is wanted"


def _thing(value: Any) -> Wrong:
    """What something can be said of: content, a statement, an entity, a DID."""
    if isinstance(value, str) and (_UUID.fullmatch(value) or _DID.fullmatch(value)):
        return None
    return _cid(value) and "a CID, a UUID or a DID is wanted"


def _bare_or_cid(value: Any) -> Wrong:
    """What the SDK writes in governance: it takes CIDs with and without the prefix, and keeps them so."""
    if isinstance(value, str) and cids.parts(bare(value)) is not None:
        return None
    return _thing(value)


def _place(value: Any) -> Wrong:
    """Where data are stored: the SDK puts its prefix before whatever it is given."""
    ok = isinstance(value, str) and value.startswith(PREFIX) and _PLACE.fullmatch(value.removeprefix(PREFIX))
    return None if ok else "a place with the prefix urn:cid: is wanted"


def _text(value: Any) -> Wrong:
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        return "printable text of moderate length is wanted"
    return None


def _time(value: Any) -> Wrong:
    return None if isinstance(value, str) and _TIME.fullmatch(value) else "a time is wanted (ISO-8601, with a zone)"


def _association(value: Any) -> Wrong:
    known = {"includes", "certifies", "isInstanceOf"}
    return None if isinstance(value, str) and value in known else "includes, certifies or isInstanceOf is wanted"


def _exactly(wanted: Any) -> Callable[[Any], Wrong]:
    return lambda value: None if value == wanted else f"{wanted!r} is wanted"


def _suite(value: Any) -> Wrong:
    return None if isinstance(value, str) and value in _SUITES else "an unknown kind of signature"


def _jws(value: Any) -> Wrong:
    return None if isinstance(value, str) and _JWS.fullmatch(value) else "a detached signature (JWS) is wanted"


def _uuid(value: Any) -> Wrong:
    return None if isinstance(value, str) and _UUID.fullmatch(value) else "a UUID is wanted"


Fields = Mapping[str, Callable[[Any], Wrong]]

_ALWAYS: Final[Fields] = {"registeredBy": _did, "timestamp": _time}
_FIELDS: Final[Mapping[str, Fields]] = {
    DATA: {"data": _many(_cid)},
    METADATA: {"subject": _thing, "metadata": _cid},
    COMPUTATION: {"input": _many(_cid), "output": _many(_cid)},
    CREDENTIAL: {"credential": lambda value: None if isinstance(value, dict) else "a credential is wanted"},
    "AssociationRegistration": {"subject": _thing, "association": _many(_thing), "type": _association},
    "EntityRegistration": {"entity": _thing},
    DID: {"did": _did},
    "GovernanceRegistration": {"subject": _bare_or_cid, "document": _bare_or_cid},
    "StorageRegistration": {"data": _many(_cid), "storedOn": _place},
}
_OPTIONAL: Final[Mapping[str, Fields]] = {
    COMPUTATION: {"computation": _many(_cid), "operatedBy": _text, "executedOn": _text},
    "StorageRegistration": {"operatedBy": _text},
}
_CREDENTIAL: Final[Fields] = {
    "@context": _exactly(_CREDENTIAL_CONTEXTS),
    "id": _uuid,
    "type": _exactly(["VerifiableCredential"]),
    "credentialSubject": lambda value: None if isinstance(value, dict) else "a subject is wanted",
    "issuer": _did,
    "validFrom": _time,
    "proof": lambda value: None if isinstance(value, dict) else "a proof is wanted",
}
_PROOF: Final[Fields] = {
    "created": _time,
    "jws": _jws,
    "proofPurpose": _exactly("assertionMethod"),
    "type": _suite,
    "verificationMethod": _text,
}
_SUBJECT: Final[Fields] = {"id": _cid}


def faults(key: str, statement: Mapping[str, Any], context: str) -> Iterator[Fault]:
    """Yield what is wrong with the form of a statement; ``context`` is the one it has to name."""
    kind = statement.get("@type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        said = "no known type" if not isinstance(kind, str) else f"an unknown type: {kind[:60]}"
        yield Fault(Check.IDS, "unknown-type", said, path_of("statements", key, "@type"))
        return
    if cids.parts(bare(key)) is None or not key.startswith(PREFIX):
        yield Fault(Check.IDS, "bad-id", "its key is no statement's id", path_of("statements", key))
    if statement.get("@id") != key:
        yield Fault(Check.IDS, "key-mismatch", "stands under another key than its @id", path_of("statements", key))
    if statement.get("@context") != context:
        yield Fault(
            Check.IDS, "unknown-context", "another context than the pinned one", path_of("statements", key, "@context")
        )
    rest = {name: value for name, value in statement.items() if name not in {"@id", "@type", "@context"}}
    wanted = {**_ALWAYS, **_FIELDS[kind]}
    yield from _of(rest, wanted, _OPTIONAL.get(kind, {}), Check.IDS, ("statements", key))
    if kind == CREDENTIAL and isinstance(statement.get("credential"), dict):
        yield from _credential(key, statement)


def _credential(key: str, statement: Mapping[str, Any]) -> Iterator[Fault]:
    credential = statement["credential"]
    where = ("statements", key, "credential")
    found = list(_of(credential, _CREDENTIAL, {}, Check.SIGNATURES, where))
    for name, fields in (("credentialSubject", _SUBJECT), ("proof", _PROOF)):
        if isinstance(credential.get(name), dict):
            found += _of(credential[name], fields, {}, Check.SIGNATURES, (*where, name))
    yield from found
    if found:
        return
    issuer = credential["issuer"]
    if statement.get("registeredBy") != issuer:
        yield Fault(
            Check.SIGNATURES, "issuer-mismatch", "registered by another than its issuer", path_of(*where, "issuer")
        )
    if credential["proof"]["verificationMethod"].partition("#")[0] != issuer:
        place = path_of(*where, "proof", "verificationMethod")
        yield Fault(Check.SIGNATURES, "issuer-mismatch", "signed by another key than its issuer's", place)


def _of(
    value: Mapping[str, Any], wanted: Fields, optional: Fields, check: Check, where: tuple[str, ...]
) -> Iterator[Fault]:
    for name in value.keys() - wanted.keys() - optional.keys():
        yield Fault(check, "unknown-key", f"a key that it does not have: {name[:60]}", path_of(*where, name))
    for name, judge in {**wanted, **optional}.items():
        if name not in value:
            if name in wanted:
                yield Fault(check, "missing-key", f"it has no {name}", path_of(*where))
        elif (wrong := judge(value[name])) is not None:
            yield Fault(check, "bad-value", wrong, path_of(*where, name))
