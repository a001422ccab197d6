"""A job is on disk before its callback returns, and what a killed process had noted is stored by another."""

import json
import logging
import os
import stat
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from eqty_sdk import Context
from langchain_core.callbacks import BaseCallbackHandler

import eqty_lineage.deepagents
from eqty_lineage.deepagents import ConfigurationError, EqtyDeepAgentsHandler
from eqty_lineage.deepagents.recording import batches, journal, sdk
from eqty_lineage.deepagents.recording.journal import recover
from support.agents import agent
from support.recording import Export, Faults, Recording, edit, entries, raising, write, written
from support.sdk import run_in_process

KILLS = 50


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a journal.jsonl"


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setattr(batches, "_PAUSES", (0, 0))
    return Faults(monkeypatch)


def edited() -> Any:
    return agent(write("w", "/a.md", "one\n"), edit("e", "/a.md", "one", "two"))


class Witness(BaseCallbackHandler):
    """Called after the handler under test, looks each time at what is on disk."""

    run_inline = True

    def __init__(self, look: Any) -> None:
        self._look = look

    def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        self._look()

    on_chain_end = on_tool_start = on_tool_end = on_chat_model_start = on_llm_end = on_chain_start


def test_only_its_owner_can_read_it(path: Path):
    handler = EqtyDeepAgentsHandler(journal=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    handler.close()


@pytest.mark.parametrize("kind", ["background", "inline"])
def test_every_job_is_a_line_before_its_callback_returns(path: Path, faults: Faults, kind: str):
    faults.before["keep"] = raising(RuntimeError("nothing is stored for now"))
    recording = Recording(journal=path, recording=kind, wait=False)
    seen: list[tuple[int, int]] = []

    def look() -> None:
        stats = recording.handler.stats
        seen.append((len(entries(path.read_bytes())), stats.assets + stats.computations))

    recording.run(edited(), callbacks=(Witness(look),), flush=False)
    assert len(seen) > 20
    assert seen[-1][0] > 50
    assert all(lines == jobs for lines, jobs in seen)
    faults.before.clear()
    assert recording.handler.close()


def test_it_is_emptied_when_all_in_it_is_stored_and_removed_at_the_end(path: Path):
    recording = Recording(journal=path)
    recording.run(edited())
    assert path.read_bytes() == b""
    assert recording.handler.stats.assets > 0
    assert recording.handler.close()
    assert not path.exists()


def test_it_is_used_again_after_it_was_emptied(path: Path, faults: Faults):
    recording = Recording(journal=path, wait=False)
    recording.run(edited())
    assert path.read_bytes() == b""
    faults.before["keep"] = raising(RuntimeError("nothing is stored for now"))
    recording.run(written("later\n"), flush=False)
    assert len(entries(path.read_bytes())) > 20
    faults.before.clear()
    assert recording.handler.flush()
    assert path.read_bytes() == b""
    recording.handler.close()


def test_it_is_kept_where_something_could_not_be_stored_and_recovered_later(path: Path, faults: Faults):
    recording = Recording(journal=path)
    faults.before["add_metadata_statement"] = raising(RuntimeError("disk full"), after=20, times=3)
    faults.before["keep"] = raising(RuntimeError("disk full"), after=10)
    recording.run(edited())
    assert recording.handler.stats.failed > 0
    recording.handler.close()
    assert path.exists()
    faults.before.clear()
    noted = entries(path.read_bytes())
    done = recover(path)
    assert done.assets + done.computations + done.skipped == len(noted)
    assert not path.exists()
    export = recording.export()
    assert export.dangling() == []
    assert len(export.steps) == recording.handler.stats.computations


def test_by_default_it_lies_beside_the_store_one_for_a_process():
    one, two = EqtyDeepAgentsHandler(journal=True), EqtyDeepAgentsHandler(journal=True)
    folder = sdk.store_folder_once()
    assert folder is not None
    (path,) = folder.glob("lineage-journal-*.jsonl")
    assert str(os.getpid()) in path.name
    one.close()
    assert path.exists()
    two.close()
    assert not path.exists()


def test_a_handler_after_the_last_was_closed_has_one_again():
    for _ in range(2):
        recording = Recording(journal=True)
        recording.run(written())
        assert recording.handler.close()
    assert not list(sdk.store_folder_once().glob("lineage-journal-*.jsonl"))


def test_closing_a_handler_twice_leaves_the_journal_of_another_alone(path: Path):
    one, two = EqtyDeepAgentsHandler(journal=path), Recording(journal=path)
    one.close()
    one.close()
    two.run(written())
    assert path.exists()
    assert two.handler.close()
    assert not path.exists()
    assert not len(two.handler.gaps)


def test_where_the_store_cannot_be_found_the_constructor_asks_for_a_path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "store_folder", lambda: None)
    monkeypatch.setattr(journal, "_OPEN", {})
    with pytest.raises(ConfigurationError, match="path"):
        EqtyDeepAgentsHandler(journal=True)


def test_it_is_forced_to_disk_at_the_end_of_a_run(path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    monkeypatch.setattr(journal.os, "fsync", synced.append)
    monkeypatch.setattr(journal, "_SYNC", 10**9)
    recording = Recording(journal=path)
    recording.run(written())
    assert len(synced) == 1
    monkeypatch.setattr(journal, "_SYNC", 0)
    recording.run(written())
    assert len(synced) > 20
    recording.handler.close()


# --- recovering


def test_recovery_is_offered_by_the_package():
    assert eqty_lineage.deepagents.recover is recover


class Noted:
    """A run of which nothing could be stored, and the journal it left."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self.recording = Recording(journal=path)
        faults.before["any"] = raising(RuntimeError("down"))
        self.recording.run(written())
        faults.before.clear()
        self.recording.handler.close()
        self.lines = path.read_bytes()


@pytest.fixture
def noted(path: Path, faults: Faults) -> Noted:
    return Noted(path, faults)


def steps_in(lines: bytes) -> list[tuple[Any, ...]]:
    found = [json.loads(entry["computation"]["metadata"]) for entry in entries(lines) if "computation" in entry]
    return [(one["name"], one["computation_type"], one["run_id"], one["sequence"]) for one in found]


def assets_in(lines: bytes) -> set[tuple[str, str]]:
    return {
        (
            entry["asset"]["cid"].removeprefix("urn:cid:"),
            json.dumps(json.loads(entry["asset"]["metadata"]), sort_keys=True),
        )
        for entry in entries(lines)
        if "asset" in entry and entry["asset"]["metadata"]
    }


def test_all_of_a_journal_is_recovered_into_the_context_it_was_meant_for(path: Path, noted: Noted):
    assert noted.recording.export().steps == []
    done = recover(path)
    export = noted.recording.export()
    assert [step.identity for step in export.steps] == steps_in(noted.lines)
    recovered = {(cid, metadata) for cid, _, name, metadata in export.assets() if name != "run seal"}
    assert recovered == assets_in(noted.lines)
    assert export.dangling() == []
    assert done.contexts == [noted.recording.context.id]
    (seal,) = export.seals()
    assert {step.id for step in export.steps} <= set(seal["statements"]) <= export.statements.keys()
    # what a payload refers to may be an asset of its own as well
    contents = sum(1 for entry in entries(noted.lines) if "asset" in entry and not entry["asset"]["metadata"])
    assert done.skipped <= contents
    assert done.assets + done.computations + done.skipped == len(entries(noted.lines))
    assert (done.computations, done.torn) == (len(export.steps), 0)
    assert not path.exists()


def test_recovering_twice_changes_nothing(path: Path, noted: Noted):
    recover(path)
    before = noted.recording.export()
    path.write_bytes(noted.lines)
    done = recover(path)
    assert (done.assets, done.computations) == (0, 0)
    assert done.skipped == len(entries(noted.lines))
    assert noted.recording.export().statements == before.statements


def test_a_torn_last_line_is_reported_and_skipped(path: Path, noted: Noted, caplog: pytest.LogCaptureFixture):
    lines = noted.lines.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    done = recover(path)
    assert done.torn == 1
    assert [one.levelno for one in caplog.records if "skipped" in one.getMessage()] == [logging.WARNING]
    assert [step.identity for step in noted.recording.export().steps] == steps_in(b"".join(lines[:-1]))
    assert noted.recording.export().dangling() == []


def test_a_line_that_lacks_only_its_end_counts_as_torn(path: Path, noted: Noted):
    path.write_bytes(noted.lines.rstrip(b"\n"))
    assert recover(path).torn == 1


def test_an_empty_journal_is_recovered_to_nothing(path: Path):
    path.write_bytes(b"")
    assert recover(path) == journal.Recovered()


def test_a_journal_that_is_not_there_is_an_error(path: Path):
    with pytest.raises(OSError):
        recover(path)


def test_a_recovery_that_fails_keeps_the_journal_and_the_next_one_completes_it(
    path: Path, noted: Noted, faults: Faults
):
    for name, after in (("keep", 5), ("add_metadata_statement", 9), ("add_computation_statement", 3)):
        faults.before = {name: raising(RuntimeError("locked"), after=after)}
        with pytest.raises(RuntimeError, match="locked"):
            recover(path)
        assert path.read_bytes() == noted.lines
    faults.before = {}
    recover(path)
    export = noted.recording.export()
    assert [step.identity for step in export.steps] == steps_in(noted.lines)
    assert export.dangling() == []


def test_a_computation_that_was_stored_and_not_described_is_described(path: Path, faults: Faults):
    recording = Recording(journal=path)
    # the process dies between the two statements of one computation
    faults.before["add_computation_statement"] = lambda: faults.before.update(
        add_metadata_statement=raising(RuntimeError("dead"))
    )
    recording.run(edited())
    recording.handler.close()
    assert len(recording.export().of_kind("ComputationRegistration")) >= 1
    lines = path.read_bytes()
    faults.before.clear()
    recover(path)
    export = recording.export()
    assert sorted(step.identity for step in export.steps) == sorted(set(steps_in(lines)))
    assert export.dangling() == []


@pytest.mark.parametrize("left", [b"", b'{"name":'])
def test_what_a_kill_left_half_written_is_written_anew_and_not_stated_twice(path: Path, noted: Noted, left: bytes):
    recover(path)
    before = noted.recording.export()
    blobs = sdk.store_folder_once() / "blobs"
    file, step = before.called("/a.md")[0], before.steps[3]
    for subject in (file, step.id):
        cid = next(
            one["metadata"] for one in before.of_kind("MetadataRegistration").values() if subject in one["subject"]
        )
        (blobs / cid.removeprefix("urn:cid:")).write_bytes(left)
    (blobs / file).write_bytes(left)
    path.write_bytes(noted.lines)
    recover(path)
    after = noted.recording.export()
    assert after.statements == before.statements
    assert after.blobs == before.blobs


# --- exits and kills


def test_a_normal_exit_stores_everything():
    folder = sdk.store_folder_once()
    assert folder is not None
    ended = run_in_process(
        """
import sys
from pathlib import Path
from support.sdk import initialise
initialise(Path(sys.argv[1]))
from support.agents import agent
from support.recording import Recording, write
recording = Recording(wait=False)
recording.run(agent(*(write(f"w{n}", "/a.md", f"{n}") for n in range(4))), flush=False)
print(recording.context.id, recording.handler.stats.queued, recording.handler.stats.computations)
""",
        str(folder),
        folder=folder,
    )
    assert ended.returncode == 0, ended.stderr
    context, queued, computations = ended.stdout.split()
    assert int(queued) > 0
    export = Export.of(Context.from_uuid(uuid.UUID(context)))
    assert len(export.steps) == int(computations)
    assert len(export.seals()) == 1
    assert export.dangling() == []


SERVER = """
import sys
from pathlib import Path
from support.kills import serve
serve(Path(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("kills")
    ended = run_in_process(SERVER, str(folder), str(KILLS), folder=folder)
    assert ended.returncode == 0, ended.stderr[-3_000:]
    return json.loads((folder / "results.json").read_text())


def test_the_processes_were_killed_at_all_sorts_of_moments(kills: list[dict[str, Any]]):
    assert len(kills) == KILLS
    assert sum(one["journal"] > 0 for one in kills) >= 4
    assert sum(len(one["stored before"]) < len(one["steps"]) for one in kills) >= 4
    assert len({one["journal"] for one in kills}) >= 4
    assert len({len(one["stored before"]) for one in kills}) >= 4


def test_what_the_journal_had_is_recovered_and_nothing_else(kills: list[dict[str, Any]]):
    for one in kills:
        recovered = Counter(map(tuple, one["steps"]))
        assert set(recovered) == set(map(tuple, one["noted"])) | set(map(tuple, one["stored before"])), one
        assert set(map(tuple, one["assets"])) >= set(map(tuple, one["noted assets"])), one


def test_nothing_is_recovered_twice_and_nothing_dangles(kills: list[dict[str, Any]]):
    for one in kills:
        assert set(Counter(map(tuple, one["steps"])).values()) <= {1}, one
        assert one["dangling"] == []
        assert not one["described twice"]


def test_what_was_recovered_is_the_undisturbed_record_up_to_the_kill(kills: list[dict[str, Any]]):
    for one in kills:
        names = [tuple(step[:2]) for step in one["steps"]]
        assert names == [tuple(name) for name in one["undisturbed"][: len(names)]], one


def test_whatever_a_callback_had_returned_from_is_recovered(kills: list[dict[str, Any]]):
    for one in kills:
        assert len(one["steps"]) >= one["witnessed"], one


def test_recovering_after_a_kill_twice_changes_nothing(kills: list[dict[str, Any]]):
    for one in kills:
        assert one["again"] == [0, 0], one


def test_a_journal_that_holds_something_is_refused_until_it_is_recovered(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    path.write_text("left by a process that was killed\n")
    with pytest.raises(ConfigurationError, match="recover"):
        EqtyDeepAgentsHandler(journal=path)
    assert path.read_text() == "left by a process that was killed\n"


def test_a_journal_that_cannot_be_made_is_an_error_at_construction(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="journal"):
        EqtyDeepAgentsHandler(journal=tmp_path / "nowhere" / "journal.jsonl")
