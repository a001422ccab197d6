"""How what a call did to files is linked into that call's computation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from eqty_lineage.deepagents.facts import Evidence, FileUse, Role, Version, Why
from eqty_lineage.deepagents.filesystem import renderings
from eqty_lineage.deepagents.filesystem.effects import (
    Edited,
    Effect,
    Found,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Rendered,
    Unchanged,
    Unknown,
    Witnessed,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.reconstruction import Execute, FileCall, Read, Search
from eqty_lineage.deepagents.payloads import plain

if TYPE_CHECKING:
    from eqty_lineage.deepagents.sinks import StateSink


def apply(effect: Effect, sink: StateSink, *, call: FileCall | None = None, result: Any = None, what: str = "") -> None:
    """Carry, create and use what ``effect`` says; ``call`` and ``result`` are those of the file call, if it was one.

    What could not be told is a gap, and so is whatever a shell did.
    """

    def use(version: Version, role: Role, data: bytes | None = None) -> None:
        sink.draft_version(version, sink.run.lane.files.bytes_of(version) if data is None else data)
        if role is Role.WROTE:
            sink.create(version.cid)
        else:
            sink.carry(version.cid)
        sink.run.uses.append(FileUse.of(version, role))

    if not isinstance(call, Read | Search):
        # what was said of a file that was saved is no longer the latest that is known of it
        sink.run.lane.forget_saved(what or getattr(call, "path", None))
    match effect:
        case Wrote(version, replaced, data):
            sink.run.lane.renderings.pop(version.path, None)
            sink.run.lane.edits.pop(version.path, None)
            if replaced is not None:
                use(replaced, Role.REPLACED)
            use(version, Role.WROTE, data)
        case Unchanged(version):
            use(version, Role.PRESENT)
        case Removed(versions):
            for version in versions:
                sink.run.lane.edits.pop(version.path, None)
                use(version, Role.REMOVED)
        case ReadVersion(version):
            use(version, Role.READ)
        case ReadBytes(version, data):
            use(version, Role.READ, data)
        case Found(versions):
            for version in versions:
                use(version, Role.READ)
        case Edited():
            _use_edit(effect, sink)
            if effect.base is not None:
                use(effect.base, Role.READ)
            sink.gap(effect.why, what or _name_of(effect.call))
        case Witnessed(uses, told, contradicted):
            apply(told, sink, call=call, result=result, what=what)
            for version, role in uses:
                _note_witnessed(version, role, sink, call)
                use(version, role)
            for path in contradicted:
                sink.gap(Why.WITNESS_CONTRADICTS, path)
        case Unknown(why):
            sink.gap(why, what or _name_of(call))
        case Rendered():
            if isinstance(call, Read):
                _use_rendering(call, result, sink)
        case Nothing():
            if isinstance(call, Execute):
                sink.gap(Why.SHELL, "execute")
        case _:
            assert_never(effect)


def _note_witnessed(version: Version, role: Role, sink: StateSink, call: FileCall | None) -> None:
    lane = sink.run.lane
    if role in (Role.WROTE, Role.REMOVED):
        lane.renderings.pop(version.path, None)
        lane.edits.pop(version.path, None)
    saved = lane.saved_at(version.path)
    if isinstance(call, Read) and saved is not None and saved != version.cid:
        # where it came from, if what it held was not seen as it was saved
        sink.carry(saved)


def _use_rendering(call: Read, result: Any, sink: StateSink) -> None:
    run = sink.run
    name = renderings.name_of(call.path, call.offset, call.limit)
    cid = sink.draft_rendering(plain(result), call.path, name)
    sink.carry(cid)
    run.uses.append(FileUse(call.path, cid, None, Role.READ, Evidence.RENDERING))
    saved = run.lane.saved_at(call.path)
    if saved is not None and saved != cid:
        # where it came from; what it holds by now is what was read
        sink.carry(saved)
    run.lane.renderings[call.path] = (cid, run.tool_call_id)


def _use_edit(edit: Edited, sink: StateSink) -> None:
    """What was replaced by what is known, and which rendering the model saw that asked for it."""
    run, path = sink.run, edit.call.path
    cid = sink.draft_edit(path, edit.call.old, edit.call.new, every=edit.call.every, count=edit.count)
    sink.create(cid)
    run.uses.append(FileUse(path, cid, None, Role.WROTE, Evidence.EDIT))
    rendering, shown_by = run.lane.renderings.get(path) or (None, None)
    if rendering is not None and shown_by in run.lane.shown:
        sink.carry(rendering)
        run.uses.append(FileUse(path, rendering, None, Role.READ, Evidence.RENDERING))
    elif path in run.lane.memory:
        # its turns are given the file as it was when the thread began
        sink.carry(sink.draft_version(run.lane.memory[path], None))
        run.uses.append(FileUse.of(run.lane.memory[path], Role.READ))
    before = run.lane.edits.get(path)
    if before is not None and before != cid:
        sink.carry(before)
    run.lane.edits[path] = cid


def _name_of(call: FileCall | None) -> str:
    path = getattr(call, "path", "")
    return f"{type(call).__name__.lower()} {path}".strip()
