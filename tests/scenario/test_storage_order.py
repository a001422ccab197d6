"""When storing is waited for, how much may wait, and what is told about it."""

import logging
import threading
from typing import Any

import pytest
from langchain_core.tools import tool

from eqty_lineage.deepagents import progress
from eqty_lineage.deepagents.facts import Why
from eqty_lineage.deepagents.recording import recorder
from support.agents import agent, asked, call
from support.recording import Faults, PanicException, Recording, edit, raising, record, words, write, written


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


class Gate:
    """Calls of the SDK wait here until they are let through."""

    def __init__(self, faults: Faults, name: str = "any") -> None:
        self.waiting = threading.Event()
        self._open = threading.Event()
        faults.before[name] = self._pass

    def _pass(self) -> None:
        self.waiting.set()
        assert self._open.wait(60)

    def let_through(self) -> None:
        self._open.set()


@pytest.fixture
def gate(faults: Faults) -> Any:
    one = Gate(faults)
    yield one
    one.let_through()


def edited() -> Any:
    return agent(write("w", "/a.md", "one\n"), edit("e", "/a.md", "one", "two"))


@pytest.mark.parametrize("name", ["keep", "add_data_statement", "add_metadata_statement", "add_computation_statement"])
def test_a_root_ends_in_its_time_when_the_store_hangs_and_says_so(
    faults: Faults, caplog: pytest.LogCaptureFixture, name: str
):
    gate = Gate(faults, name)
    recording = Recording(flush_timeout=0.2, recording="background")
    answer = recording.run(edited(), flush=False)
    assert words(answer) == words(edited().invoke(asked()))
    assert recording.handler.gaps.counts == {Why.NOT_YET: 1}
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert any("storing was not done in time" in message for message in said)
    assert recording.handler.stats.queued > 0
    gate.let_through()
    assert recording.handler.flush()
    export = recording.export()
    assert [step.named[0] for step in export.steps if step.named[1] == "tool"] == ["write_file", "edit_file"]
    assert export.dangling() == []
    assert recording.handler.stats.queued == 0


def test_a_root_waits_for_a_store_that_hangs_where_nothing_bounds_it(gate: Gate):
    recording = Recording(recording="background")
    over = threading.Event()

    def run() -> None:
        recording.run(written(), flush=False)
        over.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert gate.waiting.wait(30)
    assert not over.wait(0.5)
    gate.let_through()
    assert over.wait(60)
    assert recording.handler.stats.queued == 0
    assert not len(recording.handler.gaps)


def test_a_server_does_not_wait_and_the_context_does(gate: Gate):
    recording = Recording(wait=False, recording="background")
    recording.run(written(), flush=False)
    assert recording.handler.stats.queued > 0
    assert recording.handler.flush(timeout=0.01) is False
    threading.Timer(0.2, gate.let_through).start()
    context = recording.handler.context
    assert recording.handler.stats.queued == 0
    assert context.id == recording.context.id


def test_statements_are_made_in_recorded_order():
    _, export = record(edited(), recording="background")
    by_statement = {step.id: step for step in export.steps}
    (seal,) = export.seals()
    made = [by_statement[id_].fields["sequence"] for id_ in seal["statements"] if id_ in by_statement]
    assert len(made) == len(export.steps)
    assert made == sorted(made)


@pytest.mark.parametrize("kind", ["background", "inline"])
def test_a_small_queue_loses_nothing(kind: str):
    _, large = record(edited(), recording=kind)
    recording, small = record(edited(), recording=kind, queue_size=2)
    assert small.named() == large.named()
    assert {one[:3] for one in small.assets() if one[2] != "run seal"} == {
        one[:3] for one in large.assets() if one[2] != "run seal"
    }
    assert not len(recording.handler.gaps)


def test_a_full_queue_makes_the_agent_wait(gate: Gate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "_FULL", 60)
    recording = Recording(queue_size=3, recording="background")
    over = threading.Event()
    thread = threading.Thread(target=lambda: (recording.run(edited()), over.set()), daemon=True)
    thread.start()
    assert gate.waiting.wait(30)
    assert not over.wait(0.5)
    # what one callback records is handed over whole
    assert recording.handler.stats.queued < 40
    gate.let_through()
    assert over.wait(60)
    assert recording.export().tool("e").fields["status"] == "ok"


@pytest.mark.parametrize("kind", ["background", "inline"])
def test_the_figures_say_what_was_recorded(kind: str):
    recording, export = record(edited(), recording=kind)
    stats = recording.handler.stats
    assert stats.events > len(export.steps)
    assert stats.computations == len(export.steps)
    assert stats.assets >= len(export.assets()) - 1
    assert stats.statements == len(export.statements)
    assert stats.queued == 0
    assert stats.failed == 0
    assert stats.stored == stats.computations + stats.assets
    assert stats.callback_seconds > 0
    assert stats.sdk_seconds > 0


def test_statements_are_counted_as_they_are_made():
    seen: list[int] = []

    @tool
    def look() -> str:
        """Look at the figures."""
        seen.append(recording.handler.stats.statements)
        return "looked"

    recording = Recording(recording="inline")
    recording.run(agent(call("look", "l"), tools=[look]))
    assert 0 < seen[0] < recording.handler.stats.statements


def test_the_figures_are_a_copy():
    recording, _ = record(written())
    before = recording.handler.stats
    recording.run(written())
    assert recording.handler.stats.events == 2 * before.events


def test_signatures_count_as_statements(signed: None):
    recording, export = record(agent())
    assert export.of_kind("CredentialRegistration")
    assert recording.handler.stats.statements == len(export.statements)


def test_what_is_given_up_is_counted(faults: Faults):
    recording = Recording(recording="background")
    faults.before["add_computation_statement"] = raising(PanicException)
    recording.run(edited())
    stats = recording.handler.stats
    assert stats.failed >= stats.computations > 0
    assert stats.stored + stats.failed == stats.computations + stats.assets
    assert stats.queued == 0
    assert recording.handler.gaps.counts[Why.NOT_STORED] == stats.failed


# --- the line at a terminal


@pytest.fixture
def slow(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A store so slow that it is worth a word."""
    monkeypatch.setattr(recorder, "_QUIET", 0.05)
    monkeypatch.setattr(recorder, "_TICK", 0.05)
    threading.Timer(1.5, gate.let_through).start()
    return gate


def test_nothing_is_shown_where_nobody_looks(slow: Gate, capfd: pytest.CaptureFixture[str]):
    Recording(recording="background").run(written())
    assert capfd.readouterr().err == ""


def test_a_line_is_shown_where_it_is_asked_for(slow: Gate, capfd: pytest.CaptureFixture[str]):
    Recording(recording="background", progress=True).run(written())
    assert "storing lineage:" in capfd.readouterr().err


def test_a_line_is_shown_at_a_terminal_unless_it_is_switched_off(
    slow: Gate, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    with progress.shown(None) as waiting:
        assert waiting is not None
    with progress.shown(enabled=False) as waiting:
        assert waiting is None
    Recording(recording="background", progress=False).run(written())
    assert capfd.readouterr().err == ""


def test_nothing_is_shown_for_a_short_wait(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "_QUIET", 600)  # however busy the machine is
    Recording(recording="background", progress=True).run(agent(call("write_todos", "t", todos=[]), plan=True))
    assert "storing lineage" not in capfd.readouterr().err
