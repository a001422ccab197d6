"""Pauses, compactions, skills, memory and permissions, on the release that is installed."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from support.agents import Session, asked, asks, edit, file_data, model, read, run, says, write
from support.lineage import Lineage
from support.releases import agent, disk, lack, needs, needs_deepagents, texts
from support.sdk import cid_of


@pytest.fixture(autouse=True)
def _deepagents() -> None:
    needs_deepagents()


def paused(*turns: Any) -> tuple[Session, Any]:
    needs("interrupt_on", "checkpointer")
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    session = Session()
    runnable = agent(*turns, interrupt_on={"write_file": True}, checkpointer=InMemorySaver())
    session.invoke(runnable, thread="T")
    before = session.lineage(thread="T", unfinished=True)
    assert not before.all("write_file")
    return session, runnable


def resume(session: Session, runnable: Any, decision: dict[str, Any]) -> Lineage:
    from langgraph.types import Command  # noqa: PLC0415

    session.invoke(runnable, Command(resume={"decisions": [decision]}), thread="T")
    return session.lineage(thread="T", unfinished=True)


def test_a_call_that_a_person_approved_is_recorded_once_when_it_ran():
    session, runnable = paused(write("w", "/a.md", "approved\n"), edit("e", "/a.md", "approved", "edited"))
    lineage = resume(session, runnable, {"type": "approve"})
    assert texts(session.answer) == {"/a.md": "edited\n"}
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.producers(cid_of("approved\n")) == ["write_file"]
    assert [step.fields["status"] for step in lineage.all(kind="graph")] == ["interrupted", "ok"]
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]


def test_a_call_that_a_person_edited_is_recorded_with_the_arguments_that_ran():
    session, runnable = paused(write("w", "/a.md", "proposed\n"))
    edited = {"name": "write_file", "args": {"file_path": "/b.md", "content": "edited\n"}}
    lineage = resume(session, runnable, {"type": "edit", "edited_action": edited})
    assert texts(session.answer) == {"/b.md": "edited\n"}
    assert lineage.tool("w").files("wrote") == {"/b.md": cid_of("edited\n")}
    assert cid_of("proposed\n") not in lineage.registered


def test_a_call_that_a_person_rejected_left_no_trace_of_having_run():
    session, runnable = paused(write("w", "/a.md", "unwanted\n"))
    lineage = resume(session, runnable, {"type": "reject", "message": "no"})
    assert not lineage.all("write_file")
    assert cid_of("unwanted\n") not in lineage.registered
    assert not [step for step in lineage.steps if step.kind.endswith("_error")]


def test_the_turns_of_a_thread_are_one_chain():
    needs("checkpointer")
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    session = Session()
    runnable = agent(
        write("w", "/a.md", "one\n"), says("first"), edit("e", "/a.md", "one", "two"), checkpointer=InMemorySaver()
    )
    session.invoke(runnable, thread="T")
    session.invoke(runnable, asked("again"), thread="T")
    assert session.lineage(thread="T").history("/a.md") == ["1 write_file", "2 edit_file <- 1"]


@pytest.fixture(scope="module")
def compacted() -> tuple[Session, Lineage]:
    """A talk so long that every release sums it up: at 170,000 tokens, if the model says nothing of its limit.

    Early releases show the model only the end of what it is to sum up, from a person's message on.
    """
    needs("checkpointer")
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    much = "It says a lot. " * 7_000

    def steps(name: str, *texts: str) -> list[AIMessage]:
        return [asks(write(f"{name}{n}", f"/{name}{n}", f"{n}\n"), text=text) for n, text in enumerate(texts)]

    chat = model(
        *steps("a", *[f"{number}: {much}" for number in range(6)]),
        says("first"),
        *steps("b", "few", "words", "only", much),
        *(says(f"The sum of it all {number}, and an answer.") for number in range(6)),
    )
    session = Session()
    runnable = agent(model=chat, checkpointer=InMemorySaver())
    session.invoke(runnable, thread="T")
    session.invoke(runnable, asked("again"), thread="T")
    return session, session.lineage(thread="T")


def test_the_step_that_compacted_says_so(compacted: tuple[Session, Lineage]):
    _, lineage = compacted
    (step,) = [step for step in lineage.steps if "compaction" in step.fields]
    said = step.fields
    assert said["compaction"] == "lossy"
    assert said["messages_kept"] > 0
    assert said["messages_dropped"] == said["cutoff"] > 0


def test_the_answer_that_summed_up_is_an_input_of_the_turn_that_was_shown_it(compacted: tuple[Session, Lineage]):
    _, lineage = compacted
    (summing,) = [request for request in lineage.all(kind="chat_request") if "purpose" in request.fields]
    (answer,) = lineage.one(kind="chat_model", run_id=summing.fields["run_id"]).outputs
    shown = [step for step in lineage.all(kind="chat_request") if answer in step.inputs]
    assert shown
    assert all(step.fields["sequence"] > summing.fields["sequence"] for step in shown)


def test_the_history_that_was_moved_to_a_file_is_an_output_of_the_step(compacted: tuple[Session, Lineage]):
    session, lineage = compacted
    kept = {path: text for path, text in texts(session.answer).items() if path.startswith("/conversation_history/")}
    if not kept:
        # 0.4 says that it saved one, and the state has none
        assert not [path for path in lineage.paths() if path.startswith("/conversation_history/")]
        lack("a file in state for the history that is dropped")
    (step,) = [step for step in lineage.steps if "compaction" in step.fields]
    assert step.files("wrote") == {path: cid_of(text) for path, text in kept.items()}
    for cid in step.files("wrote").values():
        assert lineage.producers(cid) == [step.name]


SKILL = "---\nname: digging\ndescription: How to dig.\n---\n\n# Digging\n"


def test_the_skills_an_agent_was_given_are_inputs_of_its_turns(tmp_path: Path):
    needs("skills")
    folder = tmp_path / "skills" / "digging"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    _, lineage = run(agent(read("r", "/skills/digging/SKILL.md"), skills=["/skills/"], backend=disk(tmp_path)))
    (skill,) = lineage.assets("Skill", name="digging")
    assert lineage.payload(skill)["description"] == "How to dig."
    assert not lineage.producers(skill)
    requests = lineage.all(kind="chat_request")
    assert requests
    assert all(skill in step.inputs for step in requests)


def test_a_memory_file_is_an_input_of_the_turns_that_were_given_it(tmp_path: Path):
    needs("memory")
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    _, lineage = run(agent(write("w", "/a.md", "a\n"), memory=["/AGENTS.md"], backend=disk(tmp_path)))
    cid = cid_of("Be brief.\n")
    assert lineage.versions("/AGENTS.md") == {cid}
    assert not lineage.producers(cid)
    assert all(cid in step.inputs for step in lineage.all(kind="chat_request"))


def test_a_write_that_is_not_permitted_wrote_nothing():
    needs("permissions")
    from deepagents import FilesystemPermission  # noqa: PLC0415 - not in every release

    rule = FilesystemPermission(operations=["write"], paths=["/closed/**"], mode="deny")
    session, lineage = run(
        agent(write("1", "/closed/a.md", "closed\n"), write("2", "/open.md", "open\n"), permissions=[rule])
    )
    assert texts(session.answer) == {"/open.md": "open\n"}
    assert cid_of("closed\n") not in lineage.registered
    assert lineage.paths() == {"/open.md"}


def test_files_that_were_passed_in_and_left_alone_are_made_by_nobody():
    entry = file_data("old\n") if "encoding" in _entry() else {**file_data(["old", ""])}
    entry = {key: value for key, value in entry.items() if key in _entry()}
    _, lineage = run(agent(write("w", "/b.md", "b\n")), asked(files={"/a.md": entry}))
    assert lineage.versions("/a.md") == {cid_of("old\n")}
    assert not lineage.producers(cid_of("old\n"))
    assert cid_of("old\n") in lineage.one(kind="graph").inputs


def _entry() -> Any:
    return agent(write("w", "/x", "x")).invoke(asked())["files"]["/x"]
