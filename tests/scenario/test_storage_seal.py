"""The last asset of a root run lists all that was stated for it, and the seal before it."""

from typing import Any

import pytest
from langchain_core.tools import tool

from eqty_lineage.deepagents.recording import batches, sdk
from support.agents import agent, asks, call, says, subagent, task
from support.recording import Export, Faults, Recording, edit, raising, record, write, written


def own_statements(export: Export, seal: str) -> set[str]:
    """The statements that make a seal an asset: its data and metadata, and their credentials."""
    about = {
        id_
        for id_, statement in export.statements.items()
        if seal in str(statement.get("data")) or seal in str(statement.get("subject"))
    }
    credentials = {
        id_
        for id_, statement in export.of_kind("CredentialRegistration").items()
        if any(subject in str(statement) for subject in about)
    }
    return about | credentials


def everything() -> Any:
    return agent(
        asks(write("w", "/a.md", "one\n"), write("w2", "/b.md", "two\n")),
        edit("e", "/a.md", "one", "two"),
        task("d", "helper"),
        subagents=[subagent("helper", write("w3", "/c.md", "three\n"), says("Helped."))],
    )


@pytest.mark.parametrize("kind", ["background", "inline"])
def test_a_seal_lists_every_statement_of_its_run_but_its_own(kind: str):
    _, export = record(everything(), recording=kind)
    (cid,) = export.called("run seal")
    seal = export.payload(cid)
    assert set(seal["statements"]) == export.statements.keys() - own_statements(export, cid)
    assert seal["count"] == len(seal["statements"]) == len(set(seal["statements"]))
    assert seal["before"] is None


def test_a_seal_lists_the_credentials_too_and_is_signed_itself(signed: None):
    _, export = record(written())
    (cid,) = export.called("run seal")
    credentials = export.of_kind("CredentialRegistration")
    own = own_statements(export, cid)
    assert set(export.payload(cid)["statements"]) == export.statements.keys() - own
    assert len(own & credentials.keys()) == 2
    assert len(credentials) == len(export.statements) / 2


def test_a_seal_is_a_document():
    _, export = record(written())
    assert [one[1] for one in export.assets() if one[2] == "run seal"] == ["Document"]


def test_a_seal_is_the_last_thing_stated(monkeypatch: pytest.MonkeyPatch):
    stated: list[str] = []
    describe = sdk.add_metadata_statement

    def noted(subject: Any, metadata: str, **more: Any) -> Any:
        stated.append(metadata)
        return describe(subject, metadata, **more)

    monkeypatch.setattr(sdk, "add_metadata_statement", noted)
    record(everything())
    assert '"run seal"' in stated[-1]
    assert sum('"run seal"' in one for one in stated) == 1


def test_each_seal_names_the_one_before_it():
    recording = Recording()
    for turn in range(3):
        recording.run(agent(write(f"w{turn}", "/a.md", f"{turn}")))
    export = recording.export()
    seals = {cid: export.payload(cid) for cid in export.called("run seal")}
    assert len(seals) == 3
    (first,) = [cid for cid, seal in seals.items() if seal["before"] is None]
    following = {seal["before"].removeprefix("urn:cid:"): cid for cid, seal in seals.items() if seal["before"]}
    second = following[first]
    third = following[second]
    assert {first, second, third} == seals.keys()
    listed = [set(seals[cid]["statements"]) for cid in (first, second, third)]
    assert sum(map(len, listed)) == len(set().union(*listed))
    own = set().union(*(own_statements(export, cid) for cid in seals))
    assert set().union(*listed) == export.statements.keys() - own


def test_each_context_has_seals_of_its_own():
    recording = Recording()
    for thread in ("one", "two", "one"):
        recording.run(written(), thread=thread)
    one, two = recording.export("one").seals(), recording.export("two").seals()
    assert sorted(seal["before"] is None for seal in one) == [False, True]
    assert [seal["before"] for seal in two] == [None]


def test_a_removed_computation_shows():
    _, export = record(everything())
    (seal,) = export.seals()
    removed = export.steps[3].id
    assert removed in seal["statements"]
    left = export.statements.keys() - {removed}
    assert not set(seal["statements"]) <= left


def test_a_seal_comes_after_the_gaps_and_lists_them():
    @tool
    def execute(command: str) -> str:
        """Run a command."""
        return "ran"

    recording, export = record(agent(call("execute", "x", command="ls"), tools=[execute]))
    assert len(recording.handler.gaps)
    (gaps,) = export.called("gaps")
    about_gaps = {id_ for id_, one in export.statements.items() if gaps in str(one)}
    (seal,) = export.seals()
    assert about_gaps
    assert about_gaps <= set(seal["statements"])


def test_a_run_that_failed_is_sealed_too():
    @tool
    def explode() -> str:
        """Fail."""
        message = "no"
        raise ValueError(message)

    recording = Recording()
    with pytest.raises(ValueError):
        recording.run(agent(call("explode", "x"), tools=[explode]))
    export = recording.export()
    (cid,) = export.called("run seal")
    assert set(export.payload(cid)["statements"]) == export.statements.keys() - own_statements(export, cid)


@pytest.mark.parametrize("name", ["keep", "add_metadata_statement", "add_computation_statement"])
def test_a_seal_lists_what_was_tried_again_once(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    faults = Faults(monkeypatch)
    faults.before[name] = raising(RuntimeError("locked"), after=3, times=2)
    _, export = record(everything())
    (cid,) = export.called("run seal")
    seal = export.payload(cid)
    assert set(seal["statements"]) == export.statements.keys() - own_statements(export, cid)
    assert seal["count"] == len(set(seal["statements"]))


@pytest.mark.parametrize("call_number", [0, 1])
def test_a_seal_that_fails_at_first_is_made_once(monkeypatch: pytest.MonkeyPatch, call_number: int):
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    failed: list[str] = []
    describe = sdk.add_metadata_statement

    def refuse(subject: Any, metadata: str, **more: Any) -> Any:
        if '"run seal"' in metadata and len(failed) <= call_number:
            failed.append(metadata)
            message = "locked"
            raise RuntimeError(message)
        return describe(subject, metadata, **more)

    monkeypatch.setattr(sdk, "add_metadata_statement", refuse)
    recording, export = record(written())
    assert failed
    assert len(export.called("run seal")) == 1
    (cid,) = export.called("run seal")
    seal = export.payload(cid)
    assert set(seal["statements"]) == export.statements.keys() - own_statements(export, cid)
    assert not len(recording.handler.gaps)
    assert export.dangling() == []


def test_a_seal_that_cannot_be_made_is_a_gap(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    describe = sdk.add_metadata_statement

    def refuse(subject: Any, metadata: str, **more: Any) -> Any:
        if '"run seal"' in metadata:
            message = "locked"
            raise RuntimeError(message)
        return describe(subject, metadata, **more)

    monkeypatch.setattr(sdk, "add_metadata_statement", refuse)
    recording, export = record(written())
    assert [why.name for why in recording.handler.gaps.counts] == ["SEAL"]
    assert export.dangling() == []
