"""What tampering with manifests takes: fresh runs, and the tools of somebody who knows the format and has a key.

The key is not the signer's: ids are computed anew, and what is added is signed by somebody else.
"""

import base64
import functools
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import eqty_sdk
from blake3 import blake3
from eqty_sdk import Signer
from eqty_sdk.context import graph_context
from langgraph.graph import END, START, StateGraph

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from eqty_lineage.deepagents.reading.document import load
from eqty_lineage.deepagents.reading.verification import Report, Verdict, verify
from eqty_lineage.deepagents.recording import sdk
from support import runs
from support.sdk import new_context, second, signing

Manifest = dict[str, Any]

DATA, METADATA = "DataRegistration", "MetadataRegistration"
COMPUTATION, CREDENTIAL = "ComputationRegistration", "CredentialRegistration"
NOBODY = "did:key:z6MkezMNUK6uYo58Bqrk2j4GQ7VnoJ9DuiU9bzWDEfgshuxs"
CONTEXT = "urn:cid:bafkr4icploa577ziqnb57jlpoj7l2hi5kgt3knxpdtunlttjd3q33zeqpy"

# --- fresh runs


def _graph() -> Any:
    graph = StateGraph(runs._Measured)
    graph.add_node("shout", lambda state: {"word": state["word"].upper()})
    graph.add_edge(START, "shout")
    graph.add_edge("shout", END)
    return graph.compile(name="shouting")


def _recorded(*words: str) -> bytes:
    """One run for each word, in one context."""
    context = new_context("tampering")
    handler = EqtyDeepAgentsHandler()
    for word in words:
        with graph_context(context), second(), signing():
            _graph().invoke({"word": word}, {"callbacks": [handler]})
            assert handler.flush()
    return runs.exported(context)


@contextmanager
def somebody_else() -> Iterator[str]:
    """Sign with another key."""
    eqty_sdk.set_active_signer(other := Signer.load_or_create("mallory"))
    try:
        yield other.did_key
    finally:
        eqty_sdk.set_active_signer(Signer.load_or_create("tests"))


@functools.cache
def sealed() -> bytes:
    return _recorded("light")


@functools.cache
def twice() -> bytes:
    return _recorded("light", "tower")


@functools.cache
def another() -> bytes:
    return _recorded("fog")


@functools.cache
def by_somebody_else() -> bytes:
    with somebody_else():
        return _recorded("light")


@functools.cache
def every_type() -> bytes:
    """Made with the SDK alone: a statement of every type that it writes."""
    from eqty_sdk import statements  # noqa: PLC0415

    context, kinds = new_context("types"), eqty_sdk.ASSOCIATION_TYPES
    with graph_context(context), second(), signing():
        one = eqty_sdk.Dataset.from_object([1], name="one")
        two = eqty_sdk.Dataset.from_object([2], name="two")
        code = eqty_sdk.Code.from_object("two = one + 1", name="code")
        entity = f"urn:uuid:{uuid.uuid4()}"
        first, second_ = (str(asset.cid).removeprefix("urn:cid:") for asset in (one, two))
        here = {"context": context}
        made = statements.add_computation_statement([one.cid], [two.cid], code.cid, executed_on="a host", **here)
        statements.add_metadata_statement(str(made[0]).removeprefix("urn:cid:"), '{"name": "count"}', **here)
        statements.add_entity_statement(entity, **here)
        statements.add_metadata_statement(entity, '{"name": "somebody"}', **here)
        statements.add_did_statement(NOBODY, **here)
        statements.add_association_statement(first, [second_, entity], kinds.INCLUDES, **here)
        statements.add_storage_statement(first, second_, **here)
        statements.add_governance_statement(f"urn:cid:{first}", f"urn:cid:{second_}", **here)
        return runs.exported(context)


@functools.cache
def introduced() -> bytes:
    """The signer registers and describes its own key elsewhere; then a run is recorded. Every later export has both."""
    from eqty_sdk import statements  # noqa: PLC0415

    eqty_sdk.set_active_signer(own := Signer.load_or_create("introduced"))
    try:
        context = new_context("introduced")
        with second(), signing():
            statements.add_did_statement(own.did_key, context=context)
            statements.add_metadata_statement(own.did_key, '{"name": "the signer"}', context=context)
        return _recorded("light")
    finally:
        eqty_sdk.set_active_signer(Signer.load_or_create("tests"))


# --- the tamperer's tools


def of_type(manifest: Manifest, kind: str) -> list[str]:
    """The ids of the statements of a type, but for those of the seal."""
    return sorted(
        key
        for key, one in manifest["statements"].items()
        if one["@type"] == kind and key not in _of_seals(manifest) and _subject(one) not in _of_seals(manifest)
    )


def _subject(statement: dict[str, Any]) -> str:
    return statement.get("credential", {}).get("credentialSubject", {}).get("id", "")


def content(manifest: Manifest, cid: str) -> Any:
    return json.loads(base64.b64decode(manifest["blobs"][cid.removeprefix("urn:cid:")]))


def described(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """What the metadata statement of each id says."""
    return {
        key: content(manifest, one["metadata"])
        for key, one in manifest["statements"].items()
        if one["@type"] == METADATA and one["metadata"].removeprefix("urn:cid:") in manifest["blobs"]
    }


def seals(manifest: Manifest) -> list[str]:
    return [
        manifest["statements"][key]["subject"]
        for key, said in described(manifest).items()
        if said.get("name") == "run seal"
    ]


def _of_seals(manifest: Manifest) -> set[str]:
    cids = set(seals(manifest))
    return {
        key for key, one in manifest["statements"].items() if {str(one.get("subject")), str(one.get("data"))} & cids
    }


def remove(manifest: Manifest, *keys: str, credentials: bool = True) -> None:
    for key in keys:
        manifest["statements"].pop(key, None)
    if credentials:
        for key, one in list(manifest["statements"].items()):
            if _subject(one) in keys:
                del manifest["statements"][key]


def with_all(manifest: Manifest, *keys: str) -> Manifest:
    """These statements, their credentials and contents, out of a manifest."""
    wanted = {key: one for key, one in manifest["statements"].items() if key in keys or _subject(one) in keys}
    text = json.dumps(wanted)
    return {"statements": wanted, "blobs": {cid: blob for cid, blob in manifest["blobs"].items() if cid in text}}


def merge(manifest: Manifest, more: Manifest) -> None:
    manifest["statements"].update(more["statements"])
    manifest["blobs"].update(more["blobs"])


def identified(statement: dict[str, Any]) -> str:
    """The id of a statement: the BLAKE3 of its canonical RDF (not for credentials)."""
    terms = "https://eqtylab.io/terms/"
    lines = [f"_:c14n0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{terms}{statement['@type']}> .\n"]
    for key, value in statement.items():
        for one in {value} if isinstance(value, str) else set(value):
            if key == "timestamp":
                written = f'"{one}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
            elif key in {"registeredBy", "operatedBy", "executedOn", "did"}:
                written = f'"{one}"'
            else:
                written = f"<{one}>"
            if not key.startswith("@") and key != "type":  # which kind of association it is, is in no id
                lines.append(f"_:c14n0 <{terms}{key}> {written} .\n")
    digest = blake3("".join(sorted(lines)).encode()).digest()
    raw = b"\x01\x83\xe8\x02\x1e\x20" + digest
    return "urn:cid:b" + base64.b32encode(raw).decode().rstrip("=").lower()


def replace(manifest: Manifest, key: str, **changes: Any) -> str:
    """Change a statement and give it the id that it then has."""
    statement = {**manifest["statements"].pop(key), **changes}
    statement["@id"] = identified(statement)
    manifest["statements"][statement["@id"]] = statement
    return str(statement["@id"])


def sign(manifest: Manifest, key: str) -> str:
    """Add a credential by the tamperer for a statement; return its id."""
    from eqty_sdk import statements  # noqa: PLC0415

    context = new_context("forging")
    alone = {"version": "3", "contexts": {}, "blobs": {}, "statements": {key: manifest["statements"][key]}}
    sdk.import_manifest(json.dumps(alone), context)
    with somebody_else(), second():
        added = str(statements.add_vc_statement(key, context=context))
    manifest["statements"][added] = json.loads(runs.exported(context))["statements"][added]
    return added


def store(manifest: Manifest, text: str, codec: bytes = b"\x55") -> str:
    """Put a content into a manifest under its CID."""
    raw = b"\x01" + codec + b"\x1e\x20" + blake3(text.encode()).digest()
    cid = "b" + base64.b32encode(raw).decode().rstrip("=").lower()
    manifest["blobs"][cid] = base64.b64encode(text.encode()).decode()
    return f"urn:cid:{cid}"


def somebody() -> str:
    with somebody_else() as other:
        return other


# --- the corpus


@dataclass(frozen=True)
class Case:
    """A manifest, and what has to be said of it."""

    name: str
    """What was done, as a sentence."""
    build: Callable[[], bytes]
    verdict: Verdict
    codes: frozenset[str]
    """Codes of faults that have to be among those found."""
    pinned: bool
    """Whether the signer is named to the verifier."""
    subset: bool

    def report(self) -> Report:
        signers = (Signer.load_or_create("tests").did_key,) if self.pinned else ()
        return verify(load(self.build()), signers=signers, subset=self.subset, processes=1)


CASES: list[Case] = []
Change = Callable[[Manifest], Any]


def case(
    name: str,
    *codes: str,
    verdict: Verdict = Verdict.FAILED,
    of: Callable[[], bytes] = sealed,
    pinned: bool = False,
    subset: bool = False,
) -> Callable[[Change], Change]:
    """Note a case: the function changes the manifest, or returns the bytes that it became."""

    def noted(change: Change) -> Change:
        def build() -> bytes:
            manifest = json.loads(of())
            changed = change(manifest)
            return changed if isinstance(changed, bytes) else json.dumps(manifest).encode()

        CASES.append(Case(name, build, verdict, frozenset(codes), pinned, subset))
        return change

    return noted
