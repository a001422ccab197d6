"""What differs between two runs: nothing between two of one script, and else exactly what was changed."""

import inspect
import json

import pytest
from eqty_lineage.langchain import eqty_tool
from langchain_core.tools import tool

from eqty_lineage.deepagents.reading.comparing import TOPICS
from eqty_lineage.deepagents.reading.run import Run, read
from support import runs
from support.agents import agent, asked, asks, call, edit, says, subagent, task, todos, write
from support.runs import by_question, script
from support.synthetic import synthetic


def changes(first: Run, second: Run) -> list[tuple[str, str, str]]:
    return [(one.topic, one.kind, one.what) for one in first.diff(second).changes]


@pytest.mark.parametrize("name", ["simple", "deep", "base_only", "hidden", "thread", "stopped", "witnessed"])
def test_two_runs_of_one_script_do_not_differ(name: str) -> None:
    runs_of = {"hidden": lambda: runs.withheld.__wrapped__("hidden")}
    again = runs_of.get(name) or inspect.unwrap(runs.EVERY[name])
    first, second = read(runs.EVERY[name]()), read(again())
    compared = first.diff(second)
    assert compared.changes == ()
    assert not compared
    assert compared.aligned == tuple((step.number, step.number) for step in first.steps)
    assert first.document.raw != second.document.raw


def _parallel(north: str = "north\n") -> Run:
    scout = by_question(
        **{
            "Look north.": script(write("w1", "/north.md", north), edit("e1", "/north.md", "n", "N"), says()),
            "Look south.": script(write("w2", "/south.md", "south\n"), says()),
        }
    )
    tasks = [task("t1", "scout", "Look north."), task("t2", "scout", "Look south.")]
    return read(runs.recorded(agent(asks(*tasks), says(), subagents=[subagent("scout", model=scout)])))


def test_lanes_of_one_agent_are_put_side_by_side_as_they_were_asked_for() -> None:
    runs_ = [_parallel() for _ in range(3)]
    for other in runs_[1:]:
        compared = runs_[0].diff(other)
        assert compared.changes == ()
        for one, two in compared.aligned:
            assert one is not None
            assert two is not None
            assert runs_[0].steps[one - 1].call_id == other.steps[two - 1].call_id


def test_what_a_parallel_subagent_did_otherwise_is_told_of_that_one_alone() -> None:
    found = changes(_parallel(), _parallel("near the pole\n"))
    assert ("files", "changed", "/north.md") in found
    assert ("steps", "changed", "scout: write_file: arguments") in found
    assert not [what for _, _, what in found if "south" in what or "(2)" in what]


def _one(
    *,
    content: str = "one\n",
    prompt: str = "You are a researcher.",
    question: str = "Why?",
    plan: str = "Write",
    more: bool = False,
    answer: str = "done",
    source: str = "up",
    second: str = "helper",
) -> Run:
    if source == "up":

        @tool
        @eqty_tool
        def change(word: str) -> str:
            """Change a word."""
            return word.upper()
    else:

        @tool
        @eqty_tool
        def change(word: str) -> str:
            """Change a word."""
            return str(word).upper()

    turns = [
        call("write_todos", "p1", todos=todos(plan)),
        write("w1", "/a.md", content),
        call("change", "c1", word="x"),
        task("t1", second),
        *([write("w2", "/b.md", "more\n")] if more else []),
        says(answer),
    ]
    made = agent(*turns, plan=True, system_prompt=prompt, tools=[change], subagents=[subagent(second, says())])
    return read(runs.recorded(made, asked(question)))


@pytest.fixture(scope="module")
def plain() -> Run:
    return _one()


def test_a_changed_file_is_told_with_its_diff(plain: Run) -> None:
    compared = plain.diff(_one(content="two\n"))
    (change,) = [one for one in compared.changes if one.topic == "files"]
    assert (change.kind, change.what) == ("changed", "/a.md")
    assert change.detail[-2:] == ("-one", "+two")
    assert {one.topic for one in compared.changes} == {"files", "steps"}


def test_a_changed_system_prompt_is_told(plain: Run) -> None:
    assert changes(plain, _one(prompt="You are brief.")) == [("system prompt", "changed", "researcher")]


def test_a_changed_question_is_told(plain: Run) -> None:
    assert changes(plain, _one(question="How?")) == [("prompt", "changed", "question")]


def test_a_changed_answer_is_told(plain: Run) -> None:
    assert changes(plain, _one(answer="finished")) == [("steps", "changed", "researcher: ScriptedModel: answer")]


def test_a_changed_tool_is_told_with_the_diff_of_its_source(plain: Run) -> None:
    compared = plain.diff(_one(source="str"))
    (change,) = compared.changes
    assert (change.topic, change.kind, change.what) == ("tools", "changed", "change")
    assert any(line.startswith("-") and "word.upper()" in line for line in change.detail)
    assert any(line.startswith("+") and "str(word).upper()" in line for line in change.detail)


def test_a_changed_plan_is_told(plain: Run) -> None:
    found = changes(plain, _one(plan="Think"))
    assert ("plan", "changed", "researcher") in found
    assert {topic for topic, _, _ in found} == {"plan", "steps"}


def test_steps_and_files_that_are_only_in_one_run_are_told_in_both_directions(plain: Run) -> None:
    longer = _one(more=True)
    added, removed = changes(plain, longer), changes(longer, plain)
    assert {("files", "added", "/b.md"), ("steps", "added", "researcher: write_file")} <= set(added)
    assert {("files", "removed", "/b.md"), ("steps", "removed", "researcher: write_file")} <= set(removed)
    compared = plain.diff(longer)
    assert sorted(two for _, two in compared.aligned if two) == [step.number for step in longer.steps]
    assert sorted(one for one, _ in compared.aligned if one) == [step.number for step in plain.steps]


def test_another_subagent_is_told(plain: Run) -> None:
    found = changes(plain, _one(second="critic"))
    assert {("agents", "removed", "helper"), ("agents", "added", "critic")} <= set(found)


def test_a_failure_is_told() -> None:
    found = read(runs.simple()).diff(read(runs.stopped()))
    assert found
    assert any("error" in one.after or one.kind == "removed" for one in found.changes if one.topic == "steps")


def test_every_topic_is_counted_whether_it_differs_or_not(plain: Run) -> None:
    assert set(plain.diff(plain).same) == set(TOPICS)


def test_other_recorders_are_told() -> None:
    found = changes(read(runs.deep()), read(runs.base_only()))
    assert ("recording", "removed", "recorder") in found


def test_long_runs_are_compared() -> None:
    one, other = read(synthetic(2_000)), read(synthetic(2_100))
    compared = one.diff(other)
    assert compared
    assert sorted(at for at, _ in compared.aligned if at) == [step.number for step in one.steps]
    json.dumps([change.detail for change in compared.changes])
