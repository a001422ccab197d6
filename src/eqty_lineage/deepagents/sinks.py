"""Where what an extractor lifts out of a value goes, and whether that value is the value of a state key."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from eqty_lineage.langchain import AssetSink

from eqty_lineage.deepagents.discretion.calls import Call
from eqty_lineage.deepagents.facts import AssetId, Gap, Version, Why
from eqty_lineage.deepagents.payloads import serialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eqty_lineage.deepagents.discretion.memory import Memory
    from eqty_lineage.deepagents.recording.sdk import CID
    from eqty_lineage.deepagents.runs import OpenRun, Root

_MEDIA: Final = frozenset(
    {
        *("png", "jpeg", "jpg", "webp", "gif", "heic", "heif"),
        *("mp4", "mpeg", "mov", "avi", "flv", "mpg", "webm", "wmv", "3gpp"),
        *("wav", "mp3", "aiff", "aac", "ogg", "flac"),
        "pdf",
    }
)
"""The suffixes DeepAgents 0.7.32 reads as images, audio, video, or PDF."""


class Place(Enum):
    """Where in a run a value was met; it decides what a claimed key means there."""

    NODE_IN = "entering a node"
    NODE_OUT = "leaving a node"
    RUN_IN = "entering a graph or agent"
    RUN_OUT = "leaving a graph or agent"
    ARGUMENTS = "a tool's arguments"
    RESULT = "a tool's result"
    ELSEWHERE = "a model call or a retrieval"

    @property
    def is_state(self) -> bool:
        """Whether values met here are states of a graph."""
        return self in (Place.NODE_IN, Place.NODE_OUT, Place.RUN_IN, Place.RUN_OUT)

    @property
    def side(self) -> str:
        """Whether a state met here was entering or leaving."""
        return "entering" if self in (Place.NODE_IN, Place.RUN_IN) else "leaving"


class Drafts(Protocol):
    """What a sink needs of the room that drafts assets."""

    def draft_bytes(
        self, kind: str, data: bytes, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset from its bytes."""

    def draft_known(
        self,
        kind: str,
        cid: AssetId,
        data: bytes | None,
        name: str,
        description: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> AssetId:
        """Draft an asset whose CID is known."""

    def keep(self, data: bytes) -> AssetId:
        """Draft bytes that a payload refers to."""

    def draft(
        self, kind: str, payload: Any, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset from a payload."""

    def draft_withheld(
        self, kind: str, cid: AssetId, name: str, description: str, metadata: Mapping[str, Any] | None = None
    ) -> AssetId:
        """Draft an asset whose bytes are not to be stored."""

    def refined(self, payload: Any) -> Any:
        """Return a payload as it may be stored."""

    def shortened(self, payload: Any) -> Any:
        """Return a payload with its long values kept apart."""

    def add_inputs(self, run_id: Any, cids: list[AssetId]) -> None:
        """Make assets inputs of a run that has started."""

    def note_gap(self, root: Root | None, gap: Gap) -> None:
        """Count a gap."""


class StateSink(AssetSink):
    """Where extractors put what they lift out of one state, result or argument list."""

    def __init__(self, metadata: dict[str, Any], place: Place, run: OpenRun, drafts: Drafts, top: object) -> None:
        """Start for one value of ``run``; ``top`` is that value."""
        super().__init__(metadata)
        self.place = place
        self.run = run
        self._drafts = drafts
        owned = run.owns_state or place in (Place.RUN_IN, Place.RUN_OUT)
        self._takes_updates = owned and place in (Place.NODE_OUT, Place.RUN_OUT, Place.RESULT)
        self._is_state = owned and place.is_state and not isinstance(top, list | tuple | str | bytes)
        self.is_update = False
        self.state_key: str | None = None
        """The state key whose value is being looked at, or ``None`` anywhere else."""

    def look_at(self, path: tuple[str, ...], *, in_command: bool) -> None:
        """Work out whether the value at ``path`` is the value of a state key."""
        self.state_key = None
        if in_command:
            if self._takes_updates and len(path) == 2 and path[0] == "update":  # noqa: PLR2004 - ("update", key)
                self.state_key = path[1]
        elif self._is_state and len(path) == 1:
            self.state_key = path[0]
        self.is_update = in_command or self.place is Place.NODE_OUT

    def gap(self, why: Why, what: str) -> None:
        """Count something that cannot be recorded."""
        self._drafts.note_gap(self.run.root, Gap(why, what, self.run.lane.label))

    def draft(self, kind: str, payload: Any, name: str, description: str) -> AssetId:
        """Draft an asset from a payload."""
        return self._drafts.draft(kind, payload, name, description, self.metadata)

    def refined(self, payload: Any) -> Any:
        """Return a payload as it may be stored."""
        return self._drafts.refined(payload)

    @property
    def memory(self) -> Memory:
        """What the conversation must not have stored."""
        return self.run.root.conversation.discretion.memory

    def draft_version(self, version: Version, data: bytes | None) -> AssetId:
        """Draft the asset of a version of a file, its content's bytes, named by its path; once in a root run.

        Without ``data`` its content is known to be in the store.
        """
        drafted = self.run.root.drafted_files
        if (version.path, version.cid) not in drafted:
            kind = "Media" if version.path.rpartition(".")[2].lower() in _MEDIA else "Document"
            description = "A file of the agent's virtual filesystem."
            metadata = {**self.metadata, "file_path": version.path}
            withheld = self.memory.withholds(version.path, version.cid, data)
            if self.memory.lines.full and not self.run.root.conversation.told_of_lines:
                self.run.root.conversation.told_of_lines = True
                self.gap(Why.LINES, version.path)
            if withheld:
                self._drafts.draft_withheld(kind, version.cid, version.path, description, metadata)
            else:
                self._drafts.draft_known(kind, version.cid, data, version.path, description, metadata)
            drafted.add((version.path, version.cid))
        return version.cid

    def draft_rendering(self, payload: Any, path: str, name: str) -> AssetId:
        """Draft the asset of what ``read_file`` returned for content that is not known exactly."""
        description = "A rendering of a file as read_file returned it, not the file's bytes."
        metadata = {**self.metadata, "file_path": path}
        if self.memory.fits(path):
            self.memory.learn_result(Call("read_file", path), payload)
            cid = self.memory.note(serialise(payload))
            return self._drafts.draft_withheld("Document", cid, name, description, metadata)
        return self._drafts.draft("Document", payload, name, description, metadata)

    def draft_edit(self, path: str, old: str, new: str, *, every: bool, count: int | None) -> AssetId:
        """Draft the asset of an edit whose result is not known: what it replaced by what."""
        payload = {"path": path, "old": old, "new": new, "all": every, "count": count}
        description = "An edit of a file whose content is not known exactly; no version of the file."
        metadata = {**self.metadata, "edit_of": path}
        if self.memory.fits(path):
            cid = self.memory.note(serialise(payload))
            return self._drafts.draft_withheld("Document", cid, f"edit of {path}", description, metadata)
        data = serialise(self._drafts.shortened(payload))
        return self._drafts.draft_bytes("Document", data, f"edit of {path}", description, metadata)

    def carry(self, cid: object) -> None:
        """Link an asset as an input: the SDK's CID, as a user's extractor has it, or ours."""
        super().carry(cast("CID", cid))

    def create(self, cid: object) -> None:
        """Link an asset as an output."""
        # what a call makes it may also have taken away elsewhere (a move): it stands among the outputs
        self.carried = [carried for carried in self.carried if carried != cid]
        super().create(cast("CID", cid))

    def add_inputs(self, run: OpenRun, cids: list[AssetId]) -> None:
        """Make assets inputs of a run around this one."""
        self._drafts.add_inputs(run.run_id, cids)
