"""The integrity service: asked once a root run, after all of it is stored, and none of the agent's business."""

import threading
from typing import Any

import pytest
from eqty_sdk import Context
from langgraph.errors import GraphRecursionError

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import Session, agent, asked, reasons, says, subagent, task, write
from support.lineage import Lineage

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQTY_API_KEY", "key")


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Context, Lineage]]:
    """What was registered: the context, and what it held at that time."""
    contexts: list[tuple[Context, Lineage]] = []
    monkeypatch.setattr(Context, "register", lambda context, *_, **__: contexts.append((context, Lineage.of(context))))
    return contexts


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("thread", [None, "T"])
def test_a_runs_context_is_registered_once_when_all_of_it_is_stored(
    *, wait: bool, thread: str | None, registered: list[tuple[Context, Lineage]]
):
    session = Session(integrity_service_url=NOBODY, wait=wait)
    helper = subagent("helper", write("w", "/a.md", "a\n"), says("helped"))
    session.invoke(agent(task("t", "helper"), subagents=[helper]), thread=thread)
    lineage = session.lineage(thread=thread)
    ((context, held),) = registered
    assert context.id == session.handler.context.id
    assert held.manifest["statements"].keys() == lineage.manifest["statements"].keys()
    assert held.history("/a.md") == ["1 write_file"]


def test_every_turn_is_registered_and_a_failed_one_too(registered: list[tuple[Context, Lineage]]):
    session = Session(integrity_service_url=NOBODY)
    session.invoke(agent(says()))
    with pytest.raises(GraphRecursionError):
        session.invoke(agent(write("w", "/a.md", "a\n")), asked("more"), recursion_limit=2)
    first, second = (held for _, held in registered)
    assert len(first.all(kind="graph")) == 1
    assert len(second.all(kind="graph_error")) == 1


def test_a_service_that_refuses_is_a_gap_and_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch):
    asked_for = []

    def register(context: Context, *_: Any, **__: Any) -> None:
        asked_for.append(context)
        message = "503 Service Unavailable"
        raise RuntimeError(message)

    monkeypatch.setattr(Context, "register", register)
    session = Session(integrity_service_url=NOBODY)
    answer = session.invoke(agent(write("w", "/a.md", "a\n"), says("done")))
    assert answer["messages"][-1].content == "done"
    assert len(asked_for) == 1
    assert reasons(session.handler) == {"SERVICE"}
    assert session.lineage().history("/a.md") == ["1 write_file"]


def test_a_service_that_is_not_there_is_a_gap():
    session = Session(integrity_service_url=NOBODY)
    assert session.invoke(agent(says("done")))["messages"][-1].content == "done"
    assert reasons(session.handler) == {"SERVICE"}


def test_without_a_service_nothing_is_registered(registered: list[tuple[Context, Lineage]]):
    Session().invoke(agent(says()))
    assert not registered


def test_a_slow_service_does_not_hold_up_a_handler_that_does_not_wait(monkeypatch: pytest.MonkeyPatch):
    answered = threading.Event()
    monkeypatch.setattr(Context, "register", lambda *_, **__: answered.wait())
    handler = EqtyDeepAgentsHandler(integrity_service_url=NOBODY, wait=False)
    session = Session(handler)
    assert session.invoke(agent(says("done")))["messages"][-1].content == "done"
    assert handler.flush(0.01) is False
    answered.set()
    assert handler.flush() is True
