"""Every call this package makes to the EQTY SDK; nothing else imports it.

The SDK is process-global, synchronous and slow (14 to 20 ms of CPU for each signed statement), and panics with a
``BaseException`` where it is not initialised. So a callback only computes CIDs here; statements are made by a recorder.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eqty_sdk import CID, Context, get_cid_for_bytes, get_cid_for_path, init
from eqty_sdk._rust import signer as _signer
from eqty_sdk.context import get_active_context, graph_context
from eqty_sdk.statements import add_computation_statement, add_data_statement, add_metadata_statement

from eqty_lineage.deepagents.facts import Asset, AssetId, Computation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

__all__ = [
    "CID",
    "ConfigurationError",
    "Context",
    "Target",
    "active_context",
    "asset_steps",
    "cid_of",
    "computation_steps",
    "default_context",
    "import_manifest",
    "metadata_json",
    "require_signer",
    "snapshot",
    "warn_once_if_contents_are_not_stored",
]

logger = logging.getLogger("eqty.deepagents")

LARGEST_EXACT_INT: Final = 2**53
"""Above it, and for every float, the SDK can lose a metadata blob (its text and its canonical form differ)."""


class ConfigurationError(RuntimeError):
    """The SDK is not ready for recording; the message says what to call."""


def cid_of(data: bytes) -> AssetId:
    """Return the CID of bytes without storing them."""
    return AssetId(str(get_cid_for_bytes(data, _store=False)))


def require_signer() -> None:
    """Raise :class:`ConfigurationError` unless the SDK is initialised and has an active signer.

    Asks without initialising anything: ``init()`` would create a store in the current folder.
    """
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
            context = self._children.get(key)
            if context is None:
                started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
                context = Context.with_parent(self._parent).new(f"{self._name}: {started}")
                self._children[key] = context
            return context

    def activated(self) -> Any:
        """Return a context manager in which SDK calls that name no context go to this one."""
        return graph_context(self.resolve())


def asset_steps(asset: Asset, context: Callable[[], Context]) -> Iterator[Callable[[], None]]:
    """Return the SDK calls that register an asset, one by one, so that a failure can go on where it stopped."""
    cid = _bare(asset.cid)
    if asset.data is not None:
        data = asset.data
        yield lambda: _store(data)
    yield lambda: _discard(add_data_statement([CID(cid)], context=context()))
    yield lambda: _discard(add_metadata_statement(cid, asset.metadata, context=context()))


def computation_steps(computation: Computation, context: Callable[[], Context]) -> Iterator[Callable[[], None]]:
    """Return the SDK calls that register a computation and its metadata."""
    made: list[str] = []

    def state() -> None:
        ids = add_computation_statement(
            [CID(_bare(cid)) for cid in computation.inputs],
            [CID(_bare(cid)) for cid in computation.outputs],
            context=context(),
        )
        made.append(str(ids[0]))

    yield state
    yield lambda: _discard(add_metadata_statement(made[0], computation.metadata, context=context()))


def import_manifest(manifest: str, context: Context) -> None:
    """Import a manifest, given as JSON text, into a context."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write(manifest)
    try:
        context.import_manifest(Path(file.name))
    finally:
        Path(file.name).unlink(missing_ok=True)


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


def _store(data: bytes) -> None:
    get_cid_for_bytes(data)


def _discard(_: object) -> None:
    """Drop the statement ids: an exported manifest has them."""
