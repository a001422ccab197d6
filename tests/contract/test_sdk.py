"""The calls this package makes to the EQTY SDK: how they are called, and the behaviour that is relied on."""

import inspect
import json
import threading
import uuid
from pathlib import Path
from typing import Any

import eqty_sdk
import pytest
from eqty_sdk import CID, Agent, Context, Dataset, Document, Media, Model, Prompt, Reasoning, Skill, SystemPrompt, Tool
from eqty_sdk.context import get_active_context, graph_context

from eqty_lineage.deepagents.facts import AssetId, Computation
from eqty_lineage.deepagents.recording import sdk
from support.sdk import new_context, run_in_process, second

SIGNATURES = {
    "get_cid_for_bytes": "(data, _store=None)",
    "get_cid_for_path": "(path, _store=None)",
    "add_computation_statement": (
        "(inputs, outputs, computation=None, *, operated_by=None, executed_on=None, _skip_proof=None, context=None)"
    ),
    "add_data_statement": "(data, *, _skip_proof=None, context=None)",
    "add_metadata_statement": "(subject, metadata, *, _skip_proof=None, context=None)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_has_the_signature_it_had(name: str):
    assert str(inspect.signature(inspect.unwrap(getattr(sdk, name)))) == SIGNATURES[name]


def test_the_methods_of_a_context_have_the_signatures_they_had():
    expected = {
        "new": "(name)",
        "with_parent": "(parent)",
        "export": "(self, /, path)",
        "import_manifest": "(self, /, path)",
        "delete": "(self, /)",
        "register": "(self, /, service, *, delete_blobs=False, delete_statements=False)",
    }
    assert {name: str(inspect.signature(getattr(Context, name))) for name in expected} == expected
    assert list(inspect.signature(eqty_sdk.init).parameters) == ["default_context", "custom_dir"]


def manifest(context: Context, folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    context.export(path)
    exported: dict[str, Any] = json.loads(path.read_bytes())
    return exported


def statements(context: Context, folder: Path, kind: str) -> list[dict[str, Any]]:
    return [statement for statement in manifest(context, folder)["statements"].values() if statement["@type"] == kind]


def storing_in(context: Context) -> sdk.ContextStore:
    return sdk.ContextStore(sdk.Target(context, None, "", {}, threading.Lock()))


def put(store: sdk.ContextStore, data: bytes, **fields: Any) -> AssetId:
    """Store an asset as a recorder does."""
    cid = sdk.cid_of(data)
    store.keep(cid, data)
    store.register([cid])
    store.describe(cid, sdk.metadata_json({"name": "x", **fields}))
    return cid


def test_without_a_signer_the_question_for_it_raises_and_initialises_nothing(tmp_path: Path):
    code = """
import os
from eqty_sdk._rust import signer
for prepare in (lambda: None, lambda: __import__("eqty_sdk").init(custom_dir="store")):
    prepare()
    try:
        signer.get_active_signer_did_key()
    except RuntimeError as error:
        print("raised", sorted(os.listdir(".")))
import eqty_sdk
eqty_sdk.set_active_signer(eqty_sdk.Signer.load_or_create("s"))
print(signer.get_active_signer_did_key()[:4])
"""
    done = run_in_process(code, folder=tmp_path)
    assert done.stdout.splitlines() == ["raised []", "raised ['store']", "did:"], done.stderr


def test_before_it_is_initialised_the_sdk_panics_with_a_base_exception(tmp_path: Path):
    code = """
import eqty_sdk
try:
    eqty_sdk.get_cid_for_bytes(b"x", False)
except BaseException as error:
    print(type(error).__name__, isinstance(error, Exception))
"""
    assert run_in_process(code, folder=tmp_path).stdout.strip() == "PanicException False"


def test_a_cid_is_computed_without_storing_unless_that_is_asked_for(tmp_path: Path):
    context = new_context()
    store = storing_in(context)
    only_named, kept = sdk.cid_of(b"only named"), sdk.cid_of(b"kept")
    store.register([only_named, kept])
    assert not manifest(context, tmp_path)["blobs"]
    store.keep(sdk.cid_of(b"kept"), b"kept")
    assert manifest(context, tmp_path)["blobs"].keys() == {kept.removeprefix("urn:cid:")}


def test_an_asset_is_a_data_statement_and_a_metadata_statement(tmp_path: Path):
    context = new_context()
    cid = put(storing_in(context), b"content", assetType="Dataset")
    (data,) = statements(context, tmp_path, "DataRegistration")
    (metadata,) = statements(context, tmp_path, "MetadataRegistration")
    assert data["data"] == metadata["subject"] == cid


def test_one_data_statement_can_name_many_assets(tmp_path: Path):
    context = new_context()
    cids = [sdk.cid_of(str(number).encode()) for number in range(60)]
    storing_in(context).register(cids)
    (data,) = statements(context, tmp_path, "DataRegistration")
    assert set(data["data"]) == set(cids)


def test_a_computation_is_described_under_its_own_id(tmp_path: Path):
    context = new_context()
    store = storing_in(context)
    cids = [put(store, data) for data in (b"in", b"out")]
    computation = Computation((cids[0],), (cids[1],), sdk.metadata_json({"name": "step", "sequence": 2**53}))
    made = store.compute(computation)
    store.describe(made, computation.metadata)
    exported = manifest(context, tmp_path)
    ((id_, statement),) = [
        item for item in exported["statements"].items() if item[1]["@type"] == "ComputationRegistration"
    ]
    assert (statement["input"], statement["output"]) == tuple(cids)
    assert id_.removeprefix("urn:cid:") == made.removeprefix("urn:cid:")
    (described,) = [one for one in exported["statements"].values() if one.get("subject") == id_]
    assert described["metadata"].removeprefix("urn:cid:") in exported["blobs"]


def test_two_equal_computations_of_two_runs_are_two_statements(tmp_path: Path):
    context = new_context()
    store = storing_in(context)
    cids = [put(store, data) for data in (b"in", b"out")]
    with second():
        made = {
            store.compute(Computation((cids[0],), (cids[1],), "{}", executed_on=f"urn:uuid:{uuid.UUID(int=number)}"))
            for number in (1, 2)
        }
    assert len(made) == 2


@pytest.mark.parametrize("value", [1.0, 100.0, -0.0, 1e-05, 2**62, 2**70, float("nan"), "x\ud800"])
def test_any_metadata_value_keeps_its_blob(value: Any, tmp_path: Path):
    # the SDK by itself loses the metadata of such a value
    context = new_context()
    put(storing_in(context), b"content", value=[value])
    (described,) = statements(context, tmp_path, "MetadataRegistration")
    assert described["metadata"].removeprefix("urn:cid:") in manifest(context, tmp_path)["blobs"]


def test_a_child_of_a_context_keeps_its_statements_to_itself(tmp_path: Path):
    parent = new_context()
    target = sdk.Target(parent, "T", "agent", {}, threading.Lock())
    put(sdk.ContextStore(target), b"of the child")
    assert target.resolve().id != parent.id
    assert target.resolve() is target.resolve()
    assert not manifest(parent, tmp_path)["statements"]
    assert statements(target.resolve(), tmp_path, "DataRegistration")


def test_a_context_is_found_again_by_its_id():
    context = new_context()
    assert Context.from_uuid(context.id).id == context.id


def test_the_active_context_is_that_of_the_innermost_block():
    outer, inner = new_context(), new_context()
    assert sdk.active_context() is None
    with graph_context(outer), graph_context(inner):
        active = get_active_context()
        assert active is not None
        assert active.id == inner.id
    assert get_active_context() is None


def test_a_path_has_the_cid_of_its_bytes(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"a file")
    assert sdk.snapshot(tmp_path / "a") == sdk.cid_of(b"a file")


def test_a_cid_is_read_with_and_without_its_prefix():
    cid = sdk.cid_of(b"x")
    assert cid.startswith("urn:cid:")
    assert AssetId(str(CID(cid.removeprefix("urn:cid:")))) == cid


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        (Agent, "Agent"),
        (Dataset, "Dataset"),
        (Document, "Document"),
        (Media, "Media"),
        (Model, "Model"),
        (Prompt, "Prompt"),
        (Reasoning, "Reasoning"),
        (Skill, "Skill"),
        (SystemPrompt, "System_Prompt"),
        (Tool, "Tool"),
    ],
)
def test_an_asset_type_has_the_name_it_is_exported_with(factory: Any, name: str):
    assert factory._asset_type.value == name


def test_a_manifest_can_be_imported(tmp_path: Path):
    source, target = new_context(), new_context()
    cid = put(storing_in(source), b"moved")
    sdk.import_manifest(json.dumps(manifest(source, tmp_path)), target)
    (data,) = statements(target, tmp_path, "DataRegistration")
    assert data["data"] == cid


def test_the_default_context_is_the_one_given_to_init():
    assert sdk.default_context().id == eqty_sdk.init().get_default_context().id
