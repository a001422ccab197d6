"""nvidia_deep_agent: an orchestrator and two subagents in one sandbox, and what is recorded of the files in it."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from deepagents import create_deep_agent
from langchain_core.tools import InjectedToolArg, tool
from langgraph.checkpoint.memory import InMemorySaver

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import call, edit, execute, read, says, script, task, write
from support.examples import SharedModel, Twice, agents, given, returned, twice
from support.lineage import Lineage
from support.sandboxes import Sandbox
from support.sdk import cid_of

QUESTION, SEARCH, WORK = "How strong is the wind?", "Search for winds.", "Work out the mean wind."
HABITS = "# Habits\n\nDelegate the computing.\n"
SKILL = "---\nname: cudf-analytics\ndescription: Compute\n---\nUse the library.\n"
SKILLS = {"cudf-analytics": SKILL, "data-visualization": SKILL.replace("cudf-analytics", "data-visualization")}
FOUND = "It blows at 1, 2 or 3."
CHART = b"\x89PNG\r\n\x1a\nnot much of a chart"
STATS = f"""from pathlib import Path

here = Path(__file__).parent
(here / "data.csv").write_text("wind\\n1\\n2\\n3\\n")
(here / "chart.png").write_bytes({CHART!r})
print("the mean is", (1 + 2 + 3) / 3)
"""


BOTH = threading.Barrier(2, timeout=60)
"""Where two threads wait for each other, so that their calls come in the order a test needs."""


class Context(TypedDict, total=False):
    sandbox_type: Literal["gpu", "cpu"]


@tool
def tavily_search(
    query: str,
    max_results: Annotated[int, InjectedToolArg] = 1,
    topic: Annotated[Literal["general", "news", "finance"], InjectedToolArg] = "general",
) -> str:
    """Find pages and fetch them."""
    if query == "meet":
        BOTH.wait()
    return f"1 page on {query}\n\n{FOUND}\n"


def prepare(folder: Path) -> None:
    """What the example uploads when it creates its sandbox; here the sandbox's root is a folder."""
    for name in ("memory", "shared", "workspace"):
        (folder / name).mkdir()
    (folder / "memory" / "AGENTS.md").write_text(HABITS)
    for name, text in SKILLS.items():
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(text)


def graph(root: Path, handler: EqtyDeepAgentsHandler | None, backend: Any) -> Any:
    """What the module exports."""
    frontier = SharedModel(
        model_name="frontier",
        scripts={
            QUESTION: script(
                write("request", f"{root}/request.md", QUESTION),
                task("search", "researcher-agent", SEARCH),
                task("work", "data-processor-agent", WORK),
                read("stats", f"{root}/shared/mean.txt"),
                says("It is 2."),
            ),
            WORK: script(
                read("skill", f"{root}/skills/cudf-analytics/SKILL.md"),
                write("script", f"{root}/workspace/stats.py", STATS),
                execute("run", f"{sys.executable} {root}/workspace/stats.py"),
                read("chart", f"{root}/workspace/chart.png"),
                edit("learnt", f"{root}/skills/cudf-analytics/SKILL.md", "the library", "the library's mean"),
                write("mean", f"{root}/shared/mean.txt", "Mean: 2\n"),
                edit("mended", f"{root}/shared/mean.txt", "Mean", "The mean"),
                says("The mean is 2."),
            ),
            "Draft one.": script(
                write("one", f"{root}/shared/draft.txt", "draft one\n"),
                call("tavily_search", "one-1", query="meet"),
                call("tavily_search", "one-2", query="meet"),
                edit("final", f"{root}/shared/draft.txt", "draft", "final"),
            ),
            "Draft two.": script(
                call("tavily_search", "two-1", query="meet"),
                write("two", f"{root}/shared/draft.txt", "draft two\n"),
                call("tavily_search", "two-2", query="meet"),
            ),
        },
    )
    nemotron = SharedModel(
        model_name="nemotron",
        scripts={
            SEARCH: script(
                call("tavily_search", "winds", query="winds"),
                write("notes", f"{root}/shared/winds.txt", FOUND),
                says("Searched."),
            )
        },
    )
    researcher = {
        "name": "researcher-agent",
        "description": "Searches.",
        "system_prompt": "Search, then save.",
        "tools": [tavily_search],
        "model": nemotron,
    }
    processor = {
        "name": "data-processor-agent",
        "description": "Computes.",
        "system_prompt": "Read a skill, write a script, run it.",
        "tools": [tavily_search],
        "model": frontier,
        "skills": [f"{root}/skills/"],
    }
    built = create_deep_agent(
        model=frontier,
        tools=[tavily_search],
        system_prompt="Delegate.",
        subagents=[researcher, processor],
        memory=[f"{root}/memory/AGENTS.md"],
        backend=backend,
        context_schema=Context,
    )
    return built if handler is None else built.with_config({"callbacks": [handler]})


async def serve(exported: Any) -> Any:
    """What a server does with the graph: one thread, then two at the same time."""
    running = exported.copy(update={"checkpointer": InMemorySaver()})

    async def turn(thread: str, text: str) -> Any:
        config = {"configurable": {"thread_id": thread}}
        return await running.ainvoke({"messages": [("user", text)]}, config=config, context={"sandbox_type": "cpu"})

    first = await turn("winds", QUESTION)
    return first, *await asyncio.gather(turn("one", "Draft one."), turn("two", "Draft two."))


def server(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    results = asyncio.run(serve(graph(folder, handler, Sandbox())))
    if handler is not None:
        handler.flush()
        for thread_id, context in handler.contexts.items():
            context.export(f"manifests/{thread_id}.json")
    return results


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("nvidia") / "sandbox", prepare, server, wait=False)


@pytest.fixture(scope="module")
def lineage(ran: Twice) -> Lineage:
    return ran.lineage("manifests/winds.json")


def test_the_runs_end_as_they_do_without_the_handler(ran: Twice):
    assert ran.recorded == ran.plain
    assert ran.result[0]["messages"][-1].text == "It is 2."


def test_both_subagents_have_lanes_and_models_of_their_own(lineage: Lineage):
    lanes = {name: {step.fields["lane"] for step in lineage.all(agent=name)} for name in agents(lineage)}
    assert set(lanes) == {"LangGraph", "researcher-agent", "data-processor-agent"}
    assert all(len(of_one) == 1 for of_one in lanes.values())
    assert len(set.union(*lanes.values())) == 3
    for name, model in (
        ("LangGraph", "frontier"),
        ("researcher-agent", "nemotron"),
        ("data-processor-agent", "frontier"),
    ):
        assert {answer.name for _, answer in lineage.turns(name)} == {model}
    assert FOUND in str(returned(lineage, "winds"))


def test_the_skills_are_the_data_processors_and_nobody_elses(lineage: Lineage):
    skills = {lineage.described(cid)["name"]: cid for cid in lineage.assets("Skill")}
    assert set(skills) == set(SKILLS)
    assert all(set(skills.values()) <= set(request.inputs) for request, _ in lineage.turns("data-processor-agent"))
    assert {step.fields["agent"] for step in lineage.steps if set(skills.values()) & set(step.inputs)} == {
        "data-processor-agent"
    }


def test_the_memory_is_an_input_of_the_orchestrators_turns(lineage: Lineage, ran: Twice):
    assert lineage.versions(f"{ran.folder}/memory/AGENTS.md") == {cid_of(HABITS)}
    assert all(cid_of(HABITS) in request.inputs for request, _ in lineage.turns("LangGraph"))
    assert not any(cid_of(HABITS) in request.inputs for request, _ in lineage.turns("data-processor-agent"))


def test_scripts_and_reports_are_exact_versions(lineage: Lineage, ran: Twice):
    for call_id, path, text in (
        ("script", "workspace/stats.py", STATS),
        ("notes", "shared/winds.txt", FOUND),
        ("mean", "shared/mean.txt", "Mean: 2\n"),
        ("mended", "shared/mean.txt", "The mean: 2\n"),
    ):
        assert lineage.tool(call_id).files("wrote") == {f"{ran.folder}/{path}": cid_of(text)}
    assert ran.recorded[1]["shared/mean.txt"] == b"The mean: 2\n"
    assert lineage.history(f"{ran.folder}/shared/mean.txt") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.tool("stats").version("read", f"{ran.folder}/shared/mean.txt") == 2


def test_a_shell_call_has_its_output_and_of_what_it_made_only_the_chart_that_was_opened(lineage: Lineage, ran: Twice):
    assert given(lineage, "run")["command"].endswith("workspace/stats.py")
    assert "the mean is 2.0" in str(returned(lineage, "run"))
    assert ran.recorded[1]["workspace/data.csv"] == b"wind\n1\n2\n3\n"
    assert not [path for path in lineage.paths() if path.endswith("data.csv")]
    assert cid_of(ran.recorded[1]["workspace/data.csv"]) not in lineage.blobs
    chart = f"{ran.folder}/workspace/chart.png"
    assert ran.recorded[1]["workspace/chart.png"] == CHART
    assert lineage.versions(chart) == {cid_of(CHART)}
    assert lineage.tool("chart").files("read") == {chart: cid_of(CHART)}
    assert lineage.producers(cid_of(CHART)) == []
    assert "a shell may have changed any file" in {gap["reason"] for gap in lineage.gaps()}


def test_an_edit_of_a_skill_is_no_version_of_it(lineage: Lineage, ran: Twice):
    path = f"{ran.folder}/skills/cudf-analytics/SKILL.md"
    assert (
        ran.recorded[1]["skills/cudf-analytics/SKILL.md"] == SKILL.replace("the library", "the library's mean").encode()
    )
    assert lineage.tool("learnt").fields["status"] == "ok"
    assert not lineage.versions(path)
    assert [use["evidence"] for use in lineage.tool("learnt").fields["files"] if use["role"] == "wrote"] == ["edit"]
    assert lineage.tool("skill").files("read").keys() == {path}


def test_a_reconstructed_version_is_what_this_threads_calls_give_whatever_another_thread_wrote(ran: Twice):
    path = f"{ran.folder}/shared/draft.txt"
    one, two = ran.lineage("manifests/one.json"), ran.lineage("manifests/two.json")
    assert ran.recorded[1]["shared/draft.txt"] == b"final two\n"
    assert one.history(path) == ["1 write_file", "2 edit_file <- 1"]
    assert one.tool("final").files("wrote") == {path: cid_of("final one\n")}
    assert [use["evidence"] for use in one.tool("final").fields["files"] if use["role"] == "wrote"] == ["reconstructed"]
    assert two.history(path) == ["1 write_file"]
    assert "Draft two." not in one.everything()


def test_a_backend_made_by_a_function_is_refused(tmp_path: Path):
    with pytest.raises(TypeError):
        graph(tmp_path, None, lambda runtime: Sandbox())
