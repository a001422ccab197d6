"""What every computation says of itself, and what a verbose handler adds."""

from datetime import datetime
from importlib.metadata import version
from typing import Any

import pytest

from support.agents import Session, agent, asks, call, read, says, subagent, task, write
from support.lineage import Lineage

KINDS = {"graph", "graph_node", "agent", "tool", "chat_request", "chat_inference", "chat_model"}


@pytest.fixture(scope="module")
def recorded() -> tuple[Session, Lineage]:
    helper = subagent("helper", write("h", "/b.md", "b\n"), says("helped"))
    session = Session()
    session.invoke(
        agent(asks(write("w", "/a.md", "a\n"), task("t", "helper")), read("r", "/b.md"), says(), subagents=[helper])
    )
    return session, session.lineage()


@pytest.fixture
def lineage(recorded: tuple[Session, Lineage]) -> Lineage:
    return recorded[1]


def test_only_the_root_says_who_recorded_it_and_in_which_words(lineage: Lineage):
    root = lineage.one(kind="graph")
    assert root.fields["recorder"] == f"eqty-lineage-deepagents/{version('eqty-lineage-deepagents')}"
    assert root.fields["vocabulary"] == 1
    assert [step for step in lineage.steps if "recorder" in step.fields or "vocabulary" in step.fields] == [root]


def test_a_kind_is_one_of_the_known_ones(lineage: Lineage):
    assert {step.kind for step in lineage.steps} == KINDS


def test_the_framework_is_the_one_that_ran(lineage: Lineage):
    assert {step.fields["framework"] for step in lineage.steps} == {"deepagents"}


def test_steps_are_numbered_in_the_order_they_ended(lineage: Lineage):
    ended = [step.fields["ended_at"] for step in lineage.steps]
    assert ended == sorted(ended)
    for step in lineage.steps:
        started, finished = (datetime.fromisoformat(step.fields[key]) for key in ("started_at", "ended_at"))
        assert started.utcoffset() is not None
        assert started <= finished


def test_a_sequence_number_is_about_the_time(lineage: Lineage):
    for step in lineage.steps:
        ended = datetime.fromisoformat(step.fields["ended_at"]).timestamp()
        assert abs(step.fields["sequence"] / 1_000_000 - ended) < 60


def test_the_parent_is_the_nearest_recorded_run(lineage: Lineage):
    runs = {step.fields["run_id"]: step for step in lineage.steps}
    parents = {
        step.name: runs[step.fields["parent_run_id"]].name for step in lineage.steps if step.fields.get("parent_run_id")
    }
    assert parents["write_file"] == "tools"
    assert parents["helper"] == "task"
    assert parents["ScriptedModel"] == "model"
    assert lineage.one(kind="graph").fields.get("parent_run_id") is None


def test_a_calls_id_is_said_where_there_is_one(lineage: Lineage):
    assert {step.fields.get("tool_call_id") for step in lineage.all(kind="tool")} == {"w", "t", "h", "r"}
    assert not [step for step in lineage.steps if step.kind != "tool" and "tool_call_id" in step.fields]


def test_files_say_their_version_and_how_their_bytes_are_known(lineage: Lineage):
    (wrote,) = lineage.tool("w").fields["files"]
    assert (wrote["path"], wrote["version"], wrote["role"], wrote["evidence"]) == ("/a.md", 1, "wrote", "arguments")
    (seen,) = lineage.tool("r").fields["files"]
    assert (seen["path"], seen["version"], seen["role"]) == ("/b.md", 1, "read")


def test_a_run_without_trouble_has_no_gaps(recorded: tuple[Session, Lineage]):
    session, lineage = recorded
    assert list(session.handler.gaps) == []
    assert not lineage.assets("Dataset", name="gaps")


def test_a_verbose_handler_adds_the_context_of_each_callback_and_no_secret():
    odd: dict[str, Any] = {
        "temperature": 1.0,
        "big": 2**70,
        "set": {"b", "a"},
        "nan": float("nan"),
        "api_key": "sk-planted",
    }
    session = Session(verbose=True)
    session.invoke(agent(write("w", "/a.md", "a\n"), call("ls", "l", path="/")), metadata=odd, tags=["nightly"])
    lineage = session.lineage()
    (state,) = lineage.assets("Dataset", name="researcher: input state")
    said = lineage.described(state)
    assert said["callback"] == "on_chain_start"
    assert "nightly" in said["tags"]
    assert "sk-planted" not in lineage.everything()
    assert lineage.history("/a.md") == ["1 write_file"]


def test_a_handler_that_is_not_verbose_adds_nothing(lineage: Lineage):
    for cid in lineage.entities:
        for said in lineage.metadata[cid]:
            assert said.keys() <= {"name", "description", "assetType", "file_path"}


def test_verbose_changes_no_asset():
    quiet, verbose = Session(), Session(verbose=True)
    for session in (quiet, verbose):
        session.invoke(agent(write("w", "/a.md", "a\n")))
    assert quiet.lineage().entities == verbose.lineage().entities
    assert quiet.lineage().shape() == verbose.lineage().shape()
