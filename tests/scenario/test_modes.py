"""Sync, async and every way of streaming record the same; so does doing it all again."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from eqty_sdk.context import graph_context

from support.agents import Session, agent, asked, asks, edit, run, says, subagent, task, write
from support.lineage import Lineage
from support.sdk import second


def scripted() -> Any:
    helper = subagent("helper", write("hw", "/b.md", "b\n"), says("helped"))
    return agent(
        asks(write("w", "/a.md", "one\n"), task("t", "helper")),
        edit("e", "/a.md", "one", "two"),
        says("done"),
        subagents=[helper],
    )


def streamed(**options: Any) -> Callable[[Session], None]:
    def consume(session: Session) -> None:
        for _ in scripted().stream(asked(), session.config(), **options):
            pass

    return consume


def async_streamed(**options: Any) -> Callable[[Session], None]:
    def consume(session: Session) -> None:
        async def read() -> None:
            async for _ in scripted().astream(asked(), session.config(), **options):
                pass

        asyncio.run(read())

    return consume


def events(session: Session) -> None:
    async def read() -> None:
        async for _ in scripted().astream_events(asked(), session.config(), version="v2"):
            pass

    asyncio.run(read())


WAYS: dict[str, Callable[[Session], None]] = {
    "ainvoke": lambda session: asyncio.run(scripted().ainvoke(asked(), session.config())),
    "stream values": streamed(stream_mode="values"),
    "stream updates of subgraphs": streamed(stream_mode="updates", subgraphs=True),
    "stream messages": streamed(stream_mode="messages"),
    "astream several": async_streamed(stream_mode=["updates", "messages"]),
    "astream_events": events,
}


@pytest.fixture(scope="module")
def invoked() -> Lineage:
    return run(scripted())[1]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_running_records_what_invoke_records(way: str, invoked: Lineage):
    session = Session()
    with graph_context(session.context), second():
        WAYS[way](session)
        lineage = session.lineage()
    assert lineage.shape() == invoked.shape()
    assert lineage.history("/a.md") == invoked.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]
    assert lineage.history("/b.md") == ["1 write_file"]


def edges(lineage: Lineage) -> set[tuple[str, frozenset[str], frozenset[str]]]:
    return {(step.kind, frozenset(step.inputs), frozenset(step.outputs)) for step in lineage.steps}


def test_the_same_script_gives_the_same_assets_and_edges(invoked: Lineage):
    _, again = run(scripted())
    assert again.entities == invoked.entities
    assert edges(again) == edges(invoked)
    described = [
        {cid: sorted(map(repr, lineage.metadata[cid])) for cid in lineage.entities} for lineage in (again, invoked)
    ]
    assert described[0] == described[1]
