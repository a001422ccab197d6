"""A store that fails: the agent does not notice, what is lost is counted, and what is left holds together."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from eqty_lineage.deepagents.recording import batches, sdk
from support.agents import Session, agent, asks, edit, reasons, says, write
from support.lineage import Lineage
from support.sdk import STATEMENTS, cid_of, new_context


class PanicException(BaseException):
    """What the SDK raises where it is not initialised."""


ERRORS = [RuntimeError("(code: 5) database is locked"), PanicException("not initialised")]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_PAUSES", (0.0, 0.0))


def scripted() -> Any:
    return agent(
        asks(write("w", "/a.md", "one\n"), write("b", "/b.md", "b\n")), edit("e", "/a.md", "one", "two"), says("done")
    )


def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, when: Callable[..., bool]) -> list[Any]:
    """Make an SDK call fail at the times that ``when`` picks by its arguments; return those it failed for."""
    failed: list[Any] = []
    real = getattr(sdk, name)

    def fails(*arguments: Any, **more: Any) -> Any:
        if when(*arguments, **more):
            failed.append(arguments)
            raise error
        return real(*arguments, **more)

    monkeypatch.setattr(sdk, name, fails)
    return failed


def named(cid: str, cids: list[Any]) -> bool:
    return any(str(one).endswith(cid) for one in cids)


def once(at: int) -> Callable[..., bool]:
    calls = iter(range(10**9))
    return lambda *_, **__: next(calls) == at


def run(**options: Any) -> tuple[EqtyDeepAgentsHandler, Lineage]:
    session = Session(**options)
    answer = session.invoke(scripted())
    assert answer["messages"][-1].content == "done"
    assert answer["files"]["/a.md"]["content"] == "two\n"
    return session.handler, session.lineage(unfinished=True, lost=True)


@pytest.mark.parametrize("recording", ["background", "inline"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_call_that_fails_once_is_made_again_and_nothing_is_missing(
    name: str, recording: Any, monkeypatch: pytest.MonkeyPatch
):
    error = ERRORS[STATEMENTS.index(name) % 2]
    failed = failing(monkeypatch, name, error, once(3))
    handler, lineage = run(recording=recording)
    assert len(failed) == 1
    assert not reasons(handler)
    assert lineage.shape().total() == expected_steps()
    assert lineage.history("/a.md") == ["1 write_file", "2 edit_file <- 1"]


_steps: list[int] = []


def expected_steps() -> int:
    """How many computations the script gives when nothing fails."""
    if not _steps:
        session = Session()
        session.invoke(scripted())
        _steps.append(len(session.lineage().steps))
    return _steps[0]


@pytest.mark.parametrize("error", ERRORS, ids=["error", "panic"])
def test_an_asset_that_cannot_be_stored_is_left_out_of_what_used_it(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
):
    lost = cid_of("one\n")
    failing(monkeypatch, "add_data_statement", error, lambda cids, **_: named(lost, cids))
    handler, lineage = run()
    assert lost not in lineage.registered
    assert lineage.tool("w")
    assert lineage.tool("e").files("wrote") == {"/a.md": cid_of("two\n")}
    assert reasons(handler) == {"NOT_STORED"}
    assert [gap for gap in lineage.gaps() if "/a.md" in gap["what"]]


def test_no_step_names_a_version_whose_asset_was_lost(monkeypatch: pytest.MonkeyPatch):
    lost = cid_of("one\n")
    failing(monkeypatch, "add_data_statement", ERRORS[0], lambda cids, **_: named(lost, cids))
    _, lineage = run()
    assert not [use for step in lineage.steps for use in step.fields.get("files", []) if use["cid"] == lost]


def test_a_computation_that_cannot_be_stored_is_a_gap_and_the_others_are_there(monkeypatch: pytest.MonkeyPatch):
    lost = cid_of("one\n")
    failing(
        monkeypatch,
        "add_computation_statement",
        ERRORS[1],
        lambda _, outputs, **__: named(lost, outputs),
    )
    handler, lineage = run()
    assert not lineage.producers(lost)
    assert cid_of("one\n") in lineage.tool("e").inputs
    assert len(lineage.steps) == expected_steps() - 1
    assert reasons(handler) == {"NOT_STORED"}
    assert [gap for gap in lineage.gaps() if "write_file" in gap["what"]]


@pytest.mark.parametrize("name", [*STATEMENTS, "get_cid_for_bytes"])
def test_a_store_that_always_fails_loses_the_record_and_not_the_answer(name: str, monkeypatch: pytest.MonkeyPatch):
    session = Session()
    with monkeypatch.context() as patched:
        error = ERRORS[len(name) % 2]
        failing(patched, name, error, lambda *_, _store=None, **__: _store is not False)
        assert session.invoke(scripted())["messages"][-1].content == "done"
    assert "NOT_STORED" in reasons(session.handler)
    assert len(session.handler.gaps) > 1
    # what comes after the store has healed is recorded whole
    session.context = new_context()
    session.invoke(agent(write("later", "/later.md", "later\n"), says("better")))
    assert session.lineage().history("/later.md") == ["1 write_file"]


CALLBACKS: dict[str, Callable[[bytes], bool]] = {
    "on_chain_start of the root": lambda data: b'"of": "researcher", "side": "entering"' in data,
    "on_chain_start of a node": lambda data: b'"of": "researcher/model step' in data and b'"entering"' in data,
    "on_chat_model_start": lambda data: data.startswith(b'[[{"role": "system"'),
    "on_llm_end": lambda data: data.startswith(b'{"generations"'),
    "on_tool_start": lambda data: data.startswith(b'{"file_path"') and b"old_string" in data,
    "on_tool_end": lambda data: data.startswith(b'{"role": "tool"') and b"Updated file /a.md" in data,
    "on_chain_end of a node": lambda data: b"/model step" in data and b'"leaving"' in data,
    "on_chain_end of the root": lambda data: b'"of": "researcher", "side": "leaving"' in data,
}


@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_callback_that_fails_is_a_gap_and_what_is_left_holds_together(callback: str, monkeypatch: pytest.MonkeyPatch):
    picked = CALLBACKS[callback]
    error = ERRORS[list(CALLBACKS).index(callback) % 2]
    failed: list[Any] = []
    session = Session()
    with monkeypatch.context() as patched:
        failed = failing(
            patched,
            "get_cid_for_bytes",
            error,
            lambda data, _store=None: _store is False and not failed and picked(data),
        )
        assert session.invoke(scripted())["messages"][-1].content == "done"
    assert len(failed) == 1
    assert "CALLBACK" in reasons(session.handler)
    lineage = session.lineage(unfinished=True)
    assert expected_steps() - 4 <= len(lineage.steps) < expected_steps()
    assert "recording a callback failed" in {gap["reason"] for gap in lineage.gaps()}


def test_the_child_of_a_thread_that_cannot_be_made_at_first_is_made_later(monkeypatch: pytest.MonkeyPatch):
    class Locked:
        failures = 3

        def __getattr__(self, name: str) -> Any:
            if name == "with_parent" and self.failures:
                self.failures -= 1
                raise ERRORS[0]
            return getattr(real, name)

    real = sdk.Context
    locked = Locked()
    monkeypatch.setattr(sdk, "Context", locked)
    session = Session()
    session.invoke(scripted(), thread="T")
    lineage = session.lineage(thread="T")
    assert locked.failures == 0
    assert not reasons(session.handler)
    assert len(lineage.steps) == expected_steps()


def test_gaps_are_recorded_after_everything_else(monkeypatch: pytest.MonkeyPatch):
    lost = cid_of("b\n")
    failing(monkeypatch, "add_data_statement", ERRORS[0], lambda cids, **_: named(lost, cids))
    described: list[str] = []
    real = sdk.add_metadata_statement

    def add_metadata_statement(subject: Any, metadata: str, **more: Any) -> Any:
        described.append(metadata)
        return real(subject, metadata, **more)

    monkeypatch.setattr(sdk, "add_metadata_statement", add_metadata_statement)
    run()
    assert [json.loads(text)["name"] for text in described[-2:]] == ["gaps", "run seal"]
