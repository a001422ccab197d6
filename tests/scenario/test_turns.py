"""One handler over the turns of a conversation, and over several conversations."""

import logging

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from support.agents import Session, agent, asked, edit, read, says, subagent, task, write
from support.sdk import cid_of


def test_turns_of_a_checkpointed_thread_are_chained(caplog: pytest.LogCaptureFixture, tmp_path: object):
    with SqliteSaver.from_conn_string(f"{tmp_path}/checkpoints.db") as saver:
        session = Session()
        session.invoke(agent(write("w", "/a.md", "one\n"), checkpointer=saver), thread="T")
        session.invoke(agent(says("just talking"), checkpointer=saver), asked("how are you?"), thread="T")
        session.invoke(
            agent(edit("e", "/a.md", "one", "two"), read("r", "/a.md"), checkpointer=saver), asked("more"), thread="T"
        )
    lineage = session.lineage(thread="T")
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("r").files("read") == {"/a.md": cid_of("two\n")}
    assert len(lineage.all("researcher", "graph")) == 3
    assert len({step.fields["root_run_id"] for step in lineage.steps}) == 3
    assert not [record for record in caplog.records if "at once" in record.getMessage()]


def test_turns_without_a_thread_are_chained_through_the_files_handed_on():
    session = Session()
    first = session.invoke(agent(write("w", "/a.md", "one\n")))
    session.invoke(agent(edit("e", "/a.md", "one", "two")), asked("more", files=first["files"]))
    assert session.lineage().history("/a.md") == ["1 write_file", "2 edit_file <- 1"]


def test_a_turn_that_starts_without_the_file_does_not_revise_it():
    session = Session()
    session.invoke(agent(write("w1", "/a.md", "one\n")))
    session.invoke(agent(write("w2", "/a.md", "two\n")), asked("more"))
    assert session.lineage().history("/a.md") == ["1 write_file", "2 write_file"]


def test_a_new_handler_chains_to_the_file_it_finds_in_the_state():
    saver = InMemorySaver()
    first = Session()
    first.invoke(agent(write("w", "/a.md", "one\n"), checkpointer=saver), thread="T")
    second = Session()
    second.context = first.context
    second.invoke(agent(edit("e", "/a.md", "one", "two"), checkpointer=saver), asked("more"), thread="T")
    lineage = second.lineage(thread="T")
    assert cid_of("one\n") in lineage.tool("e").inputs
    assert cid_of("two\n") in lineage.tool("e").outputs
    assert lineage.producers(cid_of("one\n")) == ["write_file"]


def test_two_threads_of_one_handler_never_meet():
    session = Session()
    saver = InMemorySaver()
    for thread in ("A", "B", "A"):
        before = session.handler.contexts[thread].id if thread in session.handler.contexts else None
        session.invoke(
            agent(write(f"w{thread}", "/a.md", f"by {thread}, after {before}\n"), checkpointer=saver),
            asked(f"hello {thread}"),
            thread=thread,
        )
    a, b = session.lineage(thread="A"), session.lineage(thread="B")
    assert a.history("/a.md") == ["1 write_file", "2 write_file <- 1"]
    assert b.history("/a.md") == ["1 write_file"]
    assert "by A" not in b.everything()
    assert "hello A" not in b.everything()
    assert "by B" not in a.everything()


def test_the_contexts_of_a_handler_are_those_of_its_threads():
    session = Session()
    assert dict(session.handler.contexts) == {}
    session.invoke(agent(says()), thread="A")
    session.invoke(agent(says()), asked("more"), thread="B")
    assert set(session.handler.contexts) == {"A", "B"}
    assert len(session.handler.contexts) == 2
    assert session.handler.context.id == session.handler.contexts["B"].id != session.handler.contexts["A"].id
    with pytest.raises(KeyError):
        session.handler.contexts["C"]


def test_a_subagents_results_of_an_earlier_turn_stay_its_callers_inputs():
    session = Session()
    saver = InMemorySaver()
    helper = subagent("helper", write("w", "/a.md", "one\n"), says("helped"))
    session.invoke(agent(task("t", "helper"), subagents=[helper], checkpointer=saver), thread="T")
    session.invoke(agent(says("remembered"), checkpointer=saver), asked("what did it say?"), thread="T")
    lineage = session.lineage(thread="T")
    last = lineage.all(kind="chat_request")[-1]
    assert lineage.tool("t").outputs[0] in last.inputs


def test_a_repeated_question_is_a_turn_of_its_own(caplog: pytest.LogCaptureFixture):
    session = Session()
    for _ in range(2):
        session.invoke(agent(says("the same answer")), asked("the same question"))
    lineage = session.lineage()
    first, second = lineage.all("researcher", "graph")
    assert set(first.outputs).isdisjoint(second.outputs)
    assert not [
        record for record in caplog.records if record.name == "eqty.deepagents" and record.levelno >= logging.WARNING
    ]
