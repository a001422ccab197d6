"""Whatever the SDK, the disk or the process does: the agent answers the same, and what is recorded is right."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from eqty_lineage.deepagents.facts import Why
from eqty_lineage.deepagents.recording import batches, recorder, sdk
from support.agents import agent, call, reasons
from support.recording import SDK_CALLS, Export, Faults, PanicException, Recording, edit, raising, record, words, write
from support.sdk import cid_of, run_in_process

LOCKED = RuntimeError("(code: 5) database is locked")
PANIC = PanicException("called `Option::unwrap()` on a `None` value")
CONTENT = "one\n" + "x" * 2_000


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    return Faults(monkeypatch)


@pytest.fixture(params=["background", "inline"])
def recording(request: pytest.FixtureRequest) -> Recording:
    return Recording(recording=request.param)


@pytest.fixture
def error(recording: Recording) -> BaseException:
    """One recorder meets refusals and the other panics; tests/contract has both meet both."""
    return PANIC if isinstance(recording.handler._recorder, recorder.BackgroundRecorder) else LOCKED


class Talk:
    """Two turns on one file, with or without somebody who records them."""

    def __init__(self) -> None:
        self._saver = InMemorySaver()

    def first(self) -> Any:
        return agent(write("w", "/a.md", CONTENT), edit("e1", "/a.md", "one", "two"), checkpointer=self._saver)

    def second(self) -> Any:
        return agent(edit("e2", "/a.md", "two", "three"), checkpointer=self._saver)


@pytest.fixture(scope="module")
def undisturbed() -> tuple[list[Any], Export]:
    talk, recording = Talk(), Recording()
    recording.run(talk.first(), thread="t")
    recording.run(talk.second(), thread="t")
    return [words(answer) for answer in recording.answers], recording.export("t")


def versions(export: Export, call_id: str, role: str) -> list[str]:
    uses = export.tool(call_id).fields.get("files", [])
    return [use["cid"].removeprefix("urn:cid:") for use in uses if use["role"] == role]


def text(word: str) -> str:
    return cid_of(CONTENT.replace("one", word))


def assert_later_edit_is_right(export: Export) -> None:
    """The edit of the turn after the fault: what it replaced and what it made are what the file really held."""
    assert versions(export, "e2", "replaced") == [text("two")]
    assert versions(export, "e2", "wrote") == [text("three")]
    assert text("two") in export.tool("e2").inputs
    assert text("three") in export.tool("e2").outputs
    assert export.blobs[text("three")] == CONTENT.replace("one", "three").encode()


def assert_nothing_false(export: Export, whole: Export) -> None:
    """Every computation recorded is one of the undisturbed run, with no other assets than that one's."""
    known = {step.named for step in whole.steps}
    assert {step.named for step in export.steps if step.fields} <= known
    assert {cid for cid, *_ in export.assets()} <= {cid for cid, *_ in whole.assets()} | set(
        export.called("run seal") + export.called("gaps")
    )


@pytest.mark.parametrize("name", SDK_CALLS)
def test_a_call_that_fails_once_costs_nothing(
    recording: Recording, faults: Faults, undisturbed: tuple[list[Any], Export], name: str, error: BaseException
):
    talk = Talk()
    faults.before[name] = raising(error, after=3, times=1)
    recording.run(talk.first(), thread="t")
    assert faults.counted[name] > 4
    recording.run(talk.second(), thread="t")
    answers, whole = undisturbed
    assert [words(answer) for answer in recording.answers] == answers
    export = recording.export("t")
    assert export.named() == whole.named()
    assert {one[:3] for one in export.assets() if one[2] != "run seal"} == {
        one[:3] for one in whole.assets() if one[2] != "run seal"
    }
    assert export.dangling() == []
    assert not len(recording.handler.gaps)
    assert recording.handler.stats.failed == 0


@pytest.mark.parametrize("name", SDK_CALLS)
def test_a_call_that_fails_for_a_whole_run_costs_that_run_and_no_later_one(
    recording: Recording, faults: Faults, undisturbed: tuple[list[Any], Export], name: str, error: BaseException
):
    talk = Talk()
    faults.before[name] = raising(error, after=3)
    recording.run(talk.first(), thread="t")
    lost = recording.handler.stats.failed
    assert lost > 0
    assert recording.handler.gaps.counts[Why.NOT_STORED] == lost
    assert whole_computations(recording.export("t")) == []
    faults.before.clear()
    recording.run(talk.second(), thread="t")
    answers, whole = undisturbed
    assert [words(answer) for answer in recording.answers] == answers
    assert recording.handler.stats.failed == lost
    export = recording.export("t")
    assert_later_edit_is_right(export)
    assert_nothing_false(export, whole)


def whole_computations(export: Export) -> list[str]:
    """What dangles, but for computations that could be stated and then not described: the SDK takes nothing back."""
    return [sentence for sentence in export.dangling() if sentence != "('', '') is described 0 times"]


@pytest.mark.parametrize("name", SDK_CALLS)
def test_what_was_lost_in_one_turn_is_no_input_of_the_next(faults: Faults, name: str):
    talk, recording = Talk(), Recording()
    faults.before[name] = raising(LOCKED, after=3)
    recording.run(talk.first(), thread="t")
    faults.before.clear()
    recording.run(talk.second(), thread="t")
    assert whole_computations(recording.export("t")) == []


@pytest.mark.parametrize("after", [5, 25, 45])
def test_a_cid_that_cannot_be_computed_costs_its_callback_and_nothing_false_is_recorded(
    recording: Recording, faults: Faults, undisturbed: tuple[list[Any], Export], after: int, error: BaseException
):
    talk = Talk()
    faults.before["cid"] = raising(error, after=after, times=1)
    recording.run(talk.first(), thread="t")
    assert faults.counted["cid"] > after
    faults.before.clear()
    recording.run(talk.second(), thread="t")
    answers, whole = undisturbed
    assert [words(answer) for answer in recording.answers] == answers
    export = recording.export("t")
    assert export.dangling() == []
    assert_later_edit_is_right(export)
    assert_nothing_false(export, whole)


@pytest.mark.parametrize("name", [*SDK_CALLS, "cid"])
def test_a_call_that_hangs_for_a_second_costs_a_second(
    recording: Recording, faults: Faults, undisturbed: tuple[list[Any], Export], name: str
):
    talk = Talk()
    times = iter([0, 0, 1])
    faults.before[name] = lambda: time.sleep(next(times, 0))
    recording.run(talk.first(), thread="t")
    recording.run(talk.second(), thread="t")
    answers, whole = undisturbed
    assert [words(answer) for answer in recording.answers] == answers
    export = recording.export("t")
    assert export.named() == whole.named()
    assert export.dangling() == []
    assert not len(recording.handler.gaps)


class ReadOnly:
    """A store that an agent's tool breaks, and another heals."""

    def __init__(self, faults: Faults) -> None:
        self.met = threading.Event()
        self.tools = [tool("break_store")(self.break_store), tool("heal_store")(self.heal_store)]
        self._faults = faults

    def break_store(self) -> str:
        """Break it."""
        refused = raising(RuntimeError("(code: 8) attempt to write a readonly database"))

        def refuse() -> None:
            self.met.set()
            refused()

        self._faults.before["any"] = refuse
        return "broken"

    def heal_store(self) -> str:
        """Heal it, once it was missed."""
        assert self.met.wait(30)
        self._faults.before.clear()
        return "healed"


def test_a_store_read_only_for_a_while_gets_all_that_happened_meanwhile(recording: Recording, faults: Faults):
    store = ReadOnly(faults)
    runnable = agent(
        write("w", "/a.md", "one\n"),
        call("break_store", "b"),
        edit("e1", "/a.md", "one", "two"),
        call("heal_store", "h"),
        edit("e2", "/a.md", "two", "three"),
        tools=store.tools,
    )
    answer = recording.run(runnable)
    assert store.met.is_set()
    export = recording.export()
    assert answer["files"]["/a.md"]["content"] == "three\n"
    assert [versions(export, call_id, "wrote") for call_id in ("w", "e1", "e2")] == [
        [cid_of("one\n")],
        [cid_of("two\n")],
        [cid_of("three\n")],
    ]
    assert export.dangling() == []
    assert not len(recording.handler.gaps)
    assert recording.handler.stats.failed == 0


def test_a_store_read_only_to_the_end_leaves_gaps_and_what_was_before_stands(recording: Recording, faults: Faults):
    store = ReadOnly(faults)
    runnable = agent(
        write("w", "/a.md", "one\n"), call("break_store", "b"), edit("e1", "/a.md", "one", "two"), tools=store.tools
    )
    recording.run(runnable)
    faults.before.clear()
    assert reasons(recording.handler) >= {"NOT_STORED"}
    export = recording.export()
    assert export.dangling() == []
    recording.run(agent(write("w2", "/b.md", "later\n")))
    assert recording.export().tool("w2").outputs
    assert recording.export().dangling() == []


LOCK = """
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1])
held.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
time.sleep(1)
held.rollback()
"""


def test_a_database_that_another_process_locks_is_waited_for(recording: Recording):
    database = sdk.store_folder_once() / "graphs.db"
    others: list[subprocess.Popen[str]] = []

    @tool
    def lock() -> str:
        """Lock the store for a second."""
        others.append(subprocess.Popen([sys.executable, "-c", LOCK, database], stdout=subprocess.PIPE, text=True))
        return str(others[0].stdout.readline())

    recording.run(agent(call("lock", "l"), write("w", "/a.md", "one\n"), tools=[lock]))
    assert others[0].communicate(timeout=60) == ("", None)
    export = recording.export()
    assert versions(export, "w", "wrote") == [cid_of("one\n")]
    assert export.dangling() == []
    assert not len(recording.handler.gaps)


@pytest.mark.parametrize("left", ["", "cut o"])
def test_content_that_a_full_disk_left_cut_off_is_written_anew(recording: Recording, left: str):
    content = f"cut off {recording.context.id} {left!r}\n"
    blob = sdk.store_folder_once() / "blobs" / cid_of(content)
    blob.write_text(left)
    recording.run(agent(write("w", "/a.md", content)))
    assert recording.export().blobs[cid_of(content)] == content.encode()
    assert recording.export().dangling() == []


def same(blob: bytes, metadata: str) -> bool:
    try:
        return bool(json.loads(blob) == json.loads(metadata))
    except ValueError:
        return False


def test_metadata_that_a_full_disk_left_cut_off_is_written_anew(recording: Recording):
    path = f"/ä {recording.context.id}.md"
    first = Recording()
    first.run(agent(write("w", path, "same\n")))
    export = first.export()
    metadata = next(one[3] for one in export.assets() if one[2] == path)
    (cid,) = [cid for cid, blob in export.blobs.items() if blob.startswith(b"{") and same(blob, metadata)]
    blob = sdk.store_folder_once() / "blobs" / cid
    whole = blob.read_bytes()
    for left in (b"", whole[:-3]):
        blob.write_bytes(left)
        one = Recording(recording.handler)
        one.run(agent(write("w", path, "same\n")))
        assert blob.read_bytes() == whole
        assert one.export().dangling() == []


def test_a_whole_blob_is_left_alone(recording: Recording):
    content = f"whole {recording.context.id}\n"
    recording.run(agent(write("w", "/a.md", content)))
    blob = sdk.store_folder_once() / "blobs" / cid_of(content)
    before = blob.stat()
    second = Recording(recording.handler)
    second.run(agent(write("w", "/a.md", content)))
    assert (blob.stat().st_ino, blob.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_recording_thread_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch):
    recording = Recording(recording="background")
    recording.run(agent(write("w1", "/a.md", "one\n")))

    def die() -> None:
        raise SystemExit

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(recorder.logger, "exception", lambda *_: die())
    thread = recorder._WORKER._thread
    recorder._WORKER.put(die)
    thread.join(30)
    assert not thread.is_alive()
    recording.run(agent(write("w2", "/a.md", "two\n")))
    assert versions(recording.export(), "w2", "wrote") == [cid_of("two\n")]
    assert not len(recording.handler.gaps)


# --- ends


def test_closing_twice_is_closing(recording: Recording):
    recording.run(agent(write("w", "/a.md", "one\n")))
    assert recording.handler.close()
    assert recording.handler.close()
    assert recording.export().dangling() == []


def test_a_run_after_close_is_not_recorded_and_not_disturbed(recording: Recording):
    recording.run(agent(write("w1", "/a.md", "one\n")))
    before = recording.export()
    assert recording.handler.close()
    answer = recording.run(agent(write("w2", "/a.md", "two\n")))
    assert answer["files"]["/a.md"]["content"] == "two\n"
    assert recording.export().statements == before.statements
    assert recording.handler.flush()


def test_a_handler_closed_in_the_middle_of_a_run_disturbs_nothing(recording: Recording):
    @tool
    def close() -> str:
        """Close the recording."""
        return str(recording.handler.close())

    answer = recording.run(
        agent(write("w", "/a.md", "one\n"), call("close", "c"), edit("e", "/a.md", "one", "two"), tools=[close])
    )
    assert answer["files"]["/a.md"]["content"] == "two\n"
    assert [message.content for message in answer["messages"] if message.type == "tool"][1] == "True"
    assert recording.export().dangling() == []


def test_a_constructor_after_close_works(recording: Recording):
    recording.handler.close()
    _, export = record(agent(write("w", "/a.md", "one\n")))
    assert export.tool("w").outputs


# --- processes

FORK = """
import os, sys, signal
from pathlib import Path
from support.sdk import initialise
initialise(Path(sys.argv[1]))
import logging
logging.basicConfig(stream=sys.stdout, format="LOG %(process)d %(message)s")
from support.agents import agent, asked
from support.recording import Recording, write
from eqty_lineage.deepagents import EqtyDeepAgentsHandler
recording = Recording(recording=sys.argv[2])
recording.run(agent(write("w", "/a.md", "one\\n")))
before = recording.export().statements
child = os.fork()
if child == 0:
    signal.alarm(50)  # a child that hangs dies of it
    answer = recording.run(agent(write("w", "/b.md", "two\\n")), flush=False)
    mine = EqtyDeepAgentsHandler()
    other = agent(write("w", "/c.md", "three\\n")).invoke(asked(), {"callbacks": [mine]})
    print("CHILD", answer["files"]["/b.md"]["content"].strip(), other["files"]["/c.md"]["content"].strip())
    print("CHILD", recording.handler.flush(), mine.flush(), recording.handler.close(), recording.handler.stats.queued)
    sys.stdout.flush()
    sys.exit(0)  # by way of atexit
_, status = os.waitpid(child, 0)
print("STATUS", status)
print("SAME", recording.export().statements == before)
recording.run(agent(write("w", "/d.md", "four\\n")))
after = recording.export()
print("PARENT", len(after.statements) > len(before), after.dangling(), len(recording.handler.gaps))
"""


@pytest.mark.parametrize("kind", ["background", "inline"])
def test_a_child_forked_after_the_sdk_was_used_records_nothing_says_so_once_and_ends(tmp_path: Path, kind: str):
    ended = run_in_process(FORK, str(tmp_path), kind, folder=tmp_path)
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0, ended.stderr
    assert "STATUS 0" in lines, ended.stderr
    assert [line for line in lines if line.startswith("CHILD")] == ["CHILD two three", "CHILD False False False 0"]
    assert "SAME True" in lines
    assert "PARENT True [] 0" in lines
    assert len([line for line in lines if line.startswith("LOG") and "forked" in line]) == 1


SEVERAL = """
import os, sys
from pathlib import Path
from support.agents import agent
from support.recording import Recording, edit, write
from support.sdk import initialise
import random, time
children = []
for number in range(3):
    child = os.fork()
    if child:
        children.append(child)
        time.sleep(0.3 if number == 0 else 0)  # the first makes the store
        continue
    try:
        initialise(Path(sys.argv[1]))
        for turn in range(2):
            recording = Recording()
            recording.run(agent(write("w", "/a.md", "the same\\n"), edit("e", "/a.md", "same", f"{number} {turn}")))
            export = recording.export()
            line = f"{len(export.steps)} {export.dangling()} {len(export.seals())} {recording.handler.gaps}\\n"
            os.write(1, line.encode())
    finally:
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
"""


def test_several_processes_on_one_store_lose_nothing(tmp_path: Path):
    _, alone = record(agent(write("w", "/a.md", "the same\n"), edit("e", "/a.md", "same", "1 1")))
    ended = run_in_process(SEVERAL, str(tmp_path), folder=tmp_path)
    assert ended.stdout.splitlines() == [f"{len(alone.steps)} [] 1 Gaps({{}})"] * 6, ended.stderr
