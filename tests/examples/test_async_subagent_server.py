"""async-subagent-server: a supervisor and the server of its researcher, and what each of the two records."""

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.middleware.async_subagents import AsyncSubAgent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import asks, call, says, script, write
from support.examples import SharedModel, Twice, agents, asked_in, attached, given, prompts, returned, twice
from support.lineage import Lineage, Step
from support.remote import RemoteAgents, remote_agents
from support.sdk import cid_of

FOUND = "The moon pulls the sea."
NOTES = f"- {FOUND}\n"
SAVED = "# Springs\n\nAll about springs.\n"
THREAD = "supervisor-session"


class ResearchServer(RemoteAgents):
    """The server's routes, and its runs in the background of an event loop, as the example's application has them.

    Ids are counted, so that the supervisor's script can name them.
    """

    def __init__(self, handler: EqtyDeepAgentsHandler | None) -> None:
        super().__init__()
        self.handler = handler
        self.threads: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self._held = {query: threading.Event() for query in ("tides", "springs", "winds", "suns")}
        """What each search waits for, so that a run ends when the test says so."""
        self._done: dict[str, Any] = {}
        self._context = contextvars.copy_context()
        self._loop = asyncio.new_event_loop()
        self._worker = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._worker.start()

        @tool
        async def web_search(query: str) -> str:
            """Search the web."""
            await asyncio.to_thread(self._held[query].wait, 60)
            return FOUND

        self.agent = create_deep_agent(
            model=SharedModel(
                scripts={
                    "tides": script(call("web_search", "long", query="tides"), says("All about tides.")),
                    "springs": script(
                        call("web_search", "short", query="springs"),
                        write("notes", "/notes.md", NOTES),
                        says("All about springs."),
                    ),
                    "winds": [asks(call("web_search", "winds", query="winds")), RuntimeError("out of credit")],
                    "suns": script(call("web_search", "suns", query="suns"), says("All about suns.")),
                }
            ),
            system_prompt="Search, then answer.",
            tools=[web_search],
        )

    def respond(self, method: str, path: str, body: dict[str, Any]) -> Any:
        match (method, path.strip("/").split("/")):
            case ("POST", ["threads"]):
                thread = {"thread_id": f"task-{len(self.threads) + 1}", "messages": [], "values": {}}
                return self.threads.setdefault(thread["thread_id"], thread)
            case ("POST", ["threads", thread_id, "runs"]):
                return self._start(thread_id, body)
            case ("POST", ["threads", _, "runs", run_id, "cancel"]):
                self.runs[run_id]["status"] = "cancelled"
                return self.runs[run_id]
            case ("GET", ["threads", thread_id]):
                return self.threads[thread_id]
            case ("GET", ["threads", _, "runs", run_id]):
                return self.runs[run_id]
            case _:
                raise AssertionError((method, path))

    def _start(self, thread_id: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("multitask_strategy") == "interrupt":
            for run in self.runs.values():
                if (run["thread_id"], run["status"]) == (thread_id, "running"):
                    run["status"] = "cancelled"
            self.threads[thread_id]["values"] = {}
        text = next(message["content"] for message in body["input"]["messages"] if message["role"] == "user")
        self.threads[thread_id]["messages"].append({"role": "user", "content": text})
        run = {"run_id": f"run-{len(self.runs) + 1}", "thread_id": thread_id, "status": "pending", "error": None}
        self.runs[run["run_id"]] = run
        # the request's thread has not the context the program runs in
        self._done[run["run_id"]] = self._context.copy().run(
            asyncio.run_coroutine_threadsafe, self._execute(run, text), self._loop
        )
        return {**run}

    async def _execute(self, run: dict[str, Any], text: str) -> None:
        run["status"], run_id = "running", run["run_id"]
        thread = self.threads[run["thread_id"]]
        try:
            config = {} if self.handler is None else attached(self.handler, configurable={"thread_id": run_id})
            result = await self.agent.ainvoke({"messages": [HumanMessage(text)]}, config=config)
            thread["messages"].append({"role": "assistant", "content": result["messages"][-1].text})
            thread["values"] = {"messages": [*thread["messages"]]}
            run["status"] = "success"
        except Exception as error:  # noqa: BLE001 - as in the example
            run["status"], run["error"] = "error", str(error)
        if self.handler is None:
            return
        await self.handler.aflush()
        if run_id in self.handler.contexts:
            path = f"manifests/researcher-{run_id}.json"
            await asyncio.to_thread(self.handler.contexts[run_id].export, path)

    def finish(self, query: str, run_id: str) -> None:
        self._held[query].set()
        self._done[run_id].result(60)

    def stop(self) -> None:
        for held in self._held.values():
            held.set()
        for done in self._done.values():
            done.result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._worker.join(10)
        self._loop.close()


@contextmanager
def serving(handler: EqtyDeepAgentsHandler | None) -> Iterator[ResearchServer]:
    server = ResearchServer(handler)
    try:
        with remote_agents(server):
            yield server
    finally:
        server.stop()


def supervising(url: str) -> Any:
    def task(name: str, call_id: str, **arguments: Any) -> Any:
        return asks(call(f"{name}_async_task", call_id, **arguments))

    turns = [
        task("start", "start", description="Research tides.", subagent_type="researcher"),
        says("Started task-1."),
        task("check", "running", task_id="task-1"),
        says("It still runs."),
        task("update", "update", task_id="task-1", message="Only springs."),
        says("It does springs now."),
        task("check", "finished", task_id="task-1"),
        asks(write("save", "/springs.md", SAVED)),
        says("It is done, and saved."),
        task("start", "failing", description="Research winds.", subagent_type="researcher"),
        says("Started task-2."),
        task("check", "failed", task_id="task-2"),
        says("It failed."),
        task("start", "another", description="Research suns.", subagent_type="researcher"),
        says("Started task-3."),
        task("cancel", "cancel", task_id="task-3"),
        says("Cancelled."),
        asks(call("list_async_tasks", "list")),
        says("Three tasks."),
        task("start", "unreached", description="Research stars.", subagent_type="researcher"),
        says("It does not answer."),
    ]
    researcher = AsyncSubAgent(
        name="researcher",
        description="Researches in the background.",
        graph_id="researcher",
        url=url,
        headers={"x-auth-scheme": "custom"},
    )
    return create_deep_agent(
        model=SharedModel(model_name="manager", scripts={"research tides": turns}),
        checkpointer=MemorySaver(),
        system_prompt="Start, check, report.",
        subagents=[researcher],
    )


async def session(server: ResearchServer, supervisor: Any, handler: EqtyDeepAgentsHandler | None) -> Any:
    """What is typed at the prompt, and what the server has done in the meantime."""
    answers = []

    async def chat(text: str) -> None:
        result = await supervisor.ainvoke(
            {"messages": [HumanMessage(text)]}, config=attached(handler, configurable={"thread_id": THREAD})
        )
        answers.append(result)
        if handler is not None:
            handler.context.export("manifests/supervisor.json")

    await chat("research tides")
    await chat("check task-1")
    await chat("update task-1: springs only")
    await asyncio.to_thread(server.finish, "springs", "run-2")
    await chat("check task-1")
    await chat("research winds")
    await asyncio.to_thread(server.finish, "winds", "run-3")
    await chat("check task-2")
    await chat("research suns")
    await chat("cancel task-3")
    await chat("list all tasks")
    server.unavailable = True
    await chat("research stars")
    return answers


def programs(own: EqtyDeepAgentsHandler | None) -> Any:
    """Both programs; ``own`` is the server's handler, which in the example is in another process."""

    def run(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
        with serving(None if handler is None else own) as server:
            answers = asyncio.run(session(server, supervising(server.url), handler))
        return answers, server.threads, server.runs

    return run


def empty(folder: Path) -> None:
    """Its files are in state."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    own = EqtyDeepAgentsHandler(wait=False)
    return twice(tmp_path_factory.mktemp("async") / "example", empty, programs(own))


@pytest.fixture(scope="module")
def supervisor(ran: Twice) -> Lineage:
    return ran.lineage("manifests/supervisor.json")


def tasks(lineage: Lineage, step: Step, side: str = "outputs") -> list[dict[str, Any]]:
    """The records of remote tasks that a step made, or had."""
    records = lineage.assets("Dataset", name="researcher: remote task")
    return [lineage.payload(cid) for cid in getattr(step, side) if cid in records]


def test_both_programs_end_as_they_do_without_a_handler(ran: Twice):
    assert ran.recorded == ran.plain
    answers, _, runs = ran.result
    assert answers[-1]["messages"][-1].text == "It does not answer."
    assert {name: run["status"] for name, run in runs.items()} == {
        "run-1": "success",  # it was marked as cancelled, and went on
        "run-2": "success",
        "run-3": "error",
        "run-4": "success",
    }


# --- the supervisor


def test_all_turns_of_the_session_are_in_one_context(supervisor: Lineage, ran: Twice):
    assert set(ran.handler.contexts) == {THREAD}
    assert len(supervisor.all("LangGraph", "graph")) == 10
    assert [step.name for step in supervisor.all(kind="tool")] == [
        "start_async_task",
        "check_async_task",
        "update_async_task",
        "check_async_task",
        "write_file",
        "start_async_task",
        "check_async_task",
        "start_async_task",
        "cancel_async_task",
        "list_async_tasks",
        "start_async_task",
    ]


def test_each_task_call_has_its_arguments_and_its_result(supervisor: Lineage):
    assert given(supervisor, "start")["description"] == "Research tides."
    assert "task_id: task-1" in str(returned(supervisor, "start"))
    assert given(supervisor, "update") == {"task_id": "task-1", "message": "Only springs."}
    assert "running" in str(returned(supervisor, "running"))
    assert "All about springs." in str(returned(supervisor, "finished"))
    assert "out of credit" in str(returned(supervisor, "failed"))
    assert "task-3" in str(returned(supervisor, "list"))


def test_the_record_of_a_task_names_the_task_and_its_run(supervisor: Lineage):
    for call_id, task_id, run_id, status in (
        ("start", "task-1", "run-1", "running"),
        ("update", "task-1", "run-2", "running"),
        ("failing", "task-2", "run-3", "running"),
        ("another", "task-3", "run-4", "running"),
        ("cancel", "task-3", "run-4", "cancelled"),
    ):
        (record,) = tasks(supervisor, supervisor.tool(call_id))
        assert (record["task_id"], record["run_id"], record["status"]) == (task_id, run_id, status)
    (before,) = tasks(supervisor, supervisor.tool("update"), "inputs")
    assert before["run_id"] == "run-1"


def test_the_end_of_a_task_is_told_before_the_supervisor_asks(supervisor: Lineage):
    """The middleware asks the server when a turn begins, and puts what it hears into the talk."""
    told = [
        (step, record)
        for step in supervisor.all("AsyncSubAgentMiddleware.before_agent")
        for record in tasks(supervisor, step)
    ]
    assert [(one["task_id"], one["status"]) for _, one in told] == [("task-1", "success"), ("task-2", "error")]
    before_it_asked, _ = asked_in(supervisor, "finished")
    ((request, _),) = [pair for pair in supervisor.turns() if pair[1] == before_it_asked]
    (prompt,) = set(request.inputs) & set(supervisor.assets("Prompt"))
    assert "All about springs." in str(supervisor.payload(prompt))


def test_nothing_of_the_researchers_run_is_here(supervisor: Lineage, ran: Twice):
    assert agents(supervisor) == {"LangGraph"}
    assert not supervisor.all("web_search")
    assert FOUND not in supervisor.everything()
    assert {(gap["what"], gap["reason"]) for gap in supervisor.gaps()} == {
        ("researcher", "what a remote agent does is not seen here")
    }
    inputs = {cid for step in supervisor.steps for cid in step.inputs}
    for run_id in ran.result[2]:
        server = ran.lineage(f"manifests/researcher-{run_id}.json")
        shared = inputs & {cid for step in server.steps for cid in step.outputs}
        assert all(supervisor.payload(cid)["state_update"] is None for cid in shared)  # equal, and of nothing


def test_a_task_that_could_not_be_launched_is_reported_as_text_so_its_call_is_ok(supervisor: Lineage):
    assert supervisor.tool("unreached").fields["status"] == "ok"
    assert "Failed to launch" in str(returned(supervisor, "unreached"))
    assert tasks(supervisor, supervisor.tool("unreached")) == []


def test_a_file_the_supervisor_writes_is_exact(supervisor: Lineage):
    assert supervisor.versions("/springs.md") == {cid_of(SAVED)}
    assert supervisor.tool("save").files("wrote") == {"/springs.md": cid_of(SAVED)}
    assert set(supervisor.tool("finished").outputs) & supervisor.ancestors(cid_of(SAVED))


# --- the server


def test_each_run_has_a_manifest_of_its_own_under_the_id_that_the_supervisor_has(ran: Twice, supervisor: Lineage):
    runs = {record["run_id"] for step in supervisor.steps for record in tasks(supervisor, step)}
    exported = {path.name for path in (ran.folder / "manifests").iterdir()} - {"supervisor.json"}
    assert exported == {f"researcher-{run_id}.json" for run_id in runs}
    for run_id, task, query in (
        ("run-1", "Research tides.", "long"),
        ("run-2", "Only springs.", "short"),
        ("run-3", "Research winds.", "winds"),
        ("run-4", "Research suns.", "suns"),
    ):
        lineage = ran.lineage(f"manifests/researcher-{run_id}.json")
        assert all(task in prompt for prompt in prompts(lineage))
        assert FOUND in str(returned(lineage, query))
        assert len(lineage.all(kind="tool", name="web_search")) == 1


def test_a_run_that_went_on_beside_the_one_that_replaced_it_is_kept_apart(ran: Twice):
    older, newer = (ran.lineage(f"manifests/researcher-run-{number}.json") for number in (1, 2))
    assert "springs" not in older.everything()
    assert "tides" not in newer.everything()
    assert [len(one.all("LangGraph", "graph", status="ok")) for one in (older, newer)] == [1, 1]


def test_what_a_run_wrote_is_an_exact_version(ran: Twice):
    lineage = ran.lineage("manifests/researcher-run-2.json")
    assert lineage.tool("notes").files("wrote") == {"/notes.md": cid_of(NOTES)}
    assert lineage.versions("/notes.md") == {cid_of(NOTES)}
    assert set(lineage.tool("short").outputs) & lineage.ancestors(cid_of(NOTES))


def test_a_run_that_failed_has_its_manifest_too(ran: Twice):
    lineage = ran.lineage("manifests/researcher-run-3.json")
    assert len(lineage.all("LangGraph", "graph_error", status="error")) == 1
    assert "out of credit" in lineage.everything()
