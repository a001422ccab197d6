"""The shapes a ``files`` state key can have, and keys of that name that hold something else."""

import base64
from typing import Any, TypedDict

from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph

from support.agents import Session, agent, asked, call, edit, file_data, read, reasons, run, write
from support.sdk import cid_of


def test_a_file_passed_in_has_no_producer_and_is_an_input_of_the_graph():
    _, lineage = run(agent(read("r", "/in.md")), asked(files={"/in.md": file_data("seed\n")}))
    assert lineage.producers(cid_of("seed\n")) == []
    assert lineage.one(kind="graph").files("present") == {"/in.md": cid_of("seed\n")}
    assert lineage.tool("r").files("read") == {"/in.md": cid_of("seed\n")}


def test_a_file_passed_in_is_version_1_of_what_the_agent_makes_of_it():
    _, lineage = run(agent(edit("e", "/in.md", "seed", "plant")), asked(files={"/in.md": {"content": "seed\n"}}))
    assert lineage.history("/in.md") == ["2 edit_file <- 1"]


def test_a_binary_file_has_the_cid_of_its_bytes():
    data = bytes(range(256))
    text = base64.b64encode(data).decode()
    session, lineage = run(
        agent(read("r", "/p.png"), edit("e", "/p.png", text[:4], "AAAA")),
        asked(files={"/p.png": file_data(text, encoding="base64")}),
    )
    assert lineage.versions("/p.png") == {cid_of(data)}
    assert lineage.assets("Media", file_path="/p.png") == [cid_of(data)]
    assert lineage.tool("r").files("read") == {"/p.png": cid_of(data)}
    assert session.results()["e"].status == "error"
    assert cid_of(text) not in lineage.registered


def test_a_list_of_lines_is_the_text_they_join_to():
    session, lineage = run(
        agent(read("r", "/old.md"), edit("e", "/old.md", "l2", "L2")),
        asked(files={"/old.md": file_data(["l1", "l2", ""])}),
    )
    assert lineage.tool("r").files("read") == {"/old.md": cid_of("l1\nl2\n")}
    assert lineage.tool("e").files("wrote") == {"/old.md": cid_of(session.answer["files"]["/old.md"]["content"])}
    assert lineage.history("/old.md") == ["2 edit_file <- 1"]


def test_base64_that_is_none_is_a_gap_and_no_file():
    session, lineage = run(
        agent(), asked(files={"/p.png": file_data("not base64!", encoding="base64"), "/a.md": file_data("a\n")})
    )
    assert lineage.versions("/p.png") == set()
    assert lineage.versions("/a.md") == {cid_of("a\n")}
    assert reasons(session.handler) == {"BAD_BINARY"}


def test_a_deletion_passed_in_is_no_file():
    session, lineage = run(agent(), asked(files={"/a.md": None, "/b.md": file_data("b\n")}))
    assert set(session.answer["files"]) == {"/b.md"}
    assert lineage.versions("/a.md") == set()
    assert lineage.versions("/b.md") == {cid_of("b\n")}


def test_a_file_that_cannot_be_encoded_is_a_gap_and_its_older_version_is_not_current():
    session, lineage = run(
        agent(
            write("w1", "/s.md", "x\n"),
            write("w2", "/s.md", "x\ud800\n"),
            edit("e", "/s.md", "x", "X"),
            read("r", "/s.md"),
            write("w3", "/ok.md", "fine\n"),
        )
    )
    assert session.answer["files"]["/s.md"]["content"] == "X\ud800\n"
    assert lineage.history("/s.md") == ["1 write_file"]
    assert cid_of("x\n") not in {*lineage.tool("e").inputs, *lineage.tool("r").inputs}
    assert lineage.history("/ok.md") == ["1 write_file"]
    assert "UNENCODABLE" in reasons(session.handler)
    assert "the content is not valid Unicode text" in {gap["reason"] for gap in lineage.gaps()}


def test_a_file_that_becomes_encodable_again_is_a_new_version():
    _, lineage = run(
        agent(write("w1", "/s.md", "x\ud800\n"), write("w2", "/s.md", "y\n"), edit("e", "/s.md", "y", "z"))
    )
    versions = [step.version("wrote", "/s.md") for step in (lineage.tool("w2"), lineage.tool("e"))]
    assert None not in versions
    assert versions[1] == versions[0] + 1
    assert lineage.tool("e").files("replaced") == {"/s.md": cid_of("y\n")}


class Uploads(TypedDict, total=False):
    files: dict[str, Any]
    todos: list[Any]


def graph(node: Any) -> Any:
    builder = StateGraph(Uploads)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile()


def test_another_graphs_files_key_stays_in_its_payload_whole():
    foreign = {"upload-1": "first caption", "~weird": {"content": "x", "size": 3}}
    session = Session()
    session.invoke(graph(lambda state: {"files": {**state["files"], "upload-2": "second caption"}}), {"files": foreign})
    lineage = session.lineage()
    node = lineage.one("node", "graph_node")
    assert lineage.payload(node.inputs[0])["files"] == foreign
    assert lineage.payload(node.outputs[0])["files"] == {**foreign, "upload-2": "second caption"}
    assert not lineage.paths()
    assert not reasons(session.handler)


def test_another_graphs_todos_key_is_no_plan():
    foreign = [{"content": "a", "status": "blocked"}]
    session = Session()
    session.invoke(graph(lambda state: {"todos": [*state["todos"], "b"]}), {"todos": foreign})
    lineage = session.lineage()
    assert lineage.payload(lineage.one("node", "graph_node").outputs[0])["todos"] == [*foreign, "b"]
    assert not lineage.plans()


def test_arguments_named_like_state_keys_are_arguments():
    @tool
    def deploy(files: dict, todos: list, skills_metadata: list) -> str:
        """Deploy."""
        return "deployed"

    arguments = {
        "files": {"/x.md": {"content": "argument\n"}},
        "todos": [{"content": "argument", "status": "pending"}],
        "skills_metadata": [{"name": "argument"}],
    }
    _, lineage = run(agent(call("deploy", "c", **arguments), tools=[deploy], plan=True))
    (arguments_cid,) = lineage.assets("Dataset", name="deploy: input")
    assert lineage.payload(arguments_cid) == arguments
    assert not lineage.versions("/x.md")
    assert not lineage.plans()
    assert not lineage.assets("Skill")


def test_a_result_that_looks_like_state_is_a_result():
    looks_like_state = {
        "files": {"/x.md": {"content": "result\n"}},
        "todos": [{"content": "result", "status": "pending"}],
        "skills_metadata": [{"name": "result"}],
    }

    @tool(response_format="content_and_artifact")
    def look(at: str) -> tuple[str, dict]:
        """Look."""
        return "seen", looks_like_state

    @tool
    def fetch(at: str) -> dict:
        """Fetch."""
        return looks_like_state

    _, lineage = run(agent(call("look", "l", at="x"), call("fetch", "f", at="x"), tools=[look, fetch], plan=True))
    assert not lineage.versions("/x.md")
    assert not lineage.plans()
    assert not lineage.assets("Skill")


def test_a_graph_without_file_tools_may_hold_deepagents_files():
    session = Session()
    session.invoke(graph(lambda _: {"files": {"/made.md": file_data("made\n")}}), {"files": {}})
    lineage = session.lineage()
    assert lineage.one("node", "graph_node").files("wrote") == {"/made.md": cid_of("made\n")}
