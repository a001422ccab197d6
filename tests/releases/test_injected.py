"""What a framework adds to a tool's arguments is no argument: it holds the run's state, store and configuration."""

from typing import Annotated, Any

import pytest
from langchain_core.tools import tool

from support.agents import Session, call, write
from support.lineage import Lineage
from support.releases import agent, installed, lack, needs_deepagents

SECRET = "sk-planted-where-no-argument-is"


@pytest.fixture(autouse=True)
def _deepagents() -> None:
    needs_deepagents()


def arguments(lineage: Lineage, name: str) -> Any:
    (cid,) = lineage.assets("Dataset", name=f"{name}: input")
    return lineage.payload(cid)


def record(*turns: Any, **options: Any) -> Lineage:
    session = Session()
    session.invoke(agent(*turns, **options), configurable={"api_key": SECRET})
    lineage = session.lineage()
    assert SECRET not in lineage.everything()
    assert " at 0x" not in lineage.everything()
    return lineage


def test_a_file_tool_has_the_arguments_that_the_model_gave():
    lineage = record(write("w", "/a.md", "one\n"))
    assert arguments(lineage, "write_file") == {"file_path": "/a.md", "content": "one\n"}


def test_a_tool_that_asks_for_the_runtime_is_recorded_without_it():
    if not installed("langchain.tools"):
        lack("ToolRuntime")
    from langchain.tools import ToolRuntime  # noqa: PLC0415 - not in every release

    seen: list[Any] = []

    @tool
    def look(what: str, runtime: ToolRuntime) -> str:
        """Look at something."""
        seen.append(runtime.config["configurable"]["api_key"])
        return what

    lineage = record(call("look", "l", what="x"), tools=[look])
    assert seen == [SECRET]
    assert arguments(lineage, "look") == {"what": "x"}


def test_a_tool_that_asks_for_state_store_and_id_is_recorded_without_them():
    from langchain.tools import InjectedState, InjectedStore  # noqa: PLC0415
    from langchain_core.tools import InjectedToolCallId  # noqa: PLC0415 - not with the oldest langchain-core
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415

    seen: list[Any] = []

    @tool
    def look(
        what: str,
        state: Annotated[dict[str, Any], InjectedState],
        store: Annotated[Any, InjectedStore()],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Look at something."""
        seen.append((len(state["messages"]), store is not None, tool_call_id))
        return what

    lineage = record(call("look", "l", what="x"), tools=[look], store=InMemoryStore())
    assert seen == [(2, True, "l")]
    assert arguments(lineage, "look") == {"what": "x"}


def test_arguments_that_the_model_gave_are_kept_whatever_their_names():
    @tool
    def move(state: str, store: dict[str, Any]) -> str:
        """Move to another state."""
        return f"{state} {store}"

    given = {"state": "NY", "store": {"in": ["town", 1, None]}}
    assert arguments(record(call("move", "m", **given), tools=[move]), "move") == given
