"""The recorder where threads end, cannot be had, or belong to several handlers."""

import os
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from eqty_lineage.deepagents import EqtyDeepAgentsHandler, recover
from eqty_lineage.deepagents.facts import Asset, Computation
from eqty_lineage.deepagents.recording import journal as journals
from eqty_lineage.deepagents.recording import recorder, sdk
from eqty_lineage.deepagents.recording.journal import Journal
from eqty_lineage.deepagents.recording.recorder import BackgroundRecorder
from support.lineage import Lineage
from support.recording import FakeStore, Outcomes, Recording, asset, written
from support.sdk import new_context, run_in_process

LEFT_OPEN = """
import sys
from pathlib import Path
from support.sdk import initialise
initialise(Path.cwd())
from support.agents import agent, asked, write
from eqty_lineage.deepagents import EqtyDeepAgentsHandler
handler = EqtyDeepAgentsHandler(recording=sys.argv[1], wait=sys.argv[2] == "wait")
runnable = agent(write("w", "/a.md", "x"), write("w2", "/b.md", "x"))
stream = runnable.stream(asked(), {"callbacks": [handler]}, stream_mode="updates")
next(stream)
print("the script is over")
"""


@pytest.mark.parametrize("recording", ["background", "inline"])
@pytest.mark.parametrize("wait", ["wait", "no"])
def test_a_process_that_leaves_a_stream_open_ends(tmp_path: Path, recording: str, wait: str):
    """The interpreter closes the stream when no thread can be started any more."""
    ended = threading.Event()

    def run() -> None:
        done = run_in_process(LEFT_OPEN, recording, wait, folder=tmp_path)
        assert "the script is over" in done.stdout
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert ended.wait(60)


def test_waiting_on_the_thread_that_stores_would_be_for_ever_and_is_not_done():
    """A stream nobody reads can be collected there, and its end comes back to the handler."""
    one, answers = BackgroundRecorder(), []
    recorder._WORKER.put(lambda: answers.append(one.flush()))
    assert BackgroundRecorder().flush()
    assert answers == [False]


def test_a_thread_that_cannot_be_started_is_started_later(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "_WORKER", recorder._Worker())
    store, out, one = FakeStore(), Outcomes(), BackgroundRecorder()
    with monkeypatch.context() as patched:

        def refuse(_: threading.Thread) -> None:
            message = "can't start new thread"
            raise RuntimeError(message)

        patched.setattr(threading.Thread, "start", refuse)
        one.submit(asset(store, "a", out))
    assert one.flush()
    assert out.stored == ["a"]


def test_a_busy_recorder_keeps_no_other_waiting_for_all_of_its_work():
    busy, other = BackgroundRecorder(), BackgroundRecorder()
    store, theirs, ours = FakeStore(), Outcomes(), Outcomes()
    stop = threading.Event()

    def refill(number: int = 0) -> None:
        if not stop.is_set():
            job = asset(store, f"a{number}", theirs)
            job.stored = lambda: refill(number + 1)
            busy.submit(job)

    refill()
    other.submit(asset(FakeStore(), "b", ours))
    try:
        assert other.flush(30)
    finally:
        stop.set()
    assert ours.stored == ["b"]
    assert busy.flush()


def test_a_handler_that_does_not_wait_and_is_dropped_has_stored_its_run():
    recording = Recording(wait=False)
    recording.run(written())
    context = recording.context
    del recording
    assert BackgroundRecorder().flush()
    assert Lineage.of(context).history("/a.md") == ["1 write_file"]


@pytest.mark.parametrize("position", range(1, 40, 6))
def test_a_journal_that_cannot_be_written_once_keeps_nothing_from_being_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
):
    write, count = os.write, [0]

    def fail_once(descriptor: int, data: bytes) -> int:
        count[0] += 1
        if count[0] == position:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    recording = Recording(journal=tmp_path / "journal.jsonl")
    monkeypatch.setattr(journals.os, "write", fail_once)
    recording.run(written())
    monkeypatch.undo()
    lineage = Lineage.of(recording.context)
    assert lineage.history("/a.md") == ["1 write_file"]
    assert [why.name for why in recording.handler.gaps.counts] == ["JOURNAL"]
    recording.handler.close()


def test_two_equal_steps_that_were_not_described_are_each_described_as_what_they_were(tmp_path: Path):
    context = new_context()
    store = sdk.ContextStore(sdk.Target.of(context.id))
    given, made = (
        Asset(sdk.cid_of(data), sdk.metadata_json({"name": "x", "assetType": "Dataset"}), data) for data in (b"g", b"m")
    )
    runs = [str(uuid.uuid4()) for _ in range(2)]
    steps = [
        Computation(
            (given.cid,),
            (made.cid,),
            sdk.metadata_json({"name": "search", "computation_type": "tool", "run_id": run, "sequence": number}),
            "search",
            f"urn:uuid:{run}",
        )
        for number, run in enumerate(runs)
    ]
    journal = Journal(tmp_path / "journal.jsonl")
    for one in (given, made):
        journal.asset(str(context.id), one)
        assert one.data is not None
        store.keep(one.cid, one.data)
        store.register([one.cid])
        store.describe(one.cid, one.metadata)
    for step in steps:
        journal.computation(str(context.id), step)
        store.compute(step)
    os.close(journal._descriptor)
    assert recover(tmp_path / "journal.jsonl").computations == 2
    manifest = Lineage.exported(context)
    on = {
        statement["@id"]: statement["executedOn"]
        for statement in manifest.manifest["statements"].values()
        if statement["@type"] == "ComputationRegistration"
    }
    assert len(on) == 2
    assert {on[step.id]: step.fields["run_id"] for step in manifest.steps} == {f"urn:uuid:{run}": run for run in runs}


def test_after_a_journal_that_had_to_be_kept_there_is_another(monkeypatch: pytest.MonkeyPatch):
    recording = Recording(journal=True)
    with monkeypatch.context() as patched:

        def refuse(*_: Any, **__: Any) -> None:
            message = "disk full"
            raise RuntimeError(message)

        patched.setattr(sdk, "add_metadata_statement", refuse)
        recording.run(written())
    recording.handler.close()
    kept = [path for path, journal in journals._OPEN.items() if not journal.is_open and path.exists()]
    assert kept
    again = EqtyDeepAgentsHandler(journal=True)
    again.close()
    for path in kept:
        path.unlink()


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_process_without_a_standard_error_waits_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stream: str | None
):
    closed = (tmp_path / "x").open("w")
    closed.close()
    recording = Recording()
    monkeypatch.setattr(sys, "stderr", None if stream is None else closed)
    recording.run(written())
    monkeypatch.undo()
    assert recording.handler.stats.queued == 0
    assert not recording.handler.gaps.counts
