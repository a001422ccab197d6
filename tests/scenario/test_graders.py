"""The agent that grades another's work is an agent of its own, though its runs carry the other's name."""

from typing import Any

from deepagents.middleware.rubric import RubricMiddleware

from support.agents import agent, asked, asks, call, model, run, says, write
from support.lineage import Lineage


def graded(*, verdicts: tuple[str, ...] = ("satisfied",)) -> Any:
    grades = [
        asks(
            call(
                "GraderResponse",
                f"g{number}",
                result=verdict,
                explanation="as asked",
                criteria=[{"name": "written", "passed": verdict == "satisfied", "gap": "", "explanation": "e"}],
            )
        )
        for number, verdict in enumerate(verdicts)
    ]
    rubric = RubricMiddleware(model=model(*grades))
    return agent(write("w", "/a.md", "a\n"), *([says("done")] * len(verdicts)), middleware=[rubric])


def record() -> Lineage:
    _, lineage = run(graded(), asked(rubric="- There is a file."))
    return lineage


def test_the_grader_is_an_agent_with_a_lane_of_its_own():
    lineage = record()
    steps = lineage.all(agent="rubric_grader")
    assert steps
    lanes = {step.fields["lane"] for step in steps}
    assert len(lanes) == 1
    assert lanes.isdisjoint({step.fields["lane"] for step in lineage.all(agent="researcher")})
    (grader,) = lineage.assets("Agent", name="rubric_grader")
    assert grader in lineage.one("rubric_grader", kind="agent").inputs


def test_its_turns_are_not_the_agents():
    lineage = record()
    assert len(lineage.turns("rubric_grader")) == 1
    assert len(lineage.turns("researcher")) == 2


def test_the_rubric_and_the_verdict_are_in_the_record():
    lineage = record()
    node = lineage.one("RubricMiddleware.after_agent", kind="graph_node")
    (out,) = [cid for cid in node.outputs if "output state" in lineage.described(cid)["name"]]
    assert "satisfied" in str(lineage.payload(out))
    assert "There is a file." in lineage.everything()
