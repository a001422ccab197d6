"""Processes that record a run and are killed at random moments, and others that recover what they left.

One process imports everything and never uses the SDK, so that its children start at once, and may use it.
"""

import json
import os
import random
import shutil
import signal
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eqty_sdk import Context
from langchain_core.callbacks import BaseCallbackHandler

from eqty_lineage.deepagents.recording.journal import recover
from support.agents import agent
from support.recording import Export, Recording, edit, entries, write
from support.sdk import initialise

AT_ONCE = 2


def script() -> Any:
    return agent(
        write("w", "/a.md", "one\n" + "x" * 2_000),
        edit("e", "/a.md", "one", "two"),
    )


class Witness(BaseCallbackHandler):
    """Counts, on disk, the computations whose callback the handler before it has returned from."""

    run_inline = True

    def __init__(self, path: Path, computations: Callable[[], int]) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        self._computations = computations

    def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        os.pwrite(self._descriptor, f"{self._computations():6}".encode(), 0)

    on_tool_end = on_llm_end = on_chain_end


def record(folder: Path) -> None:
    """Record a run, with a journal."""
    initialise(folder / "store")
    recording = Recording(journal=folder / "journal")
    Path(folder, "context").write_text(str(recording.context.id))
    witness = Witness(folder / "witnessed", lambda: recording.handler.stats.computations)
    Path(folder, "ready").touch()
    recording.run(script(), callbacks=(witness,))


def undisturbed(folder: Path) -> None:
    record(folder)
    _write(folder / "result", {"steps": _export(folder).named()})


def recover_all(folder: Path) -> None:
    """Recover, twice, what a killed process left, and say what came of it."""
    initialise(folder / "store")
    path = folder / "journal"
    lines = path.read_bytes() if path.exists() else b""
    before = _export(folder)
    again = [0, 0]
    if path.exists():
        recover(path)
        path.write_bytes(lines)
        second = recover(path)
        again = [second.assets, second.computations]
    export = _export(folder)
    noted = entries(lines)
    described = Counter((one["subject"], one["metadata"]) for one in export.of_kind("MetadataRegistration").values())
    computed = [json.loads(one["computation"]["metadata"]) for one in noted if "computation" in one]
    _write(
        folder / "result",
        {
            "journal": len(noted),
            "noted": [(one["name"], one["computation_type"], one["run_id"], one["sequence"]) for one in computed],
            "noted assets": [
                (one["asset"]["cid"].removeprefix("urn:cid:"), json.loads(one["asset"]["metadata"])["name"])
                for one in noted
                if "asset" in one and one["asset"]["metadata"]
            ],
            "stored before": [step.identity for step in before.steps if step.fields],
            "steps": [step.identity for step in export.steps],
            "assets": [(cid, name) for cid, _, name, _ in export.assets()],
            "dangling": export.dangling(),
            "described twice": [one for one, times in described.items() if times > 1],
            "again": again,
            "witnessed": int(
                (Path(folder, "witnessed").read_text() if Path(folder, "witnessed").exists() else "") or 0
            ),
        },
    )


def _export(folder: Path) -> Export:
    return Export.of(Context.from_uuid(uuid.UUID(Path(folder, "context").read_text())))


def _write(path: Path, result: Any) -> None:
    path.write_text(json.dumps(result))


def _fork(task: Callable[[Path], None], folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        task(folder)
        status = 0
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        Path(folder, "error").write_text(traceback.format_exc())
    os._exit(status)


def _join(child: int, folder: Path) -> None:
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(Path(folder, "error").read_text() if Path(folder, "error").exists() else f"status {status}")


def _kill_at(child: int, folder: Path, seconds: float) -> None:
    while not Path(folder, "ready").exists():
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            raise RuntimeError(Path(folder, "error").read_text())
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def serve(folder: Path, kills: int) -> None:
    """Kill so many processes, and write what came of each."""
    whole = folder / "undisturbed"
    whole.mkdir()
    child = _fork(undisturbed, whole)
    while not Path(whole, "ready").exists():
        time.sleep(0.001)
    began = time.monotonic()
    _join(child, whole)
    lasts = time.monotonic() - began
    names = json.loads(Path(whole, "result").read_text())["steps"]

    def one(number: int) -> dict[str, Any]:
        own = folder / str(number)
        own.mkdir()
        # the callbacks are over long before all is stored: half of the kills are to meet them
        latest = lasts if number % 4 < AT_ONCE else lasts / 8
        _kill_at(_fork(record, own), own, random.uniform(0, latest))  # noqa: S311 - no secret
        _join(_fork(recover_all, own), own)
        result = json.loads(Path(own, "result").read_text())
        shutil.rmtree(own)
        return {**result, "undisturbed": names}

    results = _several(one, kills, folder)
    _write(folder / "results.json", results)


def _several(one: Callable[[int], dict[str, Any]], times: int, folder: Path) -> list[dict[str, Any]]:
    """Do it in as many processes at once as the machine has use for: threads and forks do not mix."""
    children = []
    for part in range(AT_ONCE):
        child = os.fork()
        if child:
            children.append(child)
            continue
        random.seed()
        try:
            _write(folder / f"results {part}", [one(number) for number in range(part, times, AT_ONCE)])
        except BaseException:  # noqa: BLE001 - a child must not go on as its parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    for child in children:
        if os.waitpid(child, 0)[1]:
            message = "a part failed"
            raise RuntimeError(message)
    return [result for part in range(AT_ONCE) for result in json.loads((folder / f"results {part}").read_text())]
