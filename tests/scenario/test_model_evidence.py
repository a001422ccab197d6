"""Evidence that a model's client attaches to its answer: imported, and joined to what is recorded here."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from support.agents import Session, agent, model, reasons, write
from support.lineage import Lineage
from support.sdk import cid_of


@pytest.fixture
def evidence(tmp_path: Path) -> dict[str, Any]:
    """A manifest of another run."""
    session = Session()
    session.invoke(agent(write("w", "/elsewhere.md", "made elsewhere\n")))
    path = tmp_path / "evidence.json"
    session.context.export(path)
    manifest: dict[str, Any] = json.loads(path.read_bytes())
    return manifest


def answering(**metadata: Any) -> Any:
    return agent(model=model(AIMessage("done", response_metadata=metadata)))


def test_an_attached_manifest_is_imported_into_the_runs_context(evidence: dict[str, Any]):
    session = Session()
    session.invoke(answering(eqty_integrity_manifest=evidence), thread="T")
    lineage = session.lineage(thread="T")
    assert evidence["statements"].keys() <= lineage.manifest["statements"].keys()
    assert lineage.producers(cid_of("made elsewhere\n")) == ["write_file"]
    assert not reasons(session.handler)


def test_a_manifest_that_cannot_be_imported_is_a_gap_and_the_run_is_recorded():
    session = Session()
    answer = session.invoke(answering(eqty_integrity_manifest={"not": "a manifest"}))
    assert answer["messages"][-1].content == "done"
    assert reasons(session.handler) == {"IMPORT"}
    assert session.lineage().one(kind="graph").fields["status"] == "ok"


def test_the_bodies_on_the_wire_stand_between_request_and_response():
    sent, received = cid_of("sent\n"), cid_of("received\n")
    session = Session()
    session.invoke(answering(eqty_openai_request_cid=f"urn:cid:{sent}", eqty_openai_response_cid=f"urn:cid:{received}"))
    # nobody here has the bytes, so the rule that every asset has its content cannot be kept
    lineage = Lineage.exported(session.context)
    transform, parse = lineage.one(kind="chat_openai_transform"), lineage.one(kind="chat_openai_sse_parse")
    assert transform.outputs == (sent,)
    assert sent in lineage.one(kind="chat_inference").inputs
    assert lineage.one(kind="chat_inference").outputs == (received,)
    assert parse.inputs == (received,)
