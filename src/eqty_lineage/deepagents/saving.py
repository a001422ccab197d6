"""How files that no file tool wrote, and compactions, get into the record of the step that caused them.

Where the bytes are known (a result that gave way to a preview) the file is a version like any other. Where only a
state can show them, the step's computation waits for the next state of its agent. Where nothing will show them, what is
said of the file stands for it: its path, and the preview.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eqty_lineage.deepagents import compaction, file_effects, offloads
from eqty_lineage.deepagents.drafting import Frame, ids
from eqty_lineage.deepagents.facts import (
    AssetId,
    Computation,
    Evidence,
    FileUse,
    Gap,
    Role,
    Version,
    Why,
    files_metadata,
)
from eqty_lineage.deepagents.filesystem import renderings
from eqty_lineage.deepagents.filesystem.effects import Effect
from eqty_lineage.deepagents.filesystem.paths import VirtualPath, is_removed_by
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Delete,
    Edit,
    Execute,
    FileCall,
    Foreign,
    Succeeded,
    Write,
)
from eqty_lineage.deepagents.lanes import Lane
from eqty_lineage.deepagents.observing import Observer
from eqty_lineage.deepagents.offloads import Blob, Saved
from eqty_lineage.deepagents.payloads import plain, serialise
from eqty_lineage.deepagents.recording import sdk
from eqty_lineage.deepagents.runs import OpenRun, Root, Withheld
from eqty_lineage.deepagents.sinks import Place, StateSink

_HISTORY = offloads.EVENT
"""Under which name a node knows that its tool has told of a compaction already."""


class Saving(Observer):
    """What a step's output says beyond its messages and the state keys that extractors claim."""

    def _note_saved(self, run: OpenRun, outputs: Any, frame: Frame) -> None:
        """Add to the frame of a node's or tool's end what it says was saved; before its computation is drafted."""
        lane = run.lane
        if run.owns_state and frame.place is Place.NODE_OUT:
            for saved in offloads.saved_in(outputs, run.returned, by_model=run.name == "model"):
                self._save(saved, run, frame)
            count = compaction.count_after(outputs, lane.message_count)
        else:
            # the node repeats what its tool says
            count = lane.message_count
        event = offloads.event_in(outputs)
        if event is not None and run.owns_state and self._is_new(event, run):
            run.notes.update(compaction.noted(event, lane.message_count, lane.cutoff))
            history = offloads.history_in(outputs)
            if history is not None:
                self._save(history, run, frame)
            if frame.place is Place.RESULT and run.parent is not None:
                # the node repeats what its tool has said
                run.parent.applied[_HISTORY] = AssetId(run.name)
        elif run.owns_state and frame.place is Place.NODE_OUT:
            run.notes.update(compaction.rewritten(run.name, outputs, lane.message_count))
        lane.message_count = count

    @staticmethod
    def _is_new(event: Mapping[str, Any], run: OpenRun) -> bool:
        """Whether a compaction is one of this step's, and not repeated from its tool or from the state."""
        return not run.applied.get(_HISTORY) and event.get("cutoff_index") != (run.lane.cutoff or None)

    def _note_captured(self, run: OpenRun, output: Any, frame: Frame) -> None:
        saved = offloads.captured_in(output)
        if saved is not None:
            self._stand_in(saved, run, frame)

    def _save(self, saved: Saved | Blob, run: OpenRun, frame: Frame) -> None:
        files = run.lane.files
        if isinstance(saved, Blob):
            description = "A binary content block that was moved to a file of its own."
            named = {"sha256": saved.sha256}
            cid = sdk.cid_of(saved.data)
            if self.memory.is_withheld(cid):
                # the hash confirms a guess as a CID does
                frame.created.append(self.draft_withheld("Media", cid, "blob", description))
            else:
                frame.created.append(self.draft_bytes("Media", saved.data, f"blob {saved.sha256}", description, named))
            return
        if files.in_state:
            # a middleware may have changed what was saved: the state will tell
            frame.expected.append(saved)
            return
        if saved.text is None or not renderings.may_be_preview_of(saved.said, saved.text):
            self._stand_in(saved, run, frame)
            return
        ticket = files.begin(Write(VirtualPath(saved.path), saved.text), run.step, Evidence.RECONSTRUCTED)
        self._add_effect(files.settle(ticket, Succeeded()), ticket.call, frame)

    def _add_effect(self, effect: Effect, call: FileCall, frame: Frame, result: Any = None) -> None:
        """Add what a file call did to the frame of the callback that tells of it."""
        sink = StateSink({}, frame.place, frame.run, self, None)
        file_effects.apply(effect, sink, call=call, result=result)
        frame.carried.extend(ids(sink.carried))
        frame.created.extend(ids(sink.created))

    def _stand_in(self, saved: Saved, run: OpenRun, frame: Frame) -> None:
        """Let what is said of a file stand for it, and no earlier content of it be believed."""
        run.lane.files.shared.forget(saved.path)
        cid = self._draft_said(saved, run.lane)
        frame.created.append(cid)
        run.uses.append(FileUse(saved.path, cid, None, Role.WROTE, Evidence.RENDERING))

    def _draft_said(self, saved: Saved, lane: Lane) -> AssetId:
        sink_metadata = {"file_path": saved.path}
        description = "A rendering of what is known of a file that was saved, not the file's bytes."
        if self.memory.fits(saved.path):
            cid = self.memory.note(serialise(plain(saved.said)))
            self.draft_withheld("Document", cid, saved.path, description, sink_metadata)
        else:
            data = serialise(self.shortened(plain(saved.said)))
            cid = self.draft_bytes("Document", data, saved.path, description, sink_metadata)
        lane.saved[saved.path] = cid
        return cid

    # --- what only the next state shows

    def _withhold(self, run: OpenRun, frame: Frame) -> None:
        """Keep the frame's last computation back, if the next state will show what it wrote."""
        if not frame.expected or not frame.computations:
            return
        lane = run.lane
        before = {known.version.path: known.version for known in lane.files.current()}
        for saved in frame.expected:
            lane.files.unsettle(saved.path, run.step)
        lane.fresh = []
        withheld = Withheld(frame.computations.pop(), list(frame.expected), before)
        run.root.withheld.setdefault(lane.key, []).append(withheld)

    @staticmethod
    def _spoil(run: OpenRun, call: FileCall | None) -> None:
        """Note which saved files a call that starts may change before a state has shown them."""
        for withheld in run.root.withheld.get(run.lane.key, []):
            for saved in withheld.expected:
                is_named = isinstance(call, Write | Edit | Delete) and is_removed_by(saved.path, call.path)
                if isinstance(call, Foreign):
                    is_named = call.names(saved.path)
                if is_named or isinstance(call, Execute) or run.name == "task":
                    withheld.spoiled.add(saved.path)

    def _release(self, run: OpenRun, frame: Frame) -> None:
        """Record the computations that waited, with what the state of this frame shows of their files."""
        lane = run.lane
        released = []
        for withheld in run.root.withheld.pop(lane.key, []):
            uses: list[FileUse] = []
            for saved in withheld.expected:
                if saved.path not in withheld.spoiled:
                    uses += _shown(saved, withheld, lane.fresh)
                if any(use.path == saved.path for use in uses):
                    continue
                if lane.returns_files and saved.is_history:
                    # such a backend has no way to write outside a tool: what it returned was lost (0.4.12)
                    self.note_gap(run.root, Gap(Why.NOT_SHOWN, saved.path, lane.label))
                else:
                    cid = self._draft_said(saved, lane)
                    uses.append(FileUse(saved.path, cid, None, Role.WROTE, Evidence.RENDERING))
            shown = [replace(use, cid=self.memory.entity(use.cid)) for use in uses]
            released.append(_completed(withheld.computation, shown))
        frame.computations[:0] = released

    def _close_withheld(self, root: Root) -> None:
        """Record what no state will complete any more."""
        for waiting in root.withheld.values():
            for withheld in waiting:
                self._submit_computation(root, withheld.computation)
        root.withheld.clear()


def _shown(saved: Saved, withheld: Withheld, fresh: list[Version]) -> list[FileUse]:
    """Return what a state shows of a saved file, and of the media files a history can have come with."""
    media = saved.path.rpartition("/")[0] + "/media/"
    uses: list[FileUse] = []
    for version in fresh:
        old = withheld.before.get(version.path)
        if version.path == saved.path or (old is None and version.path.startswith(media)):
            if old is not None and old.cid != version.cid:
                uses.append(FileUse.of(old, Role.REPLACED))
            uses.append(FileUse.of(version, Role.WROTE))
    return uses


def _completed(computation: Computation, uses: list[FileUse]) -> Computation:
    fields = json.loads(computation.metadata)
    fields["files"] = [*fields.get("files", []), *files_metadata(uses)]
    outputs = dict.fromkeys([*computation.outputs, *(use.cid for use in uses if use.role is Role.WROTE)])
    inputs = dict.fromkeys([*computation.inputs, *(use.cid for use in uses if use.role is not Role.WROTE)])
    return replace(
        computation,
        inputs=tuple(cid for cid in inputs if cid not in outputs),
        outputs=tuple(outputs),
        metadata=sdk.metadata_json(fields),
    )
