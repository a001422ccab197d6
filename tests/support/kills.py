"""Processes that record a run and are killed on their way, and others that recover what they left.

When a process is killed goes by how far it has come, not by the clock: half of them kill themselves as a callback
returns, the others are killed when so many contents are in their store.

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

    def __init__(self, path: Path, computations: Callable[[], int], last: int | None) -> None:
        self.callbacks = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        self._computations = computations
        self._last = last

    def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        os.pwrite(self._descriptor, f"{self._computations():6}".encode(), 0)
        self.callbacks += 1
        if self.callbacks == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    on_tool_end = on_llm_end = on_chain_end


def record(folder: Path, last: int | None = None) -> int:
    """Record a run, with a journal, and die after so many callbacks; say how many there were."""
    initialise(folder / "store")
    recording = Recording(journal=folder / "journal")
    Path(folder, "context").write_text(str(recording.context.id))
    witness = Witness(folder / "witnessed", lambda: recording.handler.stats.computations, last)
    Path(folder, "ready").touch()
    recording.run(script(), callbacks=(witness,))
    return witness.callbacks


def undisturbed(folder: Path) -> None:
    callbacks = record(folder)
    contents = _contents(folder)
    _write(folder / "result", {"steps": _export(folder).named(), "callbacks": callbacks, "contents": contents})


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


def _fork(task: Callable[[Path], object], folder: Path) -> int:
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


def _contents(folder: Path) -> int:
    """How many contents are in the store."""
    blobs = folder / "store" / "blobs"
    return len(list(blobs.iterdir())) if blobs.exists() else 0


def _killed(child: int, folder: Path, contents: int | None) -> None:
    """Wait until a process has killed itself, or kill it when its store holds so many contents."""
    ended, status = 0, 0
    while not ended:
        if contents is not None and Path(folder, "ready").exists() and _contents(folder) >= contents:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not os.WIFSIGNALED(status) and Path(folder, "error").exists():
        raise RuntimeError(Path(folder, "error").read_text())


def serve(folder: Path, kills: int) -> None:
    """Kill so many processes, and write what came of each."""
    whole = folder / "undisturbed"
    whole.mkdir()
    _join(_fork(undisturbed, whole), whole)
    told = json.loads(Path(whole, "result").read_text())

    def one(number: int) -> dict[str, Any]:
        own = folder / str(number)
        own.mkdir()
        # the callbacks are over long before all is stored: half of the kills are to meet them
        by_itself = number % 4 < AT_ONCE
        last = random.randint(1, told["callbacks"]) if by_itself else None  # noqa: S311 - no secret
        contents = None if by_itself else random.randint(0, told["contents"])  # noqa: S311 - no secret
        _killed(_fork(lambda folder: record(folder, last), own), own, contents)
        _join(_fork(recover_all, own), own)
        result = json.loads(Path(own, "result").read_text())
        shutil.rmtree(own)
        return {**result, "undisturbed": told["steps"]}

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
