"""The corpus of tampered manifests: what was done to each, and the verdict it has to get.

``python -m support.tampered`` verifies them all and writes the table in docs/verification.md.
"""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from eqty_lineage.deepagents.reading.verification import Verdict
from support import runs
from support.sdk import initialise
from support.tampering import (
    CASES,
    COMPUTATION,
    CONTEXT,
    CREDENTIAL,
    DATA,
    METADATA,
    Manifest,
    another,
    by_somebody_else,
    case,
    content,
    described,
    every_type,
    identified,
    introduced,
    merge,
    of_type,
    remove,
    replace,
    seals,
    sign,
    somebody,
    store,
    twice,
    with_all,
)

__all__ = ["CASES"]

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

NEVER = "urn:cid:bafkr4iccxn7ewbb2y2twdvidcyrglfd6hhsgm3hz6h3bqbfobzhdglvgka"
KINDS = {"data": DATA, "metadata": METADATA, "computation": COMPUTATION}
FIELD = {DATA: "data", METADATA: "metadata", COMPUTATION: "output"}

# --- no tampering


@case("nothing", verdict=Verdict.OK)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("nothing; the signer is pinned", verdict=Verdict.OK, pinned=True)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("statements and blobs in another order, and the file indented", verdict=Verdict.OK)
def _(manifest: Manifest) -> bytes:
    for part in ("statements", "blobs"):
        manifest[part] = dict(sorted(manifest[part].items(), reverse=True))
    return json.dumps(manifest, indent=4).encode()


@case("inputs, which are a set, in another order and one of them twice", verdict=Verdict.OK)
def _(manifest: Manifest) -> None:
    for key in of_type(manifest, COMPUTATION):
        inputs = manifest["statements"][key]["input"]
        listed = [inputs] if isinstance(inputs, str) else inputs
        manifest["statements"][key]["input"] = [*reversed(listed), listed[0]]


@case("metadata with other spaces and its keys in another order", verdict=Verdict.OK)
def _(manifest: Manifest) -> None:
    for key in of_type(manifest, METADATA):
        cid = manifest["statements"][key]["metadata"]
        said = dict(reversed(content(manifest, cid).items()))
        manifest["blobs"][cid.removeprefix("urn:cid:")] = base64.b64encode(json.dumps(said, indent=3).encode()).decode()


@case("the contexts left out, which nothing reads", verdict=Verdict.OK)
def _(manifest: Manifest) -> None:
    manifest["contexts"] = {}


@case("two runs in one context, each sealed", verdict=Verdict.OK, of=twice)
def _(manifest: Manifest) -> None:
    """As it was exported."""


# --- each type of statement

for _word, _kind in KINDS.items():

    @case(f"{_word}: the time changed", "id-mismatch")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        manifest["statements"][of_type(manifest, kind)[0]]["timestamp"] = "2024-02-02T02:02:02Z"

    @case(f"{_word}: what it names changed", "id-mismatch")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        key = of_type(manifest, kind)[0]
        one, other = (
            (manifest["statements"][key] for key in of_type(manifest, kind)[:2])
            if kind == METADATA
            else (
                manifest["statements"][key],
                {FIELD[kind]: NEVER},
            )
        )
        one[FIELD[kind]] = other[FIELD[kind]]

    @case(f"{_word}: changed, with the id that it then has", "unsigned", "dangling-credential", "sealed-missing")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        replace(manifest, of_type(manifest, kind)[0], timestamp="2024-02-02T02:02:02Z")

    @case(f"{_word}: changed, identified anew and signed by another key", "unsigned", "unsealed", "sealed-missing")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        key = of_type(manifest, kind)[0]
        changed = replace(manifest, key, timestamp="2024-02-02T02:02:02Z")
        remove(manifest, key)
        sign(manifest, changed)

    @case(f"{_word}: re-signed by another key, in whose name it now is", "unsealed", "sealed-missing")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        key = of_type(manifest, kind)[0]
        changed = replace(manifest, key, registeredBy=somebody())
        remove(manifest, key)
        sign(manifest, changed)

    @case(f"{_word}: its credential replaced by one of another key", "unsigned", "sealed-missing", "unsealed")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        key = of_type(manifest, kind)[0]
        statement = manifest["statements"][key]
        remove(manifest, key)
        manifest["statements"][key] = statement
        sign(manifest, key)

    @case(f"{_word}: removed, its credential left", "dangling-credential", "sealed-missing")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        remove(manifest, of_type(manifest, kind)[0], credentials=False)

    @case(f"{_word}: removed with its credential", "sealed-missing")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        remove(manifest, of_type(manifest, kind)[0])

    @case(f"{_word}: added by another key", "unsealed")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        key = of_type(manifest, kind)[0]
        statement = dict(manifest["statements"][key])
        added = replace(manifest, key, registeredBy=somebody(), timestamp="2024-02-02T02:02:02Z")
        manifest["statements"][key] = statement
        sign(manifest, added)

    @case(f"{_word}: replayed from another manifest of the same key", "unsealed")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        other = json.loads(another())
        used = {
            cid
            for key in of_type(manifest, COMPUTATION)
            for side in ("input", "output")
            for cid in _listed(manifest["statements"][key][side])
        }
        foreign = [
            key
            for key in of_type(other, kind)
            if key not in manifest["statements"]
            and not used & set(_listed(other["statements"][key].get("subject", [])))
        ]
        merge(manifest, with_all(other, foreign[0]))

    @case(f"{_word}: its place taken by one of another manifest of the same key", "key-mismatch")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        other = json.loads(another())
        key = of_type(manifest, kind)[0]
        foreign = next(key for key in of_type(other, kind) if key not in manifest["statements"])
        manifest["statements"][key] = other["statements"][foreign]

    @case(f"{_word}: two exchanged under their keys", "key-mismatch")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        one, other = (
            (of_type(manifest, kind) * 2)[:2]
            if kind == METADATA
            else (
                of_type(manifest, kind)[0],
                of_type(manifest, METADATA)[0],
            )
        )
        statements = manifest["statements"]
        statements[one], statements[other] = statements[other], statements[one]

    @case(f"{_word}: a key more", "unknown-key")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        manifest["statements"][of_type(manifest, kind)[0]]["approvedBy"] = "everybody"

    @case(f"{_word}: a key less", "missing-key")
    def _(manifest: Manifest, kind: str = _kind) -> None:
        del manifest["statements"][of_type(manifest, kind)[0]]["timestamp"]


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


@case("computation: inputs and outputs exchanged", "id-mismatch")
def _(manifest: Manifest) -> None:
    one = manifest["statements"][of_type(manifest, COMPUTATION)[0]]
    one["input"], one["output"] = one["output"], one["input"]


@case("computation: removed with its metadata and their credentials", "sealed-missing")
def _(manifest: Manifest) -> None:
    key = of_type(manifest, COMPUTATION)[0]
    remove(manifest, key, *(k for k in of_type(manifest, METADATA) if manifest["statements"][k]["subject"] == key))


@case("computation: renamed by metadata replayed about it", "unsealed")
def _(manifest: Manifest) -> None:
    statement = next(dict(one) for one in manifest["statements"].values() if one["@type"] == METADATA)
    added = {**statement, "subject": of_type(manifest, COMPUTATION)[0], "timestamp": "2024-02-02T02:02:02Z"}
    added["@id"] = identified(added)
    manifest["statements"][added["@id"]] = added
    sign(manifest, added["@id"])


# --- credentials


def _credential(manifest: Manifest, at: int = 0) -> dict[str, Any]:
    return manifest["statements"][of_type(manifest, CREDENTIAL)[at]]["credential"]


@case("credential: removed", "unsigned", "sealed-missing")
def _(manifest: Manifest) -> None:
    remove(manifest, of_type(manifest, CREDENTIAL)[0])


@case("credential: dated earlier", "id-mismatch", "bad-signature")
def _(manifest: Manifest) -> None:
    _credential(manifest)["validFrom"] = "2020-01-01T00:00:00Z"


@case("credential: dated into the future", "not-yet-valid")
def _(manifest: Manifest) -> None:
    _credential(manifest)["validFrom"] = "2999-01-01T00:00:00Z"


@case("credential: for another statement", "bad-signature")
def _(manifest: Manifest) -> None:
    _credential(manifest)["credentialSubject"]["id"] = _credential(manifest, 1)["credentialSubject"]["id"]


@case("credential: the signature of another", "bad-signature")
def _(manifest: Manifest) -> None:
    _credential(manifest)["proof"]["jws"] = _credential(manifest, 1)["proof"]["jws"]


@case("credential: the whole proof of another", "bad-signature")
def _(manifest: Manifest) -> None:
    _credential(manifest)["proof"] = _credential(manifest, 1)["proof"]


@case("credential: a signature of no known form", "bad-signature")
def _(manifest: Manifest) -> None:
    _credential(manifest)["proof"]["jws"] = "AAAA..AAAA"


@case("credential: dated on a day that no month has", "bad-credential")
def _(manifest: Manifest) -> None:
    _credential(manifest)["validFrom"] = "2024-02-31T00:00:00Z"


@case("credential: another issuer", "issuer-mismatch")
def _(manifest: Manifest) -> None:
    _credential(manifest)["issuer"] = somebody()


@case("credential: by a key that is not its issuer's", "issuer-mismatch")
def _(manifest: Manifest) -> None:
    _credential(manifest)["proof"]["verificationMethod"] = f"{somebody()}#{somebody().removeprefix('did:key:')}"


@case("credential: no proof", "missing-key", "unsigned")
def _(manifest: Manifest) -> None:
    del _credential(manifest)["proof"]


@case("credential: a key more", "unknown-key")
def _(manifest: Manifest) -> None:
    _credential(manifest)["validUntil"] = "2999-01-01T00:00:00Z"


@case("credential: a key more in its proof", "unknown-key")
def _(manifest: Manifest) -> None:
    _credential(manifest)["proof"]["challenge"] = "x"


@case("credential: added, by another key, for a statement that has one", "unsealed")
def _(manifest: Manifest) -> None:
    sign(manifest, of_type(manifest, DATA)[0])


@case("credential: another context", "bad-value")
def _(manifest: Manifest) -> None:
    _credential(manifest)["@context"].append({"@vocab": "https://example.org/"})


# --- ids, forms, the envelope


@case("the context and a statement changed so that input means output", "context-swapped", "id-mismatch")
def _(manifest: Manifest) -> None:
    manifest["contexts"][CONTEXT] = json.loads(
        json.dumps(manifest["contexts"][CONTEXT])
        .replace("terms/input", "terms/x")
        .replace("terms/output", "terms/input")
        .replace("terms/x", "terms/output")
    )
    one = manifest["statements"][of_type(manifest, COMPUTATION)[0]]
    one["input"], one["output"] = one["output"], one["input"]


@case("a context of the tamperer's own", "context-swapped", "unknown-context")
def _(manifest: Manifest) -> None:
    manifest["contexts"][NEVER] = manifest["contexts"][CONTEXT]
    manifest["statements"][of_type(manifest, DATA)[0]]["@context"] = NEVER


@case("an id forged", "id-mismatch", "sealed-missing")
def _(manifest: Manifest) -> None:
    key, other = of_type(manifest, DATA)[0], of_type(json.loads(another()), DATA)[0]
    statement = manifest["statements"].pop(key)
    manifest["statements"][other] = {**statement, "@id": other}


@case("an id that is none", "bad-id")
def _(manifest: Manifest) -> None:
    statement = manifest["statements"].pop(of_type(manifest, DATA)[0])
    manifest["statements"]["the first"] = {**statement, "@id": "the first"}


@case("an unknown type", "unknown-type")
def _(manifest: Manifest) -> None:
    manifest["statements"][of_type(manifest, DATA)[0]]["@type"] = "PolicyRegistration"


@case("a value that JSON-LD reads alike and others do not", "bad-value")
def _(manifest: Manifest) -> None:
    one = manifest["statements"][of_type(manifest, COMPUTATION)[0]]
    one["output"] = {"@id": _listed(one["output"])[0]}


@case("a key more in the envelope", "unknown-key")
def _(manifest: Manifest) -> None:
    manifest["approved"] = True


@case("a statement twice under one key", "repeated-key")
def _(manifest: Manifest) -> bytes:
    key, start = json.dumps(of_type(manifest, DATA)[0]), '"statements": {"urn:cid:'
    return json.dumps(manifest).replace(start, f'"statements": {{{key}: {{"@type": "Nothing"}}, "urn:cid:', 1).encode()


@case("a field twice in one statement", "repeated-key")
def _(manifest: Manifest) -> bytes:
    return json.dumps(manifest).replace('"timestamp":', '"timestamp": "2020-01-01T00:00:00Z", "timestamp":', 1).encode()


# --- contents


def _content_of(manifest: Manifest, at: int = 0) -> str:
    """The CID of an input or output, bare."""
    cids = {cid for key in of_type(manifest, COMPUTATION) for cid in _listed(manifest["statements"][key]["output"])}
    return sorted(cids)[at].removeprefix("urn:cid:")


@case("a content changed", "blob-mismatch")
def _(manifest: Manifest) -> None:
    manifest["blobs"][_content_of(manifest)] = base64.b64encode(b"something else").decode()


@case("a content cut off", "blob-mismatch")
def _(manifest: Manifest) -> None:
    cid = _content_of(manifest)
    manifest["blobs"][cid] = base64.b64encode(base64.b64decode(manifest["blobs"][cid])[:-4]).decode()


@case("two contents exchanged", "blob-mismatch")
def _(manifest: Manifest) -> None:
    blobs, one, other = manifest["blobs"], _content_of(manifest), _content_of(manifest, 1)
    blobs[one], blobs[other] = blobs[other], blobs[one]


@case("a content removed", "no-content")
def _(manifest: Manifest) -> None:
    del manifest["blobs"][_content_of(manifest)]


@case("metadata changed", "blob-mismatch")
def _(manifest: Manifest) -> None:
    cid = manifest["statements"][of_type(manifest, METADATA)[0]]["metadata"]
    said = {**content(manifest, cid), "name": "something else"}
    manifest["blobs"][cid.removeprefix("urn:cid:")] = base64.b64encode(json.dumps(said).encode()).decode()


@case("metadata removed", "no-metadata")
def _(manifest: Manifest) -> None:
    del manifest["blobs"][manifest["statements"][of_type(manifest, METADATA)[0]]["metadata"].removeprefix("urn:cid:")]


@case("metadata that names something twice", "repeated-key")
def _(manifest: Manifest) -> None:
    cid = manifest["statements"][of_type(manifest, METADATA)[0]]["metadata"].removeprefix("urn:cid:")
    text = base64.b64decode(manifest["blobs"][cid]).decode().replace("{", '{"name": "something else", ', 1)
    manifest["blobs"][cid] = base64.b64encode(text.encode()).decode()


@case("metadata that is no JSON", "bad-json")
def _(manifest: Manifest) -> None:
    cid = manifest["statements"][of_type(manifest, METADATA)[0]]["metadata"].removeprefix("urn:cid:")
    manifest["blobs"][cid] = base64.b64encode(b"{'name': 'x'}").decode()


@case("base64 with a line break in it", "bad-base64")
def _(manifest: Manifest) -> None:
    cid = _content_of(manifest)
    manifest["blobs"][cid] = manifest["blobs"][cid][:4] + "\n" + manifest["blobs"][cid][4:]


@case("base64 that hides bits in its padding", "bad-base64")
def _(manifest: Manifest) -> None:
    cid, text = next((cid, text) for cid, text in manifest["blobs"].items() if text.endswith("="))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = text.rstrip("=")[-1]
    hidden = letters[letters.index(last) | 1]
    manifest["blobs"][cid] = text.rstrip("=")[:-1] + hidden + text[len(text.rstrip("=")) :]


@case("a content under something that is no CID", "bad-cid")
def _(manifest: Manifest) -> None:
    manifest["blobs"]["../../etc/passwd"] = "eA=="


@case("a content added that no statement names", verdict=Verdict.WITH_LIMITS)
def _(manifest: Manifest) -> None:
    store(manifest, "nobody signed this")


# --- seals


@case("the seal removed", "seal-missing")
def _(manifest: Manifest) -> None:
    for cid in seals(manifest):
        keys = [k for k, one in manifest["statements"].items() if cid in (one.get("subject"), one.get("data"))]
        remove(manifest, *keys)
        del manifest["blobs"][cid.removeprefix("urn:cid:")]


@case("the seal's content removed", "seal-unreadable", "no-content")
def _(manifest: Manifest) -> None:
    del manifest["blobs"][seals(manifest)[0].removeprefix("urn:cid:")]


@case("the seal's list changed", "blob-mismatch")
def _(manifest: Manifest) -> None:
    (cid,) = seals(manifest)
    listed = content(manifest, cid)
    listed["statements"].pop()
    listed["count"] -= 1
    manifest["blobs"][cid.removeprefix("urn:cid:")] = base64.b64encode(json.dumps(listed).encode()).decode()


def _reseal(manifest: Manifest, listed: Any) -> None:
    """Put the tamperer's own seal in the place of the one there is."""
    (cid,) = seals(manifest)
    keys = [k for k, one in manifest["statements"].items() if cid in (one.get("subject"), one.get("data"))]
    own = store(manifest, json.dumps(listed))
    del manifest["blobs"][cid.removeprefix("urn:cid:")]
    for key in keys:
        field = "subject" if "subject" in manifest["statements"][key] else "data"
        made = replace(manifest, key, registeredBy=somebody(), **{field: own})
        remove(manifest, key)
        sign(manifest, made)


def _sealed_ids(manifest: Manifest) -> list[str]:
    return list(content(manifest, seals(manifest)[0])["statements"])


def _step_cut_out(manifest: Manifest) -> list[str]:
    ids = _sealed_ids(manifest)
    key = of_type(manifest, COMPUTATION)[0]
    remove(manifest, key, *(k for k in of_type(manifest, METADATA) if manifest["statements"][k]["subject"] == key))
    return [one for one in ids if one in manifest["statements"]]


@case("a step cut out and all sealed anew by another key", verdict=Verdict.WITH_LIMITS)
def _(manifest: Manifest) -> None:
    ids = _step_cut_out(manifest)
    _reseal(manifest, {"statements": ids, "count": len(ids), "before": None})


@case("a step cut out and all sealed anew by another key; the signer is pinned", "signer-not-allowed", pinned=True)
def _(manifest: Manifest) -> None:
    ids = _step_cut_out(manifest)
    _reseal(manifest, {"statements": ids, "count": len(ids), "before": None})


@case("a seal whose count is not that of its list", "bad-seal")
def _(manifest: Manifest) -> None:
    ids = _sealed_ids(manifest)
    _reseal(manifest, {"statements": ids, "count": len(ids) + 1, "before": None})


def _run_of(manifest: Manifest, *, first: bool) -> None:
    """Remove a run of two with its seal."""
    (cid,) = [cid for cid in seals(manifest) if (content(manifest, cid)["before"] is None) == first]
    kept = {one for other in seals(manifest) if other != cid for one in content(manifest, other)["statements"]}
    keys = [k for k, one in manifest["statements"].items() if cid in (one.get("subject"), one.get("data"))]
    remove(manifest, *keys, *(set(content(manifest, cid)["statements"]) - kept))
    named = json.dumps(manifest["statements"])
    manifest["blobs"] = {cid: blob for cid, blob in manifest["blobs"].items() if cid in named}


@case("the first of two runs removed with its seal", "seal-before-missing", of=twice)
def _(manifest: Manifest) -> None:
    _run_of(manifest, first=True)


@case("the last of two runs removed with its seal, which nothing in a manifest can show", verdict=Verdict.OK, of=twice)
def _(manifest: Manifest) -> None:
    _run_of(manifest, first=False)


@case("the runs of two manifests of one key put together", verdict=Verdict.WITH_LIMITS)
def _(manifest: Manifest) -> None:
    merge(manifest, json.loads(another()))


@case("a run by another key put beside it", verdict=Verdict.WITH_LIMITS)
def _(manifest: Manifest) -> None:
    merge(manifest, json.loads(by_somebody_else()))


@case("a run by another key put beside it; the signer is pinned", "signer-not-allowed", pinned=True)
def _(manifest: Manifest) -> None:
    merge(manifest, json.loads(by_somebody_else()))


@case("all of it made and signed by another key: its name is in the report", verdict=Verdict.OK, of=by_somebody_else)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case(
    "all of it made and signed by another key; the signer is pinned",
    "signer-not-allowed",
    "unsigned",
    of=by_somebody_else,
    pinned=True,
)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("a step removed from what is to be a subset", verdict=Verdict.SUBSET, subset=True)
def _(manifest: Manifest) -> None:
    _step_cut_out(manifest)


@case("a step changed in what is to be a subset", "id-mismatch", subset=True)
def _(manifest: Manifest) -> None:
    manifest["statements"][of_type(manifest, COMPUTATION)[0]]["executedOn"] = "elsewhere"


# --- withheld contents


@case("nothing; a file was withheld", verdict=Verdict.WITHHELD, of=runs.withheld)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("nothing; a file was withheld without a trace", verdict=Verdict.WITHHELD, of=lambda: runs.withheld("hidden"))
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("a content removed and its metadata changed to say that it was withheld", "blob-mismatch")
def _(manifest: Manifest) -> None:
    cid = _content_of(manifest)
    del manifest["blobs"][cid]
    for key, said in described(manifest).items():
        one = manifest["statements"][key]
        if one["subject"] == f"urn:cid:{cid}":
            text = json.dumps({**said, "withheld": True}).encode()
            manifest["blobs"][one["metadata"].removeprefix("urn:cid:")] = base64.b64encode(text).decode()


@case("a content removed, and another key says that it was withheld", "no-content", "unsealed")
def _(manifest: Manifest) -> None:
    cid = _content_of(manifest)
    del manifest["blobs"][cid]
    said = store(manifest, '{"withheld":true}', b"\x81\xec\x02")
    one = dict(manifest["statements"][of_type(manifest, METADATA)[0]])
    one |= {"subject": f"urn:cid:{cid}", "metadata": said, "registeredBy": somebody()}
    one["@id"] = identified(one)
    manifest["statements"][one["@id"]] = one
    sign(manifest, one["@id"])


# --- what an export takes along


@case(
    "nothing; elsewhere the signer had said something of its own key, which comes along without its credential",
    verdict=Verdict.WITH_LIMITS,
    of=introduced,
)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("another key registered", "unsealed", of=introduced)
def _(manifest: Manifest) -> None:
    key = next(key for key in of_type(manifest, "DidRegistration"))
    one = dict(manifest["statements"][key])
    added = replace(manifest, key, did=somebody(), registeredBy=somebody())
    manifest["statements"][key] = one
    sign(manifest, added)


# --- without a seal


@case("nothing; made with the SDK alone, every type of statement", verdict=Verdict.WITH_LIMITS, of=every_type)
def _(manifest: Manifest) -> None:
    """As it was exported."""


@case("no seal; a statement of data removed", "no-data", "dangling-metadata", of=every_type)
def _(manifest: Manifest) -> None:
    (key,) = of_type(manifest, COMPUTATION)
    cid = manifest["statements"][key]["output"]
    remove(manifest, *(k for k in of_type(manifest, DATA) if manifest["statements"][k]["data"] == cid))


@case("no seal; the metadata of a computation removed", "no-metadata", of=every_type)
def _(manifest: Manifest) -> None:
    (key,) = of_type(manifest, COMPUTATION)
    remove(manifest, *(k for k in of_type(manifest, METADATA) if manifest["statements"][k]["subject"] == key))


for _type, _field, _value in (
    ("AssociationRegistration", "association", [NEVER]),
    ("EntityRegistration", "entity", "urn:uuid:00000000-0000-0000-0000-000000000000"),
    ("DidRegistration", "did", "did:key:z6MkgXD9hNBjNbYqF7uA7dtS1KxDuhVYtnHCW9eTNqRQDwKg"),
    ("GovernanceRegistration", "document", NEVER),
    ("StorageRegistration", "storedOn", NEVER),
    (COMPUTATION, "computation", NEVER),
    (COMPUTATION, "executedOn", "another host"),
):

    @case(f"{_type}: {_field} changed", "id-mismatch", of=every_type)
    def _(manifest: Manifest, type_: str = _type, field: str = _field, value: Any = _value) -> None:
        (key,) = of_type(manifest, type_)
        manifest["statements"][key][field] = value


@case(
    "the kind of an association changed, which its id does not cover: said as a limit",
    verdict=Verdict.WITH_LIMITS,
    of=every_type,
)
def _(manifest: Manifest) -> None:
    (key,) = of_type(manifest, "AssociationRegistration")
    manifest["statements"][key]["type"] = "certifies"


# --- the table


def table() -> str:
    """Verify every case, and return what was said of each as a table in Markdown."""
    rows = ["| what was done | verdict | faults |", "|---|---|---|"]
    for one in CASES:
        report = one.report()
        codes = sorted({fault.code for fault in report.faults})
        asked = " (`--subset`)" if one.subset else ""
        rows.append(f"| {one.name} | {report.verdict}{asked} | {', '.join(f'`{code}`' for code in codes)} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the table into docs/verification.md."""
    page = Path(__file__).resolve().parents[2] / "docs" / "verification.md"
    with tempfile.TemporaryDirectory() as folder:
        initialise(Path(folder))
        before, mark, rest = page.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        page.write_text(f"{before}{mark}\n\n{table()}\n{end}{after}")


if __name__ == "__main__":
    main()
