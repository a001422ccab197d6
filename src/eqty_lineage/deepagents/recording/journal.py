"""What is still to be stored, on disk before its callback returns, so that a killed process loses nothing it had noted.

One append-only file a process, with a line a job, readable by its owner alone: it holds what the store will hold. It is
emptied when all in it is stored, and removed with the last handler. :func:`recover` stores what a killed process had
not.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from eqty_lineage.deepagents.facts import Asset, AssetId, Computation
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.recording.folder import store_folder
from eqty_lineage.deepagents.recording.seals import seal_asset

logger = logging.getLogger("eqty.deepagents")

FORMAT: Final = 1
_SYNC: Final = 1.0
"""Seconds after which what was written is forced to disk."""


class Journal:
    """An append-only file of jobs."""

    def __init__(self, path: Path) -> None:
        """Create the file; only its owner can read it.

        Raises:
            ConfigurationError: The file cannot be made, another process writes to it, or it holds what an earlier
                process had not stored: that must be recovered first, for this journal is emptied in the end.

        """
        self.path = path
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            message = f"the journal {path} cannot be written: {error}"
            raise sdk.ConfigurationError(message) from error
        why = None
        if not _locked(self._descriptor):
            why = "is in use by another process"
        elif os.fstat(self._descriptor).st_size:
            why = "holds what an earlier process had not stored; call recover() with its path first"
        if why is not None:
            os.close(self._descriptor)
            message = f"the journal {path} {why}"
            raise sdk.ConfigurationError(message)
        self._outstanding = 0
        self._failed = False
        self._synced = time.monotonic()
        self.users = 0
        """How many handlers write to it."""

    @property
    def is_open(self) -> bool:
        """Whether it can be written to."""
        return self._descriptor >= 0

    def asset(self, context: str, asset: Asset) -> None:
        """Note an asset that is to be stored in a context."""
        data = None if asset.data is None else base64.b64encode(asset.data).decode()
        entry = {"cid": asset.cid, "metadata": asset.metadata, "data": data, "name": asset.name, "alone": asset.alone}
        self._write({"context": context, "asset": entry})

    def computation(self, context: str, computation: Computation) -> None:
        """Note a computation that is to be stored in a context."""
        entry = {
            "inputs": computation.inputs,
            "outputs": computation.outputs,
            "metadata": computation.metadata,
            "name": computation.name,
            "executed_on": computation.executed_on,
        }
        self._write({"context": context, "computation": entry})

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps({"format": FORMAT, **entry}).encode() + b"\n"
        with self._lock:
            self._outstanding += 1
            os.write(self._descriptor, line)
            if time.monotonic() - self._synced >= _SYNC:
                self._sync()

    def stored(self) -> None:
        """Note that one entry is stored; when none is left, the file is emptied."""
        with self._lock:
            self._outstanding -= 1
            if not self._outstanding and not self._failed:
                os.ftruncate(self._descriptor, 0)

    def failed(self) -> None:
        """Note that one entry could not be stored: the file is kept for a recovery."""
        with self._lock:
            self._outstanding -= 1
            self._failed = True

    def sync(self) -> None:
        """Force what was written to disk."""
        with self._lock:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file with its last user, and remove it if all in it is stored."""
        with self._lock:
            self.users -= 1
            if self._descriptor < 0 or self.users > 0:
                return
            os.close(self._descriptor)
            self._descriptor = -1
            if not self._outstanding and not self._failed:
                self.path.unlink(missing_ok=True)


def _locked(descriptor: int) -> bool:
    """Lock a file for this process; return whether that was possible. It is unlocked when it is closed."""
    try:
        import fcntl  # noqa: PLC0415 - not on every platform
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


_OPEN: Final[dict[Path, Journal]] = {}
_opening = threading.Lock()


def open_journal(path: Path | None) -> Journal:
    """Return this process's journal at ``path``, or the one beside the store."""
    with _opening:
        if path is None:
            own = (known for known, journal in _OPEN.items() if known.name.startswith(_name("")) and journal.is_open)
            path = next(own, None) or default_path()
        path = path.resolve()
        journal = _OPEN.get(path)
        if journal is None or not journal.is_open:
            journal = _OPEN[path] = Journal(path)
        journal.users += 1
        return journal


def _name(unique: str) -> str:
    return f"lineage-journal-{os.getpid()}-{unique}"


def default_path() -> Path:
    """Return where this process's journal goes: beside the store."""
    folder = store_folder()
    if folder is None:
        message = "journal=True needs to know where the SDK's store is; give the journal's path instead"
        raise sdk.ConfigurationError(message)
    return folder / f"{_name(uuid.uuid4().hex[:8])}.jsonl"


@dataclass(slots=True)
class Recovered:
    """What a recovery did."""

    assets: int = 0
    computations: int = 0
    skipped: int = 0
    """Entries that the store had already."""
    torn: int = 0
    """Lines that could not be read: the last one, cut off as the process died."""
    contexts: list[uuid.UUID] = field(default_factory=list)
    """Where it was stored: ``Context.from_uuid`` of each gives what to export."""


def recover(path: str | os.PathLike[str]) -> Recovered:
    """Store what a killed process had noted in its journal but not stored, into the same contexts.

    The SDK must be initialised on the same store, with an active signer. The journal is removed when all of it is
    stored.

    Raises:
        ConfigurationError: No active signer.
        OSError: The journal cannot be read.

    """
    sdk.require_signer()
    done = Recovered()
    known: dict[str, _Known] = {}
    for entry in _entries(Path(path), done):
        context = str(entry["context"])
        if context not in known:
            known[context] = _Known(context)
            done.contexts.append(uuid.UUID(context))
        _recover(entry, known[context], done)
    for recovered in known.values():
        recovered.seal()
    Path(path).unlink()
    return done


def _entries(path: Path, done: Recovered) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
                if not line.endswith(b"\n") or entry["format"] != FORMAT or "context" not in entry:
                    raise ValueError  # noqa: TRY301 - one place for what cannot be read
            except (ValueError, KeyError, TypeError):
                done.torn += 1
                logger.warning("journal %s: a line that cannot be read is skipped", path.name)
                continue
            yield entry


_Step = tuple[frozenset[str], frozenset[str], str | None]
"""The inputs and outputs of a computation, and the run it was of."""


class _Known:
    """What a context has already."""

    def __init__(self, context: str) -> None:
        self.store = sdk.ContextStore(sdk.Target.of(uuid.UUID(context)))
        manifest = self.store.export()
        self.described: set[tuple[str, str]] = set()
        """What has which metadata, by its CID."""
        self.registered: set[str] = set()
        self.steps: set[tuple[Any, Any]] = set()
        self.undescribed: dict[_Step, str] = {}
        """Computations that were stored and, because the process died, not described."""
        readable: set[str] = set()
        computed: dict[str, _Step] = {}
        for statement in manifest["statements"].values():
            match statement["@type"]:
                case "DataRegistration":
                    data = statement["data"]
                    self.registered.update(_listed(data))
                case "ComputationRegistration":
                    step = _listed(statement["input"]), _listed(statement["output"]), statement.get("executedOn")
                    computed[_bare(statement["@id"])] = step
                case "MetadataRegistration":
                    subject, cid = _bare(statement["subject"]), _bare(statement["metadata"])
                    self.described.add((subject, cid))
                    try:
                        metadata = json.loads(base64.b64decode(manifest["blobs"][cid]))
                    except (KeyError, ValueError):
                        # the process died while it was written
                        continue
                    readable.add(subject)
                    self.steps.add((metadata.get("run_id"), metadata.get("sequence")))
                case _:
                    pass
        self.undescribed = {sides: step for step, sides in computed.items() if step not in readable}

    def seal(self) -> None:
        """Seal what no seal in this context lists: the run that was killed never came to its own."""
        manifest = self.store.export()
        sealed: set[str] = set()
        last: AssetId | None = None
        own: set[str] = set()
        for statement in manifest["statements"].values():
            if statement["@type"] != "MetadataRegistration":
                continue
            metadata = _json_blob(manifest, _bare(statement["metadata"]))
            if metadata.get("name") == "run seal":
                last = AssetId(statement["subject"])
                own.add(_bare(statement["subject"]))
                sealed.update(_json_blob(manifest, _bare(statement["subject"])).get("statements", []))
        left = sorted(
            key
            for key, statement in manifest["statements"].items()
            if key not in sealed and not own & _listed(statement.get("data") or statement.get("subject") or [])
        )
        if left:
            asset = seal_asset(left, last)
            if asset.data is not None:
                self.store.keep(asset.cid, asset.data)
            self.store.register([asset.cid])
            self.store.describe(asset.cid, asset.metadata)

    def describe(self, subject: str, metadata: str) -> None:
        """State metadata, or only store it where it was stated."""
        if (_bare(subject), sdk.metadata_cid(metadata)) in self.described:
            self.store.keep_metadata(metadata)
        else:
            self.store.describe(subject, metadata)
            self.described.add((_bare(subject), sdk.metadata_cid(metadata)))


def _recover(entry: dict[str, Any], known: _Known, done: Recovered) -> None:
    if "asset" in entry:
        asset = entry["asset"]
        cid, metadata = AssetId(asset["cid"]), asset["metadata"]
        described = not metadata or (_bare(cid), sdk.metadata_cid(metadata)) in known.described
        if asset["data"] is not None:
            data = base64.b64decode(asset["data"])
            known.store.keep(sdk.cid_of(data), data)
        if metadata and described:
            known.store.keep_metadata(metadata)
        if described and _bare(cid) in known.registered:
            done.skipped += 1
            return
        if _bare(cid) not in known.registered:
            known.store.register([cid])
            known.registered.add(_bare(cid))
        if not described:
            known.describe(cid, metadata)
        done.assets += 1
        return
    step = entry["computation"]
    metadata = json.loads(step["metadata"])
    if (metadata.get("run_id"), metadata.get("sequence")) in known.steps:
        done.skipped += 1
        return
    computation = Computation(
        tuple(step["inputs"]), tuple(step["outputs"]), step["metadata"], step["name"], step["executed_on"]
    )
    inputs, outputs = (frozenset(map(_bare, side)) for side in (computation.inputs, computation.outputs))
    stated = known.undescribed.pop((inputs, outputs, computation.executed_on), "")
    known.describe(stated or known.store.compute(computation), computation.metadata)
    done.computations += 1


def _json_blob(manifest: dict[str, Any], cid: str) -> dict[str, Any]:
    try:
        value = json.loads(base64.b64decode(manifest["blobs"][cid]))
    except (KeyError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _listed(cids: str | list[str]) -> frozenset[str]:
    """Return CIDs without prefix; the SDK writes a list of one as that one."""
    return frozenset(map(_bare, cids if isinstance(cids, list) else [cids]))


def _bare(cid: str) -> str:
    return cid.removeprefix("urn:cid:")
