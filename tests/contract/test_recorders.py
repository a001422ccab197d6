"""What both recorders promise, shown with stores that are not the SDK's; and what only the background one has to."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eqty_lineage.deepagents.recording import batches, process, recorder
from eqty_lineage.deepagents.recording.batches import BATCH
from eqty_lineage.deepagents.recording.recorder import BackgroundRecorder, InlineRecorder, Recorder
from support.recording import FakeStore, Outcomes, PanicException, asset, computation, other


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    monkeypatch.setattr(recorder, "_LINGER", 0)


@pytest.fixture(params=[BackgroundRecorder, InlineRecorder])
def recording(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    one = request.param()
    yield one
    one.close()


def submit(recording: Recorder, *jobs: Any) -> None:
    """Hand jobs over as one callback does: all under the lock, then once without it."""
    for job in jobs:
        recording.submit(job)
    recording.settle()


@pytest.fixture
def held() -> Iterator[Callable[[], None]]:
    """The recording thread has something else to do until it is let go, so that what is submitted makes one batch."""
    gate = threading.Event()
    recorder._WORKER.put(gate.wait)
    yield gate.set
    gate.set()


# --- order


def test_what_is_submitted_is_stored_in_that_order(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    for number in range(5):
        submit(recording, asset(store, f"a{number}", out), computation(store, f"c{number}", out, f"a{number}"))
    assert recording.flush()
    assert store.made("compute") == [(f"c{number}", f"a{number}") for number in range(5)]
    assert [one for one in out.stored if one.startswith("c")] == [f"c{number}" for number in range(5)]
    assert out.failed == []


def test_an_asset_is_stored_before_what_uses_it(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    submit(recording, asset(store, "a", out), computation(store, "c", out, "a"))
    assert recording.flush()
    assert [kind for kind, _ in store.calls] == ["keep", "register", "describe", "compute", "describe"]
    assert store.calls[-1] == ("describe", "id of c")


def test_stores_take_turns_in_the_order_submitted(recording: Recorder):
    one, two, out = FakeStore("one"), FakeStore("two"), Outcomes()
    submit(
        recording,
        asset(one, "a", out),
        computation(two, "b", out),
        asset(one, "c", out),
    )
    assert recording.flush()
    assert out.stored == ["a", "b", "c"]
    assert one.made("register") == [("a",), ("c",)]
    assert two.made("compute") == [("b",)]


def test_two_threads_that_submit_lose_nothing(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    lock = threading.Lock()

    def work(name: str) -> None:
        for number in range(50):
            with lock:
                recording.submit(computation(store, f"{name}{number}", out))
            recording.settle()

    threads = [threading.Thread(target=work, args=(name,)) for name in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recording.flush()
    for name in "xy":
        made = [one for (one,) in store.made("compute") if one.startswith(name)]
        assert made == [f"{name}{number}" for number in range(50)]


# --- batches


def test_one_data_statement_names_a_whole_batch(recording: Recorder, held: Callable[[], None]):
    store, out = FakeStore(), Outcomes()
    submit(
        recording,
        asset(store, "a", out),
        asset(store, "b", out),
        computation(store, "c", out, "a", "b"),
        asset(store, "d", out),
    )
    held()
    assert recording.flush()
    assert store.made("register") == [("a", "b", "d")]
    # the assets of a batch come before its computations
    assert out.stored == ["a", "b", "d", "c"]


def test_a_cid_is_named_once_in_a_batch(recording: Recorder, held: Callable[[], None]):
    store, out = FakeStore(), Outcomes()
    submit(recording, asset(store, "a", out), asset(store, "a", out))
    held()
    assert recording.flush()
    assert store.made("register") == [("a",)]
    assert store.made("describe") == ["a", "a"]


def test_what_stands_alone_has_a_data_statement_to_itself(recording: Recorder, held: Callable[[], None]):
    store, out = FakeStore(), Outcomes()
    submit(
        recording,
        asset(store, "a", out),
        asset(store, "file", out, alone=True),
        asset(store, "b", out),
        asset(store, "other file", out, alone=True),
    )
    held()
    assert recording.flush()
    assert store.made("register") == [("a", "b"), ("file",), ("other file",)]


def test_a_batch_is_no_longer_than_it_may_be(recording: Recorder, held: Callable[[], None]):
    store, out = FakeStore(), Outcomes()
    submit(recording, *(asset(store, f"a{number}", out) for number in range(BATCH + 5)))
    held()
    assert recording.flush()
    assert [len(named) for named in store.made("register")] == [BATCH, 5]


def test_content_is_stored_before_it_is_named(recording: Recorder, held: Callable[[], None]):
    store, out = FakeStore(), Outcomes()
    submit(recording, asset(store, "a", out), asset(store, "b", out), asset(store, "known", out, data=False))
    held()
    assert recording.flush()
    assert [kind for kind, _ in store.calls[:3]] == ["keep", "keep", "register"]
    assert store.made("keep") == ["a", "b"]


# --- faults


@pytest.mark.parametrize("kind", ["keep", "register", "describe", "compute"])
@pytest.mark.parametrize("error", [RuntimeError("locked"), PanicException("panicked")])
def test_what_fails_once_is_tried_again_with_what_comes_next(
    recording: Recorder, held: Callable[[], None], kind: str, error: BaseException
):
    store, out = FakeStore(), Outcomes()
    store.faults[kind] = [error]
    submit(recording, asset(store, "a", out), computation(store, "b", out, "a"))
    held()
    submit(recording, computation(store, "c", out))
    assert recording.flush()
    assert out.failed == []
    assert out.stored == ["a", "b", "c"]
    assert store.made("compute") == [("b", "a"), ("c",)]
    assert sorted(store.made("describe")) == ["a", "id of b", "id of c"]


def test_what_fails_waits_for_the_next_batch_with_all_behind_it_and_nobody_is_told(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.broken["compute"] = RuntimeError("locked")
    submit(recording, asset(store, "a", out), computation(store, "b", out, "a"), computation(store, "c", out))
    drained(recording)
    assert out.stored == ["a"]
    assert out.failed == []
    assert recording.queued == 2
    del store.broken["compute"]
    submit(recording, computation(store, "d", out))
    drained(recording)
    assert out.stored == ["a", "b", "c", "d"]
    assert recording.queued == 0


def drained(recording: Recorder) -> None:
    """Let the recording thread get through what it was told to do, without the last attempts of a flush."""
    if isinstance(recording, BackgroundRecorder):
        done = threading.Event()
        recorder._WORKER.put(done.set)
        assert done.wait(30)


@pytest.mark.parametrize("error", [RuntimeError("disk full"), PanicException("panicked")])
def test_what_can_never_be_stored_is_given_up_at_a_flush_told_once_and_the_rest_is_stored(
    recording: Recorder, error: BaseException
):
    store, out = FakeStore(), Outcomes()
    store.broken["b"] = error
    submit(recording, asset(store, "a", out), computation(store, "b", out, "a"), computation(store, "c", out))
    assert recording.flush()
    assert out.failed == [("b", type(error).__name__)]
    assert out.stored == ["a", "c"]
    assert recording.queued == 0
    assert recording.flush()
    assert len(out.failed) == 1


@pytest.mark.parametrize("kind", ["keep", "register", "describe"])
def test_an_asset_that_can_never_be_stored_costs_only_itself(recording: Recorder, held: Callable[[], None], kind: str):
    store, out = FakeStore(), Outcomes()
    store.broken[kind, "bad"] = RuntimeError("no")
    submit(recording, asset(store, "a", out), asset(store, "bad", out), asset(store, "z", out))
    held()
    assert recording.flush()
    assert out.failed == [("bad", "RuntimeError")]
    assert sorted(out.stored) == ["a", "z"]


def test_a_step_that_was_done_is_not_done_again(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.faults["describe", "a"] = [RuntimeError("locked")] * 3
    store.faults["describe", "id of b"] = [RuntimeError("locked")] * 3
    submit(recording, asset(store, "a", out), computation(store, "b", out, "a"))
    assert recording.flush()
    assert out.failed == []
    assert store.made("keep") == ["a"]
    assert store.made("register") == [("a",)]
    assert store.made("compute") == [("b", "a")]


def test_three_in_a_row_that_cannot_be_stored_mean_that_the_store_is_down(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.broken["compute"] = RuntimeError("down")
    submit(recording, *(computation(store, f"c{number}", out) for number in range(10)))
    assert recording.flush()
    assert [name for name, _ in out.failed] == [f"c{number}" for number in range(10)]
    assert recording.queued == 0
    assert [store.tried[f"c{number}"] > 0 for number in range(10)] == [True] * 3 + [False] * 7


def test_two_in_a_row_do_not(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    for name in ("c0", "c1", "c3", "c4", "c6"):
        store.broken[name] = RuntimeError("no")
    submit(recording, *(computation(store, f"c{number}", out) for number in range(8)))
    assert recording.flush()
    assert out.stored == ["c2", "c5", "c7"]
    assert [name for name, _ in out.failed] == ["c0", "c1", "c3", "c4", "c6"]


def test_after_the_store_came_back_everything_is_stored_again(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.broken["compute"] = RuntimeError("down")
    submit(recording, *(computation(store, f"c{number}", out) for number in range(5)))
    assert recording.flush()
    store.broken.clear()
    submit(recording, computation(store, "later", out))
    assert recording.flush()
    assert out.stored == ["later"]


def test_another_step_that_fails_is_told_once_too(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.broken["gaps"] = RuntimeError("no")
    submit(recording, other(store, "gaps", out), other(store, "seal", out))
    assert recording.flush()
    assert out.failed == [("gaps", "RuntimeError")]
    assert store.made("describe") == ["seal"]


def test_a_stall_is_said_once(recording: Recorder, caplog: pytest.LogCaptureFixture):
    store, out = FakeStore(), Outcomes()
    store.faults["compute"] = [RuntimeError("locked\nand a long stack")] * 4
    for number in range(3):
        submit(recording, computation(store, f"c{number}", out))
        drained(recording)
    assert recording.flush()
    said = [record.getMessage() for record in caplog.records if "stalled" in record.getMessage()]
    assert said == ["storing lineage stalled and will be tried again: RuntimeError: locked"]


# --- ends


def test_a_flush_of_nothing_is_done(recording: Recorder):
    assert recording.flush()
    assert recording.flush(timeout=10)


def test_seconds_are_counted(recording: Recorder):
    assert recording.seconds == 0
    store, out = FakeStore(), Outcomes()
    submit(recording, asset(store, "a", out))
    assert recording.flush()
    assert recording.seconds > 0


def test_close_stores_what_is_there_and_takes_no_more(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    submit(recording, computation(store, "before", out))
    assert recording.close()
    submit(recording, computation(store, "after", out))
    assert recording.flush()
    assert out.stored == ["before"]
    assert recording.queued == 0


def test_closing_twice_is_closing(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    submit(recording, computation(store, "c", out))
    assert recording.close()
    assert recording.close()
    assert out.stored == ["c"]


def test_an_orphan_records_nothing_and_waits_for_nothing(recording: Recorder, monkeypatch: pytest.MonkeyPatch):
    store, out = FakeStore(), Outcomes()
    orphaned = threading.Event()
    orphaned.set()
    monkeypatch.setattr(process, "_orphan", orphaned)
    submit(recording, computation(store, "c", out))
    assert not recording.flush()
    assert not recording.close()
    orphaned.clear()
    assert store.calls == []
    assert recording.queued == 0


# --- the background recorder


@pytest.fixture
def background() -> Iterator[BackgroundRecorder]:
    one = BackgroundRecorder()
    yield one
    one.close()


def test_submitting_waits_for_nothing(background: BackgroundRecorder):
    store, out = FakeStore(), Outcomes()
    store.open.clear()
    submit(background, *(computation(store, f"c{number}", out) for number in range(3)))
    assert out.stored == []
    assert background.queued == 3
    store.open.set()
    assert background.flush()
    assert out.stored == ["c0", "c1", "c2"]


def test_a_flush_says_when_it_was_not_done_in_time_and_storing_goes_on(background: BackgroundRecorder):
    store, out = FakeStore(), Outcomes()
    store.open.clear()
    submit(background, computation(store, "c", out))
    assert background.flush(timeout=0.01) is False
    assert background.close(timeout=0.01) is False
    store.open.set()
    assert background.flush()
    assert out.stored == ["c"]


def test_a_flush_that_has_little_time_does_not_help_with_what_hangs(background: BackgroundRecorder):
    store, out = FakeStore(), Outcomes()
    hangs = threading.Event()

    def describe(subject: str, metadata: str) -> None:
        hangs.wait(30)
        FakeStore.describe(store, subject, metadata)

    store.describe = describe
    submit(background, *(asset(store, f"a{number}", out) for number in range(4)))
    flushed: list[bool] = []
    waiter = threading.Thread(target=lambda: flushed.append(background.flush(timeout=0.2)), daemon=True)
    waiter.start()
    waiter.join(20)
    assert flushed == [False]
    hangs.set()
    assert background.flush()
    assert sorted(out.stored) == [f"a{number}" for number in range(4)]


def test_whoever_waits_long_is_told_how_much_is_left(background: BackgroundRecorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "_QUIET", 0.01)
    monkeypatch.setattr(recorder, "_TICK", 0.01)
    store, out, told = FakeStore(), Outcomes(), []
    store.open.clear()
    submit(background, computation(store, "c1", out), computation(store, "c2", out))

    def waiting(left: int) -> None:
        told.append(left)
        if len(told) == 2:
            store.open.set()

    assert background.flush(waiting=waiting)
    assert told[:2] == [2, 2]


def test_whoever_waits_for_a_moment_is_told_nothing(background: BackgroundRecorder):
    told: list[int] = []
    store, out = FakeStore(), Outcomes()
    submit(background, computation(store, "c", out))
    assert background.flush(waiting=told.append)
    assert told == []


def test_a_full_queue_waits_and_drops_nothing():
    store, out = FakeStore(), Outcomes()
    background = BackgroundRecorder(queue_size=4)
    store.open.clear()
    over = threading.Event()

    def work() -> None:
        for number in range(40):
            submit(background, computation(store, f"c{number}", out))
        over.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert not over.wait(0.3), "nothing held it back"
    assert background.queued <= 5
    store.open.set()
    assert over.wait(60)
    assert background.close()
    assert out.stored == [f"c{number}" for number in range(40)]
    assert out.failed == []


def test_a_queue_that_stays_full_because_the_store_is_down_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "_FULL", 0.05)
    store, out = FakeStore(), Outcomes()
    store.broken["compute"] = RuntimeError("down")
    background = BackgroundRecorder(queue_size=4)
    for number in range(12):
        submit(background, computation(store, f"c{number}", out))
    assert background.queued <= 5
    assert background.close()
    assert [name for name, _ in out.failed] == [f"c{number}" for number in range(12)]


def test_all_is_stored_on_one_thread_and_one_that_waits(background: BackgroundRecorder):
    store, out = FakeStore(), Outcomes()
    submit(background, *(asset(store, f"a{number}", out) for number in range(60)))
    assert background.flush()
    assert store.threads <= {"eqty-lineage-recorder", threading.current_thread().name}
    assert "eqty-lineage-recorder" in store.threads


def test_two_recorders_do_not_wait_for_each_others_lost_jobs(background: BackgroundRecorder):
    bad, good, out = FakeStore(), FakeStore(), Outcomes()
    bad.broken["compute"] = RuntimeError("no")
    other_one = BackgroundRecorder()
    submit(background, computation(bad, "bad", out))
    submit(other_one, computation(good, "good", out))
    assert other_one.close()
    assert out.stored == ["good"]
    assert background.flush()
    assert out.failed == [("bad", "RuntimeError")]


def test_a_recording_thread_that_died_is_replaced(background: BackgroundRecorder, monkeypatch: pytest.MonkeyPatch):
    store, out = FakeStore(), Outcomes()
    submit(background, computation(store, "before", out))
    assert background.flush()
    dead = kill_recording_thread(monkeypatch)
    submit(background, computation(store, "after", out))
    assert background.flush()
    assert out.stored == ["before", "after"]
    assert recorder._WORKER._thread is not dead


def test_a_recording_thread_that_dies_while_someone_waits_is_replaced_too(
    background: BackgroundRecorder, monkeypatch: pytest.MonkeyPatch
):
    store, out = FakeStore(), Outcomes()
    dying = threading.Event()

    def die() -> None:
        dying.wait(30)
        raise SystemExit

    # what is raised inside a task is caught; this kills the thread with the flush queued behind it
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(recorder.logger, "exception", lambda *_: _exit())
    recorder._WORKER.put(die)
    submit(background, computation(store, "c", out))
    threading.Timer(0.2, dying.set).start()
    assert background.flush(timeout=60)
    assert out.stored == ["c"]


def _exit() -> None:
    raise SystemExit


def kill_recording_thread(monkeypatch: pytest.MonkeyPatch) -> threading.Thread:
    thread = recorder._WORKER._thread
    assert thread is not None
    with monkeypatch.context() as patched:
        patched.setattr(threading, "excepthook", lambda _: None)
        patched.setattr(recorder.logger, "exception", lambda *_: _exit())
        recorder._WORKER.put(_exit)
        thread.join(30)
    assert not thread.is_alive()
    return thread


# --- who helps


def wait_for(over: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if over():
            return
        time.sleep(0.01)
    pytest.fail("did not come about within 30 s")


class Slow(FakeStore):
    """A store that takes its time with descriptions of computations."""

    def describe(self, subject: str, metadata: str) -> None:
        if subject.startswith("id of"):
            time.sleep(0.02)
        super().describe(subject, metadata)


class Meeting(FakeStore):
    """A store whose descriptions wait for each other, so that one thread alone gives up."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self._barrier = threading.Barrier(parties)

    def describe(self, subject: str, metadata: str) -> None:
        self._barrier.wait(30)
        super().describe(subject, metadata)


def test_helpers_store_while_the_agent_only_waits_for_its_model(held: Callable[[], None]):
    recording, store, out = BackgroundRecorder(), Meeting(2), Outcomes()
    recording.note_agent(works=True)
    submit(recording, asset(store, "a", out), asset(store, "b", out))
    recording.note_agent(works=False)
    held()
    wait_for(lambda: len(out.stored) == 2)
    assert out.failed == []


def test_helpers_store_while_somebody_waits_for_the_end():
    recording, store, out = BackgroundRecorder(), Meeting(2), Outcomes()
    recording.note_agent(works=True)
    submit(recording, asset(store, "a", out), asset(store, "b", out))
    assert recording.flush()
    recording.note_agent(works=False)
    assert len(out.stored) == 2
    assert out.failed == []


@pytest.mark.parametrize("whose", ["its own", "another"])
def test_nobody_helps_while_an_agent_of_the_process_works(held: Callable[[], None], whose: str):
    same = whose == "its own"
    recording, store, out = BackgroundRecorder(), Slow(), Outcomes()
    busy = recording if same else BackgroundRecorder()
    busy.note_agent(works=True)
    submit(recording, *(computation(store, f"c{number}", out) for number in range(20)))
    recording.note_agent(works=same)
    held()
    wait_for(lambda: len(out.stored) == 20)
    assert store.threads == {"eqty-lineage-recorder"}
    busy.note_agent(works=False)


def test_a_recorder_that_is_gone_keeps_nobody_from_helping():
    gone = BackgroundRecorder()
    gone.note_agent(works=True)
    del gone
    gc.collect()
    recording, store, out = BackgroundRecorder(), Meeting(2), Outcomes()
    submit(recording, asset(store, "a", out), asset(store, "b", out))
    recording.note_agent(works=False)
    wait_for(lambda: len(out.stored) == 2)


def test_what_needs_all_before_it_waits_for_the_descriptions_of_computations(recording: Recorder):
    store, out = Slow(), Outcomes()
    jobs = [computation(store, f"c{number}", out) for number in range(6)]
    submit(recording, *jobs, other(store, "seal", out))
    assert recording.flush()
    assert len(store.made("describe")) == 7
    assert store.made("describe")[-1] == "seal"


def test_a_computation_whose_description_fails_is_described_later_and_not_stated_twice(recording: Recorder):
    store, out = FakeStore(), Outcomes()
    store.faults["id of c0"] = [OSError("once")]
    submit(recording, computation(store, "c0", out), computation(store, "c1", out))
    assert recording.flush()
    assert store.made("compute") == [("c0",), ("c1",)]
    assert sorted(store.made("describe")) == ["id of c0", "id of c1"]
    assert out.stored == ["c0", "c1"]
