"""What something came from, and what came of it."""

import pytest

from eqty_lineage.deepagents.reading.answers import Graph, What
from eqty_lineage.deepagents.reading.model import How, Kind
from eqty_lineage.deepagents.reading.run import Run, read
from support import runs
from support.synthetic import synthetic


def steps(graph: Graph, **options: bool) -> set[int]:
    return {node.step for node in graph.reached(What.STEP, **options) if node.step is not None}


def assert_no_cycle(graph: Graph) -> None:
    """Each link's start was met before, as the root or as an end, and leads to none that was left already."""
    left: set[str] = set()
    met = {graph.root}
    for link in graph.links:
        assert link.start in met
        assert link.end not in left | {link.start}
        left.add(link.start)
        met.add(link.end)
    assert met == set(graph.nodes)


def call(run: Run, call_id: str) -> int:
    return next(step.number for step in run.steps if step.call_id == call_id)


@pytest.mark.parametrize("name", ["simple", "eventful", "deep", "witnessed"])
def test_a_report_leads_to_the_persons_message_through_signed_links_alone(name: str) -> None:
    run = read(runs.EVERY[name]())
    graph = run.why("/report.md")
    assert runs.QUESTION in {node.label for node in graph.reached(What.PROMPT, signed=True)}
    assert all(link.how is How.SIGNED for link in graph.links)


def test_a_restored_file_has_no_cycle_and_keeps_its_versions_apart() -> None:
    run = read(runs.eventful())
    graph = run.why("/report.md")
    assert_no_cycle(graph)
    assert {node.reference for node in graph.reached(What.VERSION)} >= {f"/report.md@{n}" for n in (1, 2, 3)}
    assert steps(graph) >= {call(run, id_) for id_ in ("w1", "e1", "e2")}


def test_what_a_subagent_wrote_leads_to_its_task_and_to_the_turn_that_gave_it() -> None:
    run = read(runs.eventful())
    graph = run.why("/west.md")
    asked = run.steps[call(run, "t-west") - 1].asked_by
    assert asked is not None
    assert asked.step in steps(graph, signed=True)
    assert {"Look west.", runs.QUESTION} <= {node.label for node in graph.reached(What.PROMPT, signed=True)}
    assert "Look east." not in {node.label for node in graph.reached(What.PROMPT)}


@pytest.mark.parametrize("name", sorted(runs.EVERY))
def test_no_answer_has_a_cycle_and_both_directions_agree(name: str) -> None:
    run = read(runs.EVERY[name]())
    ups = {step.number: run.why(f"#{step.number}") for step in run.steps}
    downs = {step.number: run.downstream(f"#{step.number}") for step in run.steps}
    for graph in (*ups.values(), *downs.values()):
        assert_no_cycle(graph)
    assert {(a, b) for a, up in ups.items() for b in steps(up)} == {(b, a) for a, d in downs.items() for b in steps(d)}


@pytest.mark.parametrize("name", sorted(runs.EVERY))
def test_each_entity_and_computation_can_be_asked_about(name: str) -> None:
    run = read(runs.EVERY[name]())
    for cid in (*run.entities, *run.computations):
        try:
            reference = run.find(cid)
        except ValueError as error:
            assert "may be any of" in str(error)  # noqa: PT017 - whichever of the two
        else:
            assert_no_cycle(run.why(reference))
            assert_no_cycle(run.downstream(reference))


def test_depth_counts_steps() -> None:
    run = read(runs.simple())
    write, edit = call(run, "w1"), call(run, "e1")
    assert steps(run.why("/report.md", depth=1)) == {edit}
    assert write in steps(run.why("/report.md", depth=2))
    assert "/report.md@1" in {node.reference for node in run.why("/report.md", depth=1).nodes.values()}


def test_what_came_of_a_version_are_its_readers_and_successors() -> None:
    run = read(runs.simple())
    reached = steps(run.downstream("/report.md@1"))
    assert call(run, "e1") in reached
    assert call(run, "r1") in reached
    assert call(run, "w1") not in reached


def test_what_older_manifests_leave_is_marked_as_inferred() -> None:
    run = read(runs.base_only())
    graph = run.why(f"#{call(run, 'e1')}")
    assert runs.QUESTION in {node.label for node in graph.reached(What.PROMPT)}
    assert not graph.reached(What.PROMPT, signed=True)
    assert {link.how for link in graph.after(graph.root) if graph.nodes[link.end].what is What.STEP} == {How.INFERRED}


def test_a_run_came_from_what_it_was_called_with() -> None:
    run = read(runs.deep())
    end = next(step for step in run.steps if step.kind is Kind.RUN)
    (given,) = run.why(f"#{end.number}").reached(What.GIVEN, signed=True)
    assert given.label == runs.QUESTION


def test_a_long_run_is_followed_without_recursion() -> None:
    run = read(synthetic(3_000))
    graph = run.why(f"#{len(run.steps) - 1}")
    assert_no_cycle(graph)
    assert_no_cycle(run.downstream("#1"))
