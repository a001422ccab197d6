"""Tools: identified by their source where it is known, by name otherwise."""

import inspect
from typing import Any

import pytest
from langchain_core.tools import tool

from eqty_lineage.deepagents import eqty_tool
from support.agents import Session, agent, call, run, write


@eqty_tool
@tool
def measure(what: str) -> str:
    """Measure something, and be told by your source."""
    return f"{what}: 7"


@tool
def estimate(what: str) -> str:
    """Estimate something."""
    return f"{what}: about 7"


def test_a_decorated_tool_is_its_source_and_an_input_of_its_calls():
    _, lineage = run(agent(call("measure", "m", what="x"), tools=[measure]))
    (cid,) = lineage.assets("Tool", name="measure")
    assert "be told by your source" in lineage.text(cid)
    assert lineage.text(cid) == inspect.getsource(measure.func)
    assert cid in lineage.tool("m").inputs


def test_another_tool_is_its_name():
    _, lineage = run(agent(call("estimate", "e", what="x"), tools=[estimate]))
    (cid,) = lineage.assets("Tool", name="estimate")
    assert lineage.payload(cid) == {"name": "estimate"}


@pytest.fixture
def sources() -> Any:
    """What is registered of sources, put back afterwards: the table is the process's."""
    from eqty_lineage.langchain._tools import _registered_tool_sources  # noqa: PLC0415

    before = dict(_registered_tool_sources)
    yield _registered_tool_sources
    _registered_tool_sources.clear()
    _registered_tool_sources.update(before)


def test_the_built_in_tools_can_be_identified_by_their_source(sources: dict[str, str]):
    made = agent(write("w", "/a.md", "a\n"))
    for built_in in made.nodes["tools"].bound.tools_by_name.values():
        eqty_tool(built_in)
    session = Session()
    session.invoke(made)
    lineage = session.lineage()
    (cid,) = lineage.assets("Tool", name="write_file")
    assert lineage.text(cid) == sources["write_file"]
    assert "def " in lineage.text(cid)
    assert cid in lineage.tool("w").inputs


def test_a_tool_is_an_asset_in_every_conversation_that_uses_it():
    session = Session()
    for thread in ("1", "2"):
        session.invoke(agent(call("measure", f"m{thread}", what=thread), tools=[measure]), thread=thread)
    for thread in ("1", "2"):
        lineage = session.lineage(thread=thread)
        assert lineage.assets("Tool", name="measure")[0] in lineage.tool(f"m{thread}").inputs
