"""A user's own extractors, and the base handler's for paths."""

from pathlib import Path
from typing import Any, NotRequired, TypedDict

import pytest
from eqty_sdk import Dataset
from langchain.agents.middleware import AgentMiddleware, AgentState
from langgraph.graph import END, START, StateGraph

from eqty_lineage.deepagents import UNCLAIMED, AssetSink, StateExtractor
from support.agents import Session, agent, asked, file_data, reasons, says, write
from support.sdk import cid_of


class Budgeted(AgentState[Any]):
    budget: NotRequired[int]
    where: NotRequired[Any]


class Budget(AgentMiddleware[Any, Any]):
    state_schema = Budgeted


class BudgetExtractor(StateExtractor):
    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        if key_path != ("budget",):
            return UNCLAIMED
        asset = Dataset.from_object({"left": value}, name="budget")
        sink.carry(asset.cid)
        return f"budget {asset.cid}"


@pytest.mark.parametrize("thread", [None, "T"])
def test_a_custom_extractors_asset_is_an_input_in_the_runs_own_context(thread: str | None):
    session = Session()
    session.handler.add_extractor(BudgetExtractor())
    session.invoke(agent(says(), middleware=[Budget()]), asked(budget=7), thread=thread)
    lineage = session.lineage(thread=thread)
    (cid,) = lineage.assets("Dataset", name="budget")
    turn = lineage.one("model", "graph_node")
    assert cid in turn.inputs
    assert lineage.payload(turn.inputs[0])["budget"].startswith("budget ")


def test_a_custom_extractor_beats_this_packages_own():
    class Files(StateExtractor):
        def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
            return "mine" if key_path == ("files",) else UNCLAIMED

    session = Session()
    session.handler.add_extractor(Files())
    session.invoke(agent(says()), asked(files={"/a.md": file_data("a\n")}))
    lineage = session.lineage()
    assert lineage.payload(lineage.one("model", "graph_node").inputs[0])["files"] == "mine"
    assert not lineage.versions("/a.md")


def test_an_extractor_that_raises_is_skipped_and_counted():
    class Broken(StateExtractor):
        def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
            raise LookupError(key_path)

    session = Session()
    session.handler.add_extractor(Broken())
    answer = session.invoke(agent(write("w", "/a.md", "a\n"), says("answered")))
    assert answer["messages"][-1].content == "answered"
    assert session.lineage().history("/a.md") == ["1 write_file"]
    assert reasons(session.handler) == {"EXTRACTOR"}
    assert "Broken" in next(iter(session.handler.gaps)).what


class Report(TypedDict):
    report: Path
    draft: NotRequired[int]


def writing(text: str, path: Path) -> Any:
    def node(state: Report) -> Report:
        path.write_text(text)
        return {"report": path}

    builder = StateGraph(Report)
    builder.add_node("write", node)
    builder.add_edge(START, "write")
    builder.add_edge("write", END)
    return builder.compile()


def test_a_path_in_a_state_is_a_dataset_of_its_contents(tmp_path: Path):
    path = tmp_path / "report.md"
    path.write_text("one\n")
    session = Session()
    session.invoke(writing("two\n", path), {"report": path})
    lineage = session.lineage()
    node = lineage.one("write", "graph_node")
    assert cid_of("one\n") in node.inputs
    assert cid_of("two\n") in node.outputs
    assert set(lineage.assets("Dataset", name="report.md")) == {cid_of("one\n"), cid_of("two\n")}


def test_versions_of_a_path_are_chained_within_a_conversation_and_apart_between_two(tmp_path: Path):
    path = tmp_path / "report.md"
    path.write_text("one\n")
    session = Session()
    session.invoke(writing("two\n", path), {"report": path}, thread="A")
    session.invoke(writing("three\n", path), {"report": path}, thread="A")
    session.invoke(writing("four\n", path), {"report": path}, thread="B")
    chained = session.lineage(thread="A").all("write", "graph_node")[1]
    assert cid_of("two\n") in chained.inputs
    assert cid_of("three\n") in chained.outputs
    other = session.lineage(thread="B")
    node = other.one("write", "graph_node")
    assert cid_of("three\n") in node.inputs
    assert cid_of("two\n") not in other.registered


def test_a_path_keeps_the_bytes_it_had_when_it_was_seen(tmp_path: Path):
    path = tmp_path / "report.md"
    path.write_text("one\n")
    session = Session(wait=False)
    session.invoke(writing("two\n", path), {"report": path})
    path.write_text("changed afterwards\n")
    lineage = session.lineage()
    assert lineage.text(lineage.one("write", "graph_node").outputs[-1]) == "two\n"
    assert "changed afterwards" not in lineage.everything()
