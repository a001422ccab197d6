"""What one callback records, drafted: assets, computations, and which state of a run a state is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.facts import Asset, AssetId, Computation, Gap, Why
from eqty_lineage.deepagents.payloads import serialise
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from langchain_core.outputs import LLMResult

    from eqty_lineage.deepagents.offloads import Saved
    from eqty_lineage.deepagents.runs import OpenRun, Root


@dataclass(slots=True)
class Frame:
    """What one callback records: filled by the base handler's logic and this package's, then handed on whole."""

    run: OpenRun
    place: Place
    assets: list[Asset] = field(default_factory=list)
    computations: list[Computation] = field(default_factory=list)
    manifests: list[str] = field(default_factory=list)
    carried: list[AssetId] = field(default_factory=list)
    created: list[AssetId] = field(default_factory=list)
    expected: list[Saved] = field(default_factory=list)
    """Files whose bytes the next state will show."""
    response: LLMResult | None = None
    state: AssetId | None = None
    prompt: Any = None
    """The messages of a model turn, ready to be stored, in place of what the base handler would make of them."""
    prompt_cid: AssetId | None = None


class Drafting:
    """Drafts assets into the frame of the callback that is running."""

    _frame: Frame | None = None

    def note_gap(self, root: Root | None, gap: Gap) -> None:
        """Count a gap; the handler knows where."""
        raise NotImplementedError

    def draft(
        self, kind: str, payload: Any, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset whose content is a payload as the SDK would serialise it."""
        return self.draft_bytes(kind, serialise(self.refined(payload)), name, description, metadata)

    def refined(self, payload: Any) -> Any:
        """Return a payload as it may be stored: without credentials and what the content policy withholds."""
        return self._require_frame().run.root.conversation.discretion.refine(payload)

    @property
    def memory(self) -> Memory:
        """What the conversation of the frame must not have stored."""
        return self._require_frame().run.root.conversation.discretion.memory

    def draft_withheld(
        self, kind: str, cid: AssetId, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset whose bytes the content policy withholds; return the CID of its content.

        What stands for it in the record is the same CID, or where identities are hidden that of a number.
        """
        self.draft_known(kind, cid, None, name, description, metadata)
        return cid

    def draft_bytes(
        self, kind: str, data: bytes, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset whose content is ``data``."""
        return self.draft_known(kind, sdk.cid_of(data), data, name, description, metadata)

    def draft_known(
        self,
        kind: str,
        cid: AssetId,
        data: bytes | None,
        name: str,
        description: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> AssetId:
        """Draft an asset whose CID is known; without ``data`` its content is in the store already, or never will be."""
        fields = {"name": name, "description": description, **(metadata or {}), "assetType": kind}
        return self.enqueue(cid, data, fields)

    def enqueue(self, cid: AssetId, data: bytes | None, fields: Mapping[str, Any]) -> AssetId:
        """Add an asset with this metadata to the frame, unless the conversation drafted it in this context before."""
        is_version = "file_path" in fields and "rendering" not in str(fields.get("description"))
        if self.memory.is_withheld(cid):
            # whatever it is: with the same bytes as a withheld file
            fields = {**fields, "withheld": True}
            if cid in self.memory.stored:
                self.note_gap(self._require_frame().run.root, Gap(Why.STORED, str(fields.get("name"))))
            data = self.memory.stand_in(cid) if self.memory.is_hidden(cid) else None
            cid = self.memory.entity(cid)
        elif data is not None and (is_version or not data.startswith((b"{", b"["))):
            # a payload that is a mapping or list is no file's bytes
            self.memory.opened(cid)
        named = {key: fields[key] for key in ("file_path", "edit_of", "name") if key in fields}
        shown = {**self.refined(dict(fields)), **named}
        asset = Asset(cid, sdk.metadata_json(shown), data, str(fields.get("name")), alone=is_version)
        self._add(asset)
        return cid

    def keep(self, data: bytes) -> AssetId:
        """Draft bytes that a payload refers to, and return their CID."""
        cid = sdk.cid_of(data)
        self._add(Asset(cid, "", data, "content"))
        return cid

    def _add(self, asset: Asset) -> None:
        frame = self._require_frame()
        registered = frame.run.root.registered
        key = key_of(asset)
        if key not in registered:
            registered[key] = None
            frame.assets.append(asset)

    def _require_frame(self) -> Frame:
        if self._frame is None:
            message = "the base handler recorded something outside a callback"
            raise RuntimeError(message)
        return self._frame


def key_of(asset: Asset) -> bytes:
    """Return what tells an asset with its metadata from others, in few bytes."""
    return hashlib.sha256(f"{asset.cid} {asset.metadata}".encode()).digest()[:12]


def gaps_asset(gaps: list[Gap], count: int) -> Asset:
    """Return the asset that holds a root run's gaps."""
    data = serialise({"gaps": [gap.as_json() for gap in gaps], "count": count})
    fields = {"name": "gaps", "description": "What this run could not record.", "assetType": "Dataset"}
    return Asset(sdk.cid_of(data), sdk.metadata_json(fields), data, "gaps")


def as_occurrence(payload: Any, frame: Frame) -> Any:
    """Say which state this is, so that two equal states are two entities, the same ones in every run."""
    run = frame.run
    occurrence: dict[str, Any] = {
        "of": run.occurrence,
        "side": frame.place.side,
        "turn": run.root.turn,
    }
    if isinstance(payload, dict) and "occurrence" not in payload:
        return {**payload, "occurrence": occurrence}
    return {"state": payload, "occurrence": occurrence}


def ids(cids: list[Any]) -> list[AssetId]:
    """Return CIDs as strings, each once; a user's extractor hands over the SDK's own objects."""
    return list(dict.fromkeys(AssetId(str(cid)) for cid in cids))
