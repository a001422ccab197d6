"""A deep agent that researches a question, and the record of how its report came about.

The agent plans, sends a librarian into a small library of texts beside this file, reads the notes and a skill, writes a
report, spoils it and mends it. ``EqtyDeepAgentsHandler`` records all of it; the manifest is then read back.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scripted
import summary
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.backends.utils import create_file_data
from eqty_sdk import Context, Signer, init, set_active_signer
from langchain.agents.middleware import TodoListMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.tools import tool
from pydantic import SecretStr

from eqty_lineage.deepagents import EqtyDeepAgentsHandler, eqty_tool

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph

    Agent = CompiledStateGraph[Any, Any, Any, Any]

HERE = Path(__file__).resolve().parent
LIVE_MODEL = "anthropic:claude-sonnet-4-6"
FAILED = 1
NOT_POSSIBLE = 2

QUESTION = """\
How did sailors tell one lighthouse from another? Write a short report to /report.md, then answer in two sentences."""

RESEARCHER = """\
You are a research agent. Keep a plan with write_todos and revise it after every step. Leave looking things up to the
librarian: give it a task and have it write its notes to /notes.md. Read the notes, read the skill that fits, write
/report.md, and check it before you answer."""

LIBRARIAN = """\
You are a librarian. Answer from what search_library finds and from nothing else. Write your notes to the file you are
asked for, name the text each point is from, and reply with one sentence."""


@tool
@eqty_tool
def search_library(query: str) -> str:
    """Find the two texts of the library that share the most words with the query."""
    wanted = set(re.findall(r"[a-z]{3,}", query.lower()))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (HERE / "knowledge").glob("*.txt")}
    shared = {name: len(wanted & set(re.findall(r"[a-z]{3,}", text.lower()))) for name, text in texts.items()}
    best = sorted((name for name in texts if shared[name]), key=lambda name: (-shared[name], name))[:2]
    return "\n".join(f"[{name}]\n{texts[name]}" for name in best) or "Nothing found."


class NotPossibleError(Exception):
    """What was asked for cannot be done here; the message says what is missing."""


def main() -> int:
    """Run the demo and return the exit code."""
    arguments = _arguments()
    try:
        models = _models(arguments.live)
    except NotPossibleError as error:
        print(f"--live {arguments.live}: {error}", file=sys.stderr)
        return NOT_POSSIBLE
    with _store(in_place=arguments.in_place) as folder:
        _set_up_sdk(folder)
        agent = _agent(*models)
        # By default `invoke` returns once everything is stored. Not waiting there is what lets us time the two apart.
        handler = EqtyDeepAgentsHandler(wait=False)
        print("The agent is at work. Signing what it did takes longer than doing it.\n", file=sys.stderr)
        started = time.perf_counter()
        try:
            answer = _ask(agent, handler)
            failure = None
        except Exception as error:  # noqa: BLE001 - whatever a provider raises: a run that fails is recorded too
            answer, failure = "", error
        answered = time.perf_counter()
        handler.flush()
        stored = time.perf_counter()
        handler.context.export(arguments.output)
        handler.close()
    summary.print_text("Answer", answer or "none")
    summary.show(arguments.output, run_seconds=answered - started, waiting_seconds=stored - answered)
    if failure is not None:
        print(f"the run failed: {type(failure).__name__}: {failure}", file=sys.stderr)
        return FAILED
    return 0


def _ask(agent: Agent, handler: EqtyDeepAgentsHandler) -> str:
    state = agent.invoke(
        {"messages": [{"role": "user", "content": QUESTION}], "files": _given_files()},
        config={"callbacks": [handler]},
    )
    return str(state["messages"][-1].text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="deepagents-demo",
        description="Run a deep agent that writes a short report, record the run as signed EQTY lineage, and show "
        "what the exported manifest says about it. A scripted model plays the agent: no API key, no network.",
    )
    parser.add_argument(
        "--live",
        metavar="MODEL",
        nargs="?",
        const=LIVE_MODEL,
        help=f"let a real chat model play both agents, given as PROVIDER:NAME (default: {LIVE_MODEL}); needs the "
        "provider's langchain package and its API key in the environment, and costs money",
    )
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="keep the SDK's store, signing key included, as .eqty_sdk in the current folder (default: a temporary "
        "one, removed at the end)",
    )
    parser.add_argument(
        "--output",
        metavar="PATH",
        type=Path,
        default=Path("manifests", "deep-agent.json"),
        help="where the manifest goes (default: %(default)s)",
    )
    return parser.parse_args()


def _models(live: str | None) -> tuple[BaseChatModel, BaseChatModel]:
    """Return the models of the main agent and of the librarian."""
    if live is None:
        return scripted.researcher(), scripted.librarian()
    try:
        model = init_chat_model(live)
    except Exception as error:  # each provider raises what it likes about a missing package or key
        raise NotPossibleError(str(error).strip()) from error
    # Some providers notice a missing key only at the first call, when half a run would be recorded already.
    for field, variable in model.lc_secrets.items():
        secret = getattr(model, field, None)
        if isinstance(secret, SecretStr) and not secret.get_secret_value():
            raise NotPossibleError(f"no API key; set {variable}")
    return model, model


@contextlib.contextmanager
def _store(*, in_place: bool) -> Iterator[Path | None]:
    """Give the folder for the SDK's store; ``None`` leaves the choice to the SDK, which takes ``.eqty_sdk`` here."""
    if in_place:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="deepagents-demo-") as folder:
        yield Path(folder)


def _set_up_sdk(folder: Path | None) -> None:
    """Prepare the SDK: once in a process, because a second ``init`` changes nothing."""
    root = Context.new("deepagents-demo")
    config = init(default_context=root) if folder is None else init(default_context=root, custom_dir=folder)
    config.set_store_all_blobs(True)
    set_active_signer(Signer.load_or_create("deepagents-demo"))


def _agent(researcher: BaseChatModel, librarian: BaseChatModel) -> Agent:
    agent = create_deep_agent(
        model=researcher,
        name="research-agent",
        system_prompt=RESEARCHER,
        backend=StateBackend(),
        skills=["/skills/"],
        middleware=[TodoListMiddleware()],
        subagents=[
            {
                "name": "librarian",
                "description": "Searches the library and writes notes to a file.",
                "system_prompt": LIBRARIAN,
                "model": librarian,
                "tools": [search_library],
            }
        ],
    )
    # The built-in tools do the work that matters most here, and their source is as readable as our own.
    for built_in in agent.nodes["tools"].bound.tools_by_name.values():
        eqty_tool(built_in)
    return agent


def _given_files() -> dict[str, Any]:
    """Return the files the agent starts with: its skills."""
    return {
        f"/{path.relative_to(HERE).as_posix()}": create_file_data(path.read_text(encoding="utf-8"))
        for path in sorted((HERE / "skills").rglob("*.md"))
    }


if __name__ == "__main__":
    sys.exit(main())
