import json

import pytest

from eqty_lineage.deepagents.facts import (
    AssetId,
    Computation,
    Evidence,
    FileUse,
    Gap,
    Role,
    Version,
    Why,
    files_metadata,
)

A, B, C = AssetId("urn:cid:a"), AssetId("urn:cid:b"), AssetId("urn:cid:c")


def test_a_gap_says_why_what_and_where() -> None:
    assert Gap(Why.NO_BASE, "edit /a", "/researcher").as_json() == {
        "reason": "the file's content before the edit is not known",
        "what": "edit /a",
        "where": "/researcher",
    }


def test_each_reason_for_a_gap_reads_differently() -> None:
    assert len({why.value for why in Why}) == len(Why)


def test_the_use_of_a_version_names_path_content_number_role_and_evidence() -> None:
    use = FileUse.of(Version("/a", 3, A, Evidence.RECONSTRUCTED), Role.REPLACED)
    assert use.as_json() == {
        "path": "/a",
        "cid": "urn:cid:a",
        "version": 3,
        "role": "replaced",
        "evidence": "reconstructed",
    }


def test_a_rendering_has_no_version_number() -> None:
    assert FileUse("/a", A, None, Role.READ, Evidence.RENDERING).as_json() == {
        "path": "/a",
        "cid": "urn:cid:a",
        "role": "read",
        "evidence": "rendering",
    }


def test_a_computation_lists_each_use_of_a_file_once_in_the_order_seen() -> None:
    first = FileUse.of(Version("/b", 1, A, Evidence.STATE), Role.READ)
    second = FileUse.of(Version("/a", 1, A, Evidence.STATE), Role.READ)
    assert files_metadata([first, second, first]) == [first.as_json(), second.as_json()]


@pytest.mark.parametrize(
    ("lost", "inputs", "outputs"),
    [
        ({A}, (B,), (C,)),
        ({C}, (A, B), ()),
        ({A, B, C}, (), ()),
    ],
)
def test_a_computation_is_stored_without_the_assets_that_could_not_be(
    lost: set[AssetId], inputs: tuple[AssetId, ...], outputs: tuple[AssetId, ...]
) -> None:
    computation = Computation((A, B), (C,), "{}", "tool")
    assert computation.without(lost) == Computation(inputs, outputs, "{}", "tool")


def test_a_computation_whose_assets_were_all_stored_stays_itself() -> None:
    computation = Computation((A,), (B,), "{}")
    assert computation.without({C}) is computation


def test_a_computation_says_nothing_of_a_file_whose_asset_was_lost() -> None:
    uses = [{"path": "/a", "cid": "lost", "role": "wrote"}, {"path": "/b", "cid": "kept", "role": "read"}]
    computation = Computation((AssetId("kept"),), (AssetId("lost"), AssetId("out")), json.dumps({"files": uses}))
    left = computation.without({AssetId("lost")})
    assert left.outputs == (AssetId("out"),)
    assert json.loads(left.metadata) == {"files": uses[1:]}
