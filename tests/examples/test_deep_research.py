"""deep_research: an orchestrator and researchers side by side, served or in a notebook, and what their record holds."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from deepagents import create_deep_agent
from eqty_sdk.context import graph_context
from langchain_core.tools import InjectedToolArg, tool
from langgraph.checkpoint.memory import InMemorySaver

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import asks, call, read, says, script, task, todos, write
from support.examples import SharedModel, Twice, agents, attached, prompts, returned, twice
from support.lineage import Lineage
from support.sdk import cid_of, new_context, second

QUESTION, OTHER = "How do tides work?", "How do winds work?"
TOPICS = ("Look into the moon.", "Look into the sun.", "Look into the shore.")
PAGES = {"moon": "The moon pulls most.", "sun": "The sun pulls too.", "winds": "Warm air rises."}
REQUEST = f"# Request\n\n{QUESTION}\n"
REPORT = "# Tides\n\nThe moon pulls most, the sun pulls too.\n"
WINDS = "# Winds\n\nWarm air rises.\n"
LONGER = REPORT + "\nSprings are both together.\n"


@tool
def tavily_search(
    query: str,
    max_results: Annotated[int, InjectedToolArg] = 1,
    topic: Annotated[Literal["general", "news", "finance"], InjectedToolArg] = "general",
) -> str:
    """Find pages and fetch them."""
    url = f"https://{query}.example"
    text = PAGES.get(query, f"Error fetching {url}: 404")
    return f"1 page on {query}\n\n# {query}\n{url}\n\n{text}\n"


@tool
def think_tool(reflection: str) -> str:
    """Think about what was found."""
    return f"Noted: {reflection}"


def model() -> SharedModel:
    def researcher(subject: str) -> list[Any]:
        return script(
            read(f"{subject}-read", "/research_request.md"),
            call("tavily_search", f"{subject}-search", query=subject),
            call("think_tool", f"{subject}-think", reflection=f"Enough on the {subject}."),
            write(f"{subject}-write", f"/{subject}.md", f"About the {subject}.\n"),
            says(f"What the {subject} does."),
        )

    return SharedModel(
        scripts={
            QUESTION: [
                asks(call("write_todos", "plan", todos=todos("look", "write"))),
                asks(write("request", "/research_request.md", REQUEST)),
                asks(*(task(f"task{index}", "research-agent", topic) for index, topic in enumerate(TOPICS))),
                asks(write("report", "/final_report.md", REPORT)),
                asks(read("verify", "/research_request.md")),
                says("The report is written."),
                asks(call("edit_file", "more", file_path="/final_report.md", old_string=REPORT, new_string=LONGER)),
                says("It is longer now."),
            ],
            OTHER: [
                asks(call("tavily_search", "winds", query="winds")),
                asks(write("other", "/final_report.md", WINDS)),
                says("The other report is written."),
                asks(read("again", "/final_report.md")),
                says("It says that warm air rises."),
            ],
            **{topic: researcher(topic.split()[-1].strip(".")) for topic in TOPICS},
        }
    )


def graph(handler: EqtyDeepAgentsHandler | None) -> Any:
    """What the module exports."""
    built = create_deep_agent(
        model=model(),
        tools=[tavily_search, think_tool],
        system_prompt="Plan, delegate, write.",
        subagents=[
            {
                "name": "research-agent",
                "description": "Looks into one topic.",
                "system_prompt": "Search, think, answer.",
                "tools": [tavily_search, think_tool],
            }
        ],
    )
    return built if handler is None else built.with_config({"callbacks": [handler]})


async def turn(running: Any, thread: str, text: str) -> Any:
    last: Any = None
    config = {"configurable": {"thread_id": thread}}
    async for chunk in running.astream({"messages": [("user", text)]}, config=config, stream_mode="values"):
        last = chunk
    return last


async def serve(exported: Any) -> Any:
    """What a server does with the graph: a checkpointer of its own, and threads at the same time."""
    running = exported.copy(update={"checkpointer": InMemorySaver()})
    first, other = await asyncio.gather(turn(running, "tides", QUESTION), turn(running, "winds", OTHER))
    return first, other, await turn(running, "tides", "Say more.")


def server(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    results = asyncio.run(serve(graph(handler)))

    def export_thread(thread_id: str) -> None:
        assert handler is not None
        handler.flush()
        handler.contexts[thread_id].export(f"manifests/{thread_id}.json")

    if handler is not None:
        export_thread("tides")
        export_thread("winds")
    return results


def notebook(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    """The same agent invoked in a cell."""
    result = graph(None).invoke({"messages": [{"role": "user", "content": QUESTION}]}, config=attached(handler))
    if handler is not None:
        handler.context.export("manifests/deep-research.json")
    return result


def empty(folder: Path) -> None:
    """Its files are in state."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("research") / "server", empty, server, wait=False)


@pytest.fixture(scope="module")
def in_notebook(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("research") / "notebook", empty, notebook)


@pytest.fixture(scope="module", params=["server", "notebook"])
def lineage(request: pytest.FixtureRequest, ran: Twice, in_notebook: Twice) -> Lineage:
    """The record of the first question, however it was run."""
    if request.param == "server":
        return ran.lineage("manifests/tides.json")
    return in_notebook.lineage("manifests/deep-research.json")


def test_the_runs_end_as_they_do_without_the_handler(ran: Twice, in_notebook: Twice):
    for one in (ran, in_notebook):
        assert one.recorded == one.plain
    first, other, more = ran.result
    assert first["files"]["/final_report.md"]["content"] == REPORT
    assert more["files"]["/final_report.md"]["content"] == LONGER
    assert other["files"]["/final_report.md"]["content"] == WINDS


def test_a_graph_with_the_handler_bound_is_a_graph_of_the_same_class():
    assert type(graph(EqtyDeepAgentsHandler(wait=False))) is type(graph(None))


def test_the_request_and_the_report_are_exact_versions(lineage: Lineage):
    assert lineage.versions("/research_request.md") == {cid_of(REQUEST)}
    assert lineage.tool("request").files("wrote") == {"/research_request.md": cid_of(REQUEST)}
    assert lineage.tool("verify").files("read") == {"/research_request.md": cid_of(REQUEST)}
    assert lineage.tool("report").files("wrote") == {"/final_report.md": cid_of(REPORT)}


def test_each_researcher_has_a_lane_with_its_own_copy_of_the_files_as_they_were(lineage: Lineage):
    lanes = {step.fields["lane"] for step in lineage.all(agent="research-agent")}
    assert len(lanes) == 3
    for lane in lanes:
        (started,) = lineage.all("PatchToolCallsMiddleware.before_agent", lane=lane)
        (state,) = [cid for cid in started.inputs if lineage.metadata[cid][0]["name"] == f"{started.name}: input state"]
        assert lineage.payload(state)["files"] == {"/research_request.md": f"urn:cid:{cid_of(REQUEST)}"}
        (wrote,) = lineage.all("write_file", lane=lane)
        subject = wrote.fields["tool_call_id"].partition("-")[0]
        assert wrote.files("wrote") == {f"/{subject}.md": cid_of(f"About the {subject}.\n")}
        assert lineage.tool(f"{subject}-read").fields["lane"] == lane
        assert lineage.tool(f"{subject}-read").files("read") == {"/research_request.md": cid_of(REQUEST)}


def test_every_search_and_thought_is_recorded_with_the_page_or_why_there_is_none(lineage: Lineage):
    for subject, page in (("moon", PAGES["moon"]), ("sun", PAGES["sun"]), ("shore", "https://shore.example: 404")):
        assert lineage.tool(f"{subject}-search").name == "tavily_search"
        assert lineage.tool(f"{subject}-search").fields["status"] == "ok"
        assert page in str(returned(lineage, f"{subject}-search"))
        assert f"Noted: Enough on the {subject}." in str(returned(lineage, f"{subject}-think"))


def test_from_the_report_a_path_leads_back_to_the_searches_and_the_question(lineage: Lineage):
    behind = lineage.ancestors(cid_of(REPORT))
    for subject, index in (("moon", 0), ("sun", 1), ("shore", 2)):
        assert set(lineage.tool(f"task{index}").outputs) & behind
        assert set(lineage.tool(f"{subject}-search").outputs) & behind
    asked = [cid for cid in behind & set(lineage.assets("Dataset")) if QUESTION in str(lineage.payload(cid))]
    assert [cid for cid in asked if not lineage.producers(cid)]


def test_there_is_no_plan_even_where_the_model_asks_for_one(lineage: Lineage):
    assert lineage.plans() == {}
    assert not lineage.all("write_todos")
    assert any("write_todos is not a valid tool" in prompt for prompt in prompts(lineage))


def test_threads_at_once_are_kept_apart_and_each_goes_on(ran: Twice):
    assert set(ran.handler.contexts) == {"tides", "winds"}
    tides, winds = ran.lineage("manifests/tides.json"), ran.lineage("manifests/winds.json")
    assert tides.history("/final_report.md") == ["1 write_file", "2 edit_file <- 1"]
    assert tides.text(next(iter(tides.tool("more").files("wrote").values()))) == LONGER
    assert winds.history("/final_report.md") == ["1 write_file"]
    assert OTHER not in tides.everything()
    assert QUESTION not in winds.everything()
    assert agents(winds) == {"LangGraph"}


def test_two_threads_at_once_are_warned_of_once_and_one_is_not(ran: Twice, in_notebook: Twice):
    assert [line for line in ran.said if "observing 2 runs at once" in line] == ran.said
    assert len(ran.said) == 1
    assert in_notebook.said == []


def test_after_a_restart_a_threads_files_are_inputs_without_what_wrote_them():
    saver = InMemorySaver()
    for text, handler in ((OTHER, EqtyDeepAgentsHandler(wait=False)), ("Read it.", EqtyDeepAgentsHandler(wait=False))):
        with graph_context(new_context()), second():
            asyncio.run(turn(graph(handler).copy(update={"checkpointer": saver}), "winds", text))
            assert handler.flush()
            lineage = Lineage.of(handler.contexts["winds"])
    assert lineage.tool("again").files("read") == {"/final_report.md": cid_of(WINDS)}
    assert lineage.producers(cid_of(WINDS)) == []
    assert not lineage.all("write_file")
