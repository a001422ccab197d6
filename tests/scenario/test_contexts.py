"""Which context a run goes to: one, whole, and never a thread's into its parent's."""

import json

import eqty_sdk
import pytest
from eqty_sdk import Context
from eqty_sdk.context import graph_context

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import Session, agent, asked, says, write
from support.lineage import Lineage
from support.sdk import cid_of, new_context, second


def statements(context: Context) -> set[str]:
    return set(Lineage.of(context, conversations=100, unfinished=True).manifest["statements"])


@pytest.fixture
def default() -> Context:
    return eqty_sdk.init().get_default_context()


def run(handler: EqtyDeepAgentsHandler, text: str, **configurable: str) -> None:
    config = {"callbacks": [handler], "configurable": configurable}
    with second():
        agent(write("w", "/a.md", text)).invoke(asked(), config)


def test_with_neither_a_thread_nor_a_block_a_run_goes_to_the_default_context(default: Context):
    handler = EqtyDeepAgentsHandler()
    run(handler, "in default\n")
    assert handler.context.id == default.id
    assert cid_of("in default\n") in Lineage.of(default, conversations=100, unfinished=True).registered


def test_a_thread_goes_to_a_child_of_the_default_context_and_nothing_of_it_to_its_parent(default: Context):
    handler = EqtyDeepAgentsHandler()
    before = statements(default)
    run(handler, "in a thread\n", thread_id="thread of default")
    assert handler.context.id != default.id
    assert statements(default) == before
    assert Lineage.of(handler.context).history("/a.md") == ["1 write_file"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("thread", [None, "T"])
def test_a_run_in_a_block_goes_to_its_context_or_to_the_threads_child_of_it(
    way: str, thread: str | None, default: Context
):
    session = Session()
    before = statements(default)
    getattr(session, way)(agent(write("w", "/a.md", "in a block\n")), thread=thread)
    assert statements(default) == before
    if thread is None:
        assert session.handler.context.id == session.context.id
    else:
        assert session.handler.context.id != session.context.id
        assert statements(session.context) == set()
    lineage = session.lineage(thread=thread)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert {
        kind for kind in ("Agent", "System_Prompt", "Tool", "Model", "Prompt", "Reasoning") if lineage.assets(kind)
    } == {
        "Agent",
        "System_Prompt",
        "Tool",
        "Model",
        "Prompt",
        "Reasoning",
    }


def test_one_thread_in_two_blocks_is_two_contexts_and_in_one_block_it_is_one():
    session, other = Session(), Session()
    session.invoke(agent(says("1")), thread="T")
    first = session.handler.context.id
    session.invoke(agent(says("2")), asked("more"), thread="T")
    assert session.handler.context.id == first
    other.invoke(agent(says("3")), thread="T")
    assert other.handler.context.id != first


def test_another_handler_for_a_thread_goes_to_the_same_context():
    session, other = Session(), Session()
    other.context = session.context
    session.invoke(agent(says("1")), thread="T")
    other.invoke(agent(says("2")), asked("more"), thread="T")
    assert other.handler.context.id == session.handler.context.id


def test_a_thread_id_that_is_no_text_is_read_as_text():
    session = Session()
    session.invoke(agent(says("1")), configurable={"thread_id": 7})
    assert list(session.handler.contexts) == ["7"]


def test_a_run_keeps_the_context_it_started_in(default: Context):
    handler = EqtyDeepAgentsHandler()
    inside, outside = new_context(), new_context()
    before = statements(default)
    with second():
        with graph_context(inside):
            chunks = agent(write("w", "/a.md", "a\n")).stream(asked(), {"callbacks": [handler]}, stream_mode="updates")
            next(chunks)
        with graph_context(outside):
            for _ in chunks:
                pass
    assert handler.flush()
    assert statements(default) == before
    assert statements(outside) == set()
    assert Lineage.of(inside).history("/a.md") == ["1 write_file"]


def test_every_statement_of_a_run_is_signed_and_says_what_was_signed(signed: None):
    session = Session()
    session.invoke(agent(says("signed")), thread="T")
    statements = session.lineage(thread="T").manifest["statements"]
    credentials = {
        statement["credential"]["credentialSubject"]["id"]: statement["credential"]
        for statement in statements.values()
        if statement["@type"] == "CredentialRegistration"
    }
    made = {id_: one for id_, one in statements.items() if one["@type"] != "CredentialRegistration"}
    assert made
    for id_, statement in made.items():
        assert eqty_sdk.verify_statement(json.dumps(statement)), statement
        assert eqty_sdk.verify_vc(json.dumps(credentials[id_]), id_)
