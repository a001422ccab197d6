"""better-harness: an agent that improves another one's files, in process and in a child, and what is recorded of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from eqty_sdk import Context, Signer, init, set_active_signer
from langchain_core.messages import HumanMessage

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import edit, read, says, script, task, write
from support.examples import SharedModel, Twice, agents, attached, outcome, twice
from support.lineage import Lineage
from support.sdk import cid_of, run_in_process

PROMPT = "You answer briefly.\n"
TOOLS = "def look_up():\n    return None\n"
BETTER = "def look_up(word):\n    return word\n"
PROPOSAL = "# Proposal\n\nLook words up.\n"
INSTRUCTION = "Read /task.md, improve /current, then write /proposal.md."


def workspace(folder: Path) -> None:
    """What the outer loop lays out for the agent."""
    for name, text in {
        "task.md": "# Task\n\nMake the failing case pass.\n",
        "surface_manifest.json": "{}\n",
        "train_failures.json": '[{"case_id": "words"}]\n',
        "train_cases/test_words.py": "def test_words(): ...\n",
        "history/visible_history.md": "# History\n\n- none yet\n",
        "current/prompt.md": PROMPT,
        "current/tools.py": TOOLS,
        "proposal.md": "# Proposal\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def model(*before: Any) -> SharedModel:
    return SharedModel(
        scripts={
            INSTRUCTION: script(
                read("task", "/task.md"),
                read("case", "/train_cases/test_words.py"),
                read("history", "/history/visible_history.md"),
                read("prompt", "/current/prompt.md"),
                task("ask", "general-purpose", "Read the tools."),
                edit("edit", "/current/prompt.md", "briefly", "in one word"),
                write("tools", "/current/tools.py", BETTER),
                write("proposal", "/proposal.md", PROPOSAL),
                says("Proposed."),
            ),
            "Read the tools.": script(read("asked", "/current/tools.py"), says("They return nothing.")),
        }
    )


def proposer(folder: Path, chat: SharedModel) -> Any:
    backend = FilesystemBackend(root_dir=str(folder), virtual_mode=True)
    return create_deep_agent(model=chat, system_prompt="Improve the harness.", backend=backend)


class Overloaded(SharedModel):
    """A model whose provider fails once, in the middle of a run."""

    failed: bool = False

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.failed and any(getattr(message, "tool_call_id", None) == "case" for message in messages):
            self.failed = True
            raise RuntimeError("Error code: 529 - overloaded")
        return super()._generate(messages, *args, **kwargs)


def in_process(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    agent = proposer(folder, Overloaded(scripts=model().scripts))
    attachment = {} if handler is None else {"callbacks": [handler], "configurable": {"thread_id": str(folder)}}
    result = None
    for attempt in range(3):
        try:
            result = agent.invoke(
                {"messages": [HumanMessage(INSTRUCTION)]}, config={"recursion_limit": 100, **attachment}
            )
        except RuntimeError as error:
            if attempt == 2 or "overloaded" not in str(error):
                raise
        else:
            break
    if handler is not None:
        handler.context.export(str(folder / "manifest.json"))
    return result


CHILD = """
import sys

from examples.test_better_harness import main

main(*sys.argv[1:])
"""


def main(request: str, answer: str, attach: str) -> None:
    """What the child does; ``attach`` says whether its file has been edited."""
    payload = json.loads(Path(request).read_text())
    root = Path(payload["workspace_root"])
    handler = None
    if attach == "yes":
        init(default_context=Context.new("better-harness"), custom_dir=str(root.parent)).set_store_all_blobs(True)
        set_active_signer(Signer.load_or_create("better-harness"))
        handler = EqtyDeepAgentsHandler()
    result = proposer(root, model()).invoke(
        {"messages": [HumanMessage(INSTRUCTION)]}, config=attached(handler, recursion_limit=payload["max_turns"])
    )
    said = {"final_message": result["messages"][-1].text, "result": outcome(result)}
    Path(answer).write_text(json.dumps(said))
    if handler is not None:
        handler.context.export(str(Path(answer).with_name("manifest.json")))


def in_child(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    request, answer = folder / "outer_agent_request.json", folder / "outer_agent_result.json"
    request.write_text(json.dumps({"workspace_root": str(folder), "max_turns": 100}))
    done = run_in_process(CHILD, str(request), str(answer), "no" if handler is None else "yes", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(answer.read_text())


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("harness") / "workspace", workspace, in_process)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("harness") / "workspace", workspace, in_child)


@pytest.fixture(scope="module", params=["in process", "in a child"])
def lineage(request: pytest.FixtureRequest) -> Lineage:
    name = "here" if request.param == "in process" else "there"
    ran: Twice = request.getfixturevalue(name)
    return ran.lineage("manifest.json")


def test_the_runs_end_as_they_do_without_the_handler(here: Twice, there: Twice):
    assert here.recorded == here.plain
    assert there.recorded == there.plain
    assert here.result["messages"][-1].text == there.result["final_message"] == "Proposed."


def test_an_attempt_after_an_error_of_the_model_is_a_further_run_in_the_same_context(here: Twice, there: Twice):
    assert set(here.handler.contexts) == {str(here.folder)}
    lineage = here.lineage("manifest.json")
    assert [step.kind for step in lineage.steps if step.fields["parent_run_id"] is None] == ["graph_error", "graph"]
    assert "529 - overloaded" in lineage.everything()
    assert len(there.lineage("manifest.json").all("LangGraph", "graph")) == 1


def test_what_was_read_is_a_rendering(lineage: Lineage):
    for path, text in (
        ("/task.md", "Make the failing case pass."),
        ("/train_cases/test_words.py", "def test_words(): ..."),
        ("/history/visible_history.md", "- none yet"),
        ("/current/prompt.md", PROMPT.strip()),
    ):
        (rendering,) = lineage.renderings(path)
        assert text in lineage.text(rendering)
        assert "read_file" in lineage.users(rendering)
        assert not lineage.versions(path)


def test_an_edit_of_a_file_that_was_there_is_no_version_of_it(lineage: Lineage):
    step = lineage.tool("edit")
    assert [(use["path"], use["role"], use["evidence"]) for use in step.fields["files"]] == [
        ("/current/prompt.md", "wrote", "edit"),
        ("/current/prompt.md", "read", "rendering"),
    ]
    (edited,) = lineage.assets("Document", name="edit of /current/prompt.md")
    assert {key: lineage.payload(edited)[key] for key in ("old", "new")} == {"old": "briefly", "new": "in one word"}


def test_a_file_written_whole_is_an_exact_version(lineage: Lineage, here: Twice, there: Twice):
    for call_id, path, text in (("tools", "/current/tools.py", BETTER), ("proposal", "/proposal.md", PROPOSAL)):
        assert lineage.tool(call_id).files("wrote") == {path: cid_of(text)}
        assert here.recorded[1][path[1:]] == there.recorded[1][path[1:]] == text.encode()
        assert lineage.versions(path) == {cid_of(text)}
    assert lineage.renderings("/task.md") <= lineage.ancestors(cid_of(PROPOSAL))


def test_the_subagent_that_is_there_by_default_has_a_lane_of_its_own(lineage: Lineage):
    assert agents(lineage) == {"LangGraph", "general-purpose"}
    assert lineage.tool("asked").fields["lane"]
    (rendering,) = lineage.renderings("/current/tools.py")
    assert lineage.tool("asked").files("read") == {"/current/tools.py": rendering}
