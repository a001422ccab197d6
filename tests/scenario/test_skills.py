"""Skills: assets of their own, given to the turns that could draw on them, and never produced."""

from collections.abc import Mapping
from typing import Any, NotRequired

from deepagents.backends.state import StateBackend
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.tools import tool

from support.agents import agent, asked, call, file_data, read, run, says, subagent, task
from support.sdk import cid_of

WEB = "---\nname: web\ndescription: Search the web\nmetadata:\n  released: 2025-01-01\n  tags: [a, b]\n---\nbody\n"
PDF = "---\nname: pdf\ndescription: Read PDFs\nlicense: 1.0\n---\nbody\n"
BAD = "---\nname: bad\ndescription: x: y: z\n  - oops\n---\n"


def catalogue(**texts: str) -> dict[str, Any]:
    return {f"/skills/{name}/SKILL.md": file_data(text) for name, text in texts.items()}


def test_each_readable_skill_is_an_asset_and_an_input_of_every_turn():
    _, lineage = run(
        agent(read("r", "/skills/web/SKILL.md"), skills=["/skills/"]), asked(files=catalogue(web=WEB, pdf=PDF, bad=BAD))
    )
    skills = {lineage.described(cid)["name"]: cid for cid in lineage.assets("Skill")}
    assert set(skills) == {"web", "pdf"}
    for turn in lineage.all("model", "graph_node"):
        assert set(skills.values()) <= set(turn.inputs)


def test_a_skill_is_never_produced():
    _, lineage = run(agent(skills=["/skills/"]), asked(files=catalogue(web=WEB, pdf=PDF)))
    assert lineage.assets("Skill")
    assert not [cid for cid in lineage.assets("Skill") if lineage.producers(cid)]


def test_the_state_lists_the_skills_by_name_sorted():
    _, lineage = run(agent(skills=["/skills/"]), asked(files=catalogue(web=WEB, pdf=PDF)))
    state = lineage.payload(lineage.all("model", "graph_node")[0].inputs[0])
    assert state["skills_metadata"] == ["pdf", "web"]


def test_the_file_of_a_skill_is_a_file():
    _, lineage = run(agent(read("r", "/skills/web/SKILL.md"), skills=["/skills/"]), asked(files=catalogue(web=WEB)))
    assert lineage.tool("r").files("read") == {"/skills/web/SKILL.md": cid_of(WEB)}


def test_a_subagents_skills_are_inputs_of_its_turns_only():
    helper = subagent("helper", says("helped"), skills=["/skills/"])
    _, lineage = run(agent(task("t", "helper"), subagents=[helper]), asked(files=catalogue(web=WEB)))
    (skill,) = lineage.assets("Skill")
    users = [step for step in lineage.steps if skill in step.inputs]
    assert {step.fields["agent"] for step in users} == {"helper"}
    assert "model" in {step.name for step in users}


def test_without_skills_there_is_none():
    _, lineage = run(agent(says()))
    assert not lineage.assets("Skill")


class Catalogued(AgentState[Any]):
    skills_metadata: NotRequired[list[Any]]


class Catalogue(AgentMiddleware[Any, Any]):
    state_schema = Catalogued

    def __init__(self, skills: list[Any]) -> None:
        super().__init__()
        self.skills = skills

    def before_agent(self, state: Any, runtime: Any) -> Mapping[str, Any]:
        return {"skills_metadata": self.skills}


def test_a_catalogue_with_one_unreadable_entry_is_left_in_the_state_whole():
    skills = [{"name": "fine", "description": "f"}, {"description": "no name"}]
    _, lineage = run(agent(middleware=[Catalogue(skills)]))
    assert not lineage.assets("Skill")
    assert not [cid for cid in lineage.registered if lineage.blobs[cid] == b'{"name": "fine", "description": "f"}']
    assert lineage.payload(lineage.one("model", "graph_node").inputs[0])["skills_metadata"] == skills


def test_a_pinned_skill_stands_in_the_talk_and_its_entry_is_an_input_of_the_turn():
    _, lineage = run(agent(skills=["/skills/"]), asked(files=catalogue(web=WEB, pdf=PDF), pinned_skills=["web"]))
    (skill,) = lineage.assets("Skill", name="web")
    ((request, _),) = lineage.turns()
    assert skill in request.inputs
    (prompt,) = [cid for cid in request.inputs if lineage.metadata[cid][0]["assetType"] == "Prompt"]
    assert "body" in str(lineage.payload(prompt))
    node = lineage.one("SkillsMiddleware.before_model", kind="graph_node")
    (out,) = [cid for cid in node.outputs if "output state" in lineage.metadata[cid][0]["name"]]
    assert "body" in str(lineage.payload(out))


def test_a_tool_that_a_skill_brings_is_a_tool_call():
    @tool
    def fetch(url: str) -> str:
        """Fetch a page."""
        return f"the page at {url}"

    text = "---\nname: web\ndescription: Search the web\nmetadata:\n  include_tools: fetch\n---\nbody\n"
    skills = SkillsMiddleware(backend=StateBackend(), sources=["/skills/"], tools=[fetch])
    turns = [read("r", "/skills/web/SKILL.md", limit=1000), call("fetch", "f", url="x")]
    session, lineage = run(agent(*turns, middleware=[skills]), asked(files=catalogue(web=text)))
    assert session.results()["f"].text == "the page at x"
    step = lineage.tool("f")
    assert (step.name, step.fields["status"]) == ("fetch", "ok")
    assert [cid for cid in step.inputs if lineage.metadata[cid][0]["assetType"] == "Tool"]
