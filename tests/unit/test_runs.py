"""When nothing is done but by models."""

import uuid
from typing import Any

import pytest

from eqty_lineage.deepagents.runs import Kind, OpenRun, OpenRuns


def opened(*kinds: tuple[str, Kind, str | None]) -> tuple[OpenRuns, dict[str, OpenRun]]:
    runs, by_name = OpenRuns(), dict[str, OpenRun]()
    unused: Any = None
    for name, kind, parent in kinds:
        above = None if parent is None else by_name[parent]
        by_name[name] = OpenRun(uuid.uuid4(), above, unused, kind, name, unused, {}, "")
        runs._runs[by_name[name].run_id] = by_name[name]
    return runs, by_name


AGENT = ("agent", Kind.CHAIN, None)
NODE = ("node", Kind.CHAIN, "agent")
MODEL = ("model", Kind.MODEL, "node")
TASK = ("task", Kind.TOOL, "agent")
SUBAGENT = ("subagent", Kind.CHAIN, "task")


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], False),
        ([AGENT], False),
        ([AGENT, NODE], False),
        ([AGENT, NODE, MODEL], True),
        ([AGENT, TASK], False),
        ([AGENT, TASK, SUBAGENT], False),
        ([AGENT, TASK, SUBAGENT, ("its model", Kind.MODEL, "subagent")], True),
        ([AGENT, NODE, MODEL, TASK], False),
        ([AGENT, NODE, MODEL, TASK, ("its model", Kind.MODEL, "task")], True),
        ([AGENT, NODE, MODEL, ("another agent", Kind.CHAIN, None)], False),
    ],
)
def test_only_models(kinds: list[Any], expected: bool):  # noqa: FBT001 - a table
    assert opened(*kinds)[0].only_models() is expected


def test_a_model_whose_node_is_gone_still_counts():
    runs, by_name = opened(AGENT, NODE, MODEL)
    runs.remove(by_name["node"])
    runs.remove(by_name["agent"])
    assert runs.only_models()
