"""The edges a reader relies on: from the person's message to every byte of a file."""

import itertools

import pytest

from support.agents import agent, asked, asks, call, edit, file_data, read, run, says, subagent, task, write
from support.lineage import Lineage, Step
from support.sdk import cid_of


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    helper = subagent("helper", read("hr", "/in.md"), write("hw", "/notes.md", "notes\n"), says("helped"))
    _, lineage = run(
        agent(
            task("t", "helper", "Take notes."),
            asks(read("r1", "/notes.md"), read("r2", "/in.md")),
            write("w", "/report.md", "draft\n"),
            edit("e", "/report.md", "draft", "report"),
            says("reported"),
            subagents=[helper],
        ),
        asked("Please report.", files={"/in.md": file_data("in\n")}),
    )
    return lineage


def asking(lineage: Lineage, call_id: str) -> str:
    """The response of the model turn that asked for a call."""
    (cid,) = {
        cid
        for cid in lineage.assets("Reasoning")
        for message in lineage.payload(cid)
        if call_id in [asked_for["id"] for asked_for in message.get("tool_calls", [])]
    }
    return cid


def result(step: Step, lineage: Lineage) -> str:
    (cid,) = [cid for cid in step.outputs if lineage.described(cid)["name"].endswith(": output")]
    return cid


def test_a_calls_input_is_the_response_that_asked_for_it_and_no_other(lineage: Lineage):
    responses = set(lineage.assets("Reasoning"))
    for step in lineage.all(kind="tool"):
        assert responses & set(step.inputs) == {asking(lineage, step.fields["tool_call_id"])}


def test_two_calls_of_one_message_have_the_same_response(lineage: Lineage):
    assert asking(lineage, "r1") == asking(lineage, "r2")


def test_the_results_in_a_prompt_are_inputs_of_its_request(lineage: Lineage):
    requests = lineage.all(kind="chat_request", agent="researcher")
    order = [["t"], ["r1", "r2"], ["w"], ["e"]]
    shown: list[str] = []
    for request, calls in zip(requests[1:], order, strict=True):
        shown += [result(lineage.tool(call_id), lineage) for call_id in calls]
        assert set(shown) <= set(request.inputs)
    later = {result(step, lineage) for step in lineage.all(kind="tool")} - set(shown[:1])
    assert later.isdisjoint(requests[1].inputs)


def test_a_subagents_results_are_not_inputs_of_its_callers_requests(lineage: Lineage):
    inner = {result(lineage.tool(call_id), lineage) for call_id in ("hr", "hw")}
    for request in lineage.all(kind="chat_request", agent="researcher"):
        assert inner.isdisjoint(request.inputs)


def test_what_was_delegated_is_an_input_of_the_subagents_first_turn_only(lineage: Lineage):
    (delegated,) = lineage.assets("Dataset", name="task: input")
    users = [request for request in lineage.all(kind="chat_request") if delegated in request.inputs]
    assert users == [lineage.all(kind="chat_request", agent="helper")[0]]


def test_a_files_ancestors_reach_the_reads_turns_prompts_and_the_message_behind_it(lineage: Lineage):
    ancestors = lineage.ancestors(cid_of("report\n"))
    assert {cid_of("draft\n"), cid_of("notes\n"), cid_of("in\n")} <= ancestors
    assert {asking(lineage, call_id) for call_id in ("t", "hr", "hw", "r1", "w", "e")} <= ancestors
    assert set(lineage.assets("System_Prompt")) <= ancestors
    assert [cid for cid in ancestors if "Please report." in lineage.text(cid)]
    assert set(lineage.assets("Agent", name="helper")) <= ancestors


def test_a_subagents_files_ancestors_reach_the_turn_that_delegated_to_it(lineage: Lineage):
    ancestors = lineage.ancestors(cid_of("notes\n"))
    assert {asking(lineage, call_id) for call_id in ("t", "hr", "hw")} <= ancestors
    assert [cid for cid in ancestors if "Please report." in lineage.text(cid)]


def test_nothing_later_is_an_ancestor(lineage: Lineage):
    ancestors = lineage.ancestors(cid_of("draft\n"))
    assert asking(lineage, "e") not in ancestors
    assert cid_of("report\n") not in ancestors
    assert not [cid for cid in lineage.assets("Reasoning") if "reported" in lineage.text(cid) and cid in ancestors]


def test_a_plain_run_has_no_cycle(lineage: Lineage):
    assert not [cid for cid in lineage.registered if cid in lineage.ancestors(cid)]


def test_every_state_is_an_entity_of_its_own(lineage: Lineage):
    states = lineage.all(kind="graph_node") + lineage.all(kind="graph") + lineage.all(kind="agent")
    entering = [step.inputs[0] for step in states]
    leaving = [cid for step in states for cid in step.outputs]
    assert all(lineage.described(cid)["name"].endswith(": input state") for cid in entering)
    assert len({*entering, *leaving}) == len(entering) + len(leaving)


def test_a_state_does_not_say_when_it_was(lineage: Lineage):
    runs = {step.fields["run_id"] for step in lineage.steps}
    states = [cid for cid in lineage.assets("Dataset") if lineage.described(cid)["name"].endswith(" state")]
    assert states
    assert not [run_id for run_id in runs for cid in states if run_id in lineage.text(cid)]


def test_the_first_node_starts_from_what_the_graph_was_called_with(lineage: Lineage):
    graph = lineage.one(kind="graph")
    first = lineage.all(kind="graph_node", agent="researcher", parent_run_id=graph.fields["run_id"])[0]
    assert graph.inputs[0] in first.inputs
    subagent_run = lineage.one("helper", "agent")
    inner = lineage.all(kind="graph_node", parent_run_id=subagent_run.fields["run_id"])[0]
    assert subagent_run.inputs[0] in inner.inputs


def test_each_node_follows_from_the_one_before(lineage: Lineage):
    graph = lineage.one(kind="graph")
    nodes = lineage.all(kind="graph_node", parent_run_id=graph.fields["run_id"])
    for before, after in itertools.pairwise(nodes):
        if (before.name, after.name) != ("tools", "tools"):
            assert before.outputs[0] in after.inputs
    both = [node for node in nodes if node.name == "tools"][1:3]
    assert {node.outputs[0] for node in both} <= set(nodes[nodes.index(both[1]) + 1].inputs)


def test_call_ids_are_joined_within_a_lane():
    helper = subagent("helper", write("1", "/b.md", "b\n"), says("helped"))
    _, lineage = run(agent(write("1", "/a.md", "a\n"), task("2", "helper"), subagents=[helper]))
    mine, theirs = lineage.all("write_file", "tool")
    answers = {step.fields["run_id"]: step.outputs[0] for step in lineage.all(kind="chat_model")}
    by_agent = {
        name: {answers[step.fields["run_id"]] for step in lineage.all(kind="chat_model", agent=name)}
        for name in ("researcher", "helper")
    }
    assert by_agent["helper"].isdisjoint(mine.inputs)
    assert by_agent["researcher"].isdisjoint(theirs.inputs)
    assert by_agent["researcher"] & set(mine.inputs)
    assert by_agent["helper"] & set(theirs.inputs)


def test_a_call_id_used_again_means_the_latest_call():
    _, lineage = run(agent(write("1", "/a.md", "a\n"), write("1", "/b.md", "b\n")))
    first, second = lineage.all("write_file", "tool")
    answers = [step.outputs[0] for step in lineage.all(kind="chat_model")]
    assert answers[0] in first.inputs
    assert answers[0] not in second.inputs
    assert answers[1] in second.inputs
    last = lineage.all(kind="chat_request")[-1]
    assert second.outputs[0] in last.inputs


def test_a_response_given_twice_is_one_entity_and_no_loop():
    _, lineage = run(agent(call("ls", "1", path="/"), call("ls", "1", path="/"), says("done")))
    assert len(lineage.all(kind="chat_model")) == 3
    assert len(set(lineage.assets("Reasoning"))) == 2
