"""Every call this package makes to the EQTY SDK; nothing else imports it.

The SDK is process-global, synchronous and slow (14 to 20 ms of CPU for each signed statement), and panics with a
``BaseException`` where it is not initialised. So a callback only computes CIDs here; statements are made by a recorder.
"""

from __future__ import annotations

import functools
import json
import logging
import tempfile
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eqty_sdk import CID, Context, get_cid_for_bytes, get_cid_for_json, get_cid_for_path, init
from eqty_sdk._rust import signer as _signer
from eqty_sdk.context import get_active_context, graph_context
from eqty_sdk.statements import add_computation_statement, add_data_statement, add_metadata_statement

from eqty_lineage.deepagents.facts import AssetId, Computation
from eqty_lineage.deepagents.recording import process
from eqty_lineage.deepagents.recording.folder import repair_blob, store_folder
from eqty_lineage.deepagents.recording.threads import ThreadMap

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

__all__ = [
    "CID",
    "ConfigurationError",
    "Context",
    "ContextStore",
    "Target",
    "active_context",
    "cid_of",
    "default_context",
    "import_manifest",
    "metadata_cid",
    "metadata_json",
    "require_signer",
    "snapshot",
    "warn_once_if_contents_are_not_stored",
]

logger = logging.getLogger("eqty.deepagents")

MOST_THREADS: Final = 1_000
"""Thread contexts kept in memory; more are found again beside the store."""
LARGEST_EXACT_INT: Final = 2**53
"""Above it, and for every float, the SDK can lose a metadata blob (its text and its canonical form differ)."""


class ConfigurationError(RuntimeError):
    """The SDK is not ready for recording; the message says what to call."""


def cid_of(data: bytes) -> AssetId:
    """Return the CID of bytes without storing them."""
    return AssetId(str(get_cid_for_bytes(data, _store=False)))


def is_stored(cid: AssetId) -> bool:
    """Whether the store has the bytes of a CID, as far as can be told: an export would hold them."""
    folder = store_folder_once()
    return folder is not None and (folder / "blobs" / _bare(cid)).exists()


def require_signer() -> None:
    """Raise :class:`ConfigurationError` unless the SDK is initialised and has an active signer.

    Asks without initialising anything: ``init()`` would create a store in the current folder.
    """
    process.note_use()
    try:
        _signer.get_active_signer_did_key()
    except RuntimeError as error:
        message = (
            "EqtyDeepAgentsHandler needs an active EQTY signer before it is constructed. Call "
            "eqty_sdk.init(default_context=Context.new('my-app')).set_store_all_blobs(True), then "
            "eqty_sdk.set_active_signer(Signer.load_or_create('my-app')). "
            f"The SDK says: {str(error).splitlines()[0]}"
        )
        raise ConfigurationError(message) from error


def default_context() -> Context:
    """Return the context the SDK uses when none is named."""
    return init().get_default_context()


def active_context() -> Context | None:
    """Return the context of the enclosing ``graph_context`` block, if any."""
    return get_active_context()


class Target:
    """The one context all of a run goes to: the given one, or the child of it that belongs to a thread.

    The child is looked up or made when it is first needed, on whatever thread that is, because making a context
    writes to the store. ``children`` is the process-wide table of the base handler, keyed by parent id and thread.
    """

    def __init__(
        self,
        parent: Context,
        thread: str | None,
        name: str,
        children: MutableMapping[tuple[str, str], Context],
        lock: threading.RLock | threading.Lock | Any,
    ) -> None:
        """Describe the target; nothing is looked up or made yet."""
        self._parent = parent
        self._thread = thread
        self._name = name
        self._children = children
        self._lock = lock
        self.key: tuple[str, str | None] = (str(parent.id), thread)

    def resolve(self) -> Context:
        """Return the context, making the thread's child if it does not exist yet."""
        if self._thread is None:
            return self._parent
        key = (str(self._parent.id), self._thread)
        with self._lock:
            context = self._children.pop(key, None)
            if context is None:
                context = self._earlier() or self._new()
                while len(self._children) >= MOST_THREADS:
                    del self._children[next(iter(self._children))]
            # the least recently used come first
            self._children[key] = context
            return context

    def _earlier(self) -> Context | None:
        """Return the context this thread had in another process, or before it was evicted."""
        found = _threads().find(str(self._parent.id), str(self._thread))
        return None if found is None else Context.from_uuid(found)

    def _new(self) -> Context:
        started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        context = Context.with_parent(self._parent).new(f"{self._name}: {started}")
        try:
            _threads().note(str(self._parent.id), str(self._thread), str(context.id))
        except OSError as error:
            logger.warning("the context of a thread could not be noted beside the store: %s", error)
        return context

    @classmethod
    def of(cls, context_id: uuid.UUID) -> Target:
        """Return the target that is the context with this id."""
        return cls(Context.from_uuid(context_id), None, "", {}, threading.Lock())

    def activated(self) -> Any:
        """Return a context manager in which SDK calls that name no context go to this one."""
        return graph_context(self.resolve())


class ContextStore:
    """Stores statements in one context; a recorder knows it as a :class:`~.jobs.Store`."""

    def __init__(self, target: Target, stated: Callable[[int], None] | None = None) -> None:
        """Store in the context that ``target`` resolves to; ``stated`` is told how many statements were made."""
        self._target = target
        self._stated = stated
        self._lock = threading.Lock()
        self.statements: dict[str, None] = {}
        """The ids of all statements made here, credentials included, each once, in the order made."""

    def keep(self, cid: AssetId, data: bytes) -> None:
        """Store contents, if the SDK is set to; write anew what a full disk left half-written."""
        repair_blob(store_folder_once(), _bare(cid), len(data))
        get_cid_for_bytes(data)

    def keep_metadata(self, metadata: str) -> None:
        """Store metadata, given as JSON text, that was stated already."""
        _repair_metadata(metadata)
        get_cid_for_json(metadata)

    def export(self) -> dict[str, Any]:
        """Return the context's manifest, parsed."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "manifest.json")
            self._target.resolve().export(path)
            manifest: dict[str, Any] = json.loads(path.read_bytes())
            return manifest

    def register(self, cids: list[AssetId]) -> None:
        """State that these assets exist, in one statement."""
        self._note(add_data_statement([CID(_bare(cid)) for cid in cids], context=self._target.resolve()))

    def describe(self, subject: str, metadata: str) -> None:
        """State metadata, given as JSON text, of an asset or a statement."""
        _repair_metadata(metadata)
        self._note(add_metadata_statement(_bare(subject), metadata, context=self._target.resolve()))

    def compute(self, computation: Computation) -> str:
        """State a computation; return the statement's id."""
        ids = add_computation_statement(
            [CID(_bare(cid)) for cid in computation.inputs],
            [CID(_bare(cid)) for cid in computation.outputs],
            executed_on=computation.executed_on,
            context=self._target.resolve(),
        )
        return str(self._note(ids)[0])

    def _note(self, ids: list[CID]) -> list[CID]:
        with self._lock:
            # what is stated again within a second is the same statement
            new = [key for key in dict.fromkeys(str(statement) for statement in ids) if key not in self.statements]
            self.statements.update(dict.fromkeys(new))
            if self._stated is not None:
                self._stated(len(new))
        return ids


def metadata_cid(metadata: str) -> str:
    """Return the CID under which the SDK stores metadata, given as JSON text, without prefix and without storing it."""
    return _bare(str(get_cid_for_json(metadata, _store=False)))


def _repair_metadata(metadata: str) -> None:
    """Make way for metadata whose blob was left half-written; the SDK stores its canonical form."""
    canonical = json.dumps(json.loads(metadata), ensure_ascii=False, separators=(",", ":"))
    repair_blob(store_folder_once(), metadata_cid(metadata), len(canonical.encode()))


def import_manifest(manifest: str, context: Context) -> None:
    """Import a manifest, given as JSON text, into a context."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write(manifest)
    try:
        context.import_manifest(Path(file.name))
    finally:
        Path(file.name).unlink(missing_ok=True)


@functools.cache
def store_folder_once() -> Path | None:
    """Return the store's folder, looked up once: the SDK keeps to the store it was initialised with."""
    return store_folder()


@functools.cache
def _threads() -> ThreadMap:
    return ThreadMap(store_folder_once())


_PROBED = threading.Event()


def warn_once_if_contents_are_not_stored() -> None:
    """Log one line, once in a process, when the SDK keeps no blobs: its manifests then have no contents.

    The SDK does not tell its setting, so a marker is exported from a context that is deleted again.
    """
    if _PROBED.is_set():
        return
    _PROBED.set()
    marker = b"eqty-lineage-deepagents: are contents stored?"
    try:
        cid = get_cid_for_bytes(marker, None)
        context = Context.new(f"probe {uuid.uuid4()}")
        try:
            add_data_statement([cid], context=context, _skip_proof=True)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "probe.json")
                context.export(path)
                stored = bool(json.loads(path.read_bytes())["blobs"])
        finally:
            context.delete()
    except Exception as error:  # noqa: BLE001 - a probe that fails tells nothing, and must not fail the construction
        logger.debug("could not tell whether contents are stored: %s", error)
        return
    if not stored:
        logger.warning(
            "the EQTY SDK is not set to store contents: manifests will hold identifiers only. "
            "Call eqty_sdk.init(...).set_store_all_blobs(True) to keep them."
        )


def snapshot(path: Path) -> AssetId:
    """Return the CID of a file or directory, storing its bytes now if the SDK is set to store contents."""
    return AssetId(str(get_cid_for_path(path.resolve())))


def metadata_json(fields: dict[str, Any]) -> str:
    """Return metadata as JSON text that the SDK stores as it is.

    Floats and large integers become strings and lone surrogates are escaped, because either can cost the SDK the
    whole metadata blob.
    """
    return json.dumps(_storable(fields))


def _storable(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -LARGEST_EXACT_INT <= value <= LARGEST_EXACT_INT else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return str(value)


def _bare(cid: str) -> str:
    return cid.removeprefix("urn:cid:")
