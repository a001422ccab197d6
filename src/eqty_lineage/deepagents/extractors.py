"""What the state keys of a deep agent stand for: files, plan and skills become assets of their own.

An extractor claims its key at the top of a state and in the ``update`` of a ``Command``, nowhere else: the same name
among a tool's arguments, or in a result that is not state, is somebody else's value. It knows a sink, not the handler.
A value without the shape of DeepAgents' data is declined whole and stays in the payload as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from eqty_lineage.langchain import UNCLAIMED, AssetSink, StateExtractor

from eqty_lineage.deepagents import file_effects
from eqty_lineage.deepagents.facts import AssetId, FileUse, PlanRevision, Role, Version
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Unreadable
from eqty_lineage.deepagents.payloads import StandIn, plain, serialise
from eqty_lineage.deepagents.sinks import Place, StateSink

if TYPE_CHECKING:
    from eqty_lineage.deepagents.runs import OpenRun

_STATUSES: Final = frozenset({"pending", "in_progress", "completed"})


class VirtualFileExtractor(StateExtractor):
    """``files``: each version of a file is a ``Document`` (or ``Media``); a map of path to CID stands in."""

    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        """Claim a DeepAgents filesystem. Entries whose bytes cannot be told are ``None`` in the stand-in."""
        del key_path
        if not isinstance(sink, StateSink) or sink.state_key != "files":
            return UNCLAIMED
        lane = sink.run.lane
        if not contents.is_filesystem(value, plain_strings=lane.has_file_tools):
            return UNCLAIMED
        if sink.is_update:
            return self._update(value, sink)
        if sink.place is Place.RUN_IN:
            return self._offer(value, sink)
        if sink.place is Place.RUN_OUT and not lane.files.in_state:
            return UNCLAIMED
        return self._adopt(value, sink)

    @staticmethod
    def _adopt(files: Mapping[str, Any], sink: StateSink) -> StandIn:
        """A state is the truth: every file in it was there already."""
        run = sink.run
        adoption = run.lane.files.adopt(files, run.step if sink.place is Place.NODE_IN else None)
        stand_in = StandIn(dict.fromkeys(files))
        run.lane.fresh = [version for version, data in adoption.present if data is not None]
        for version, data in adoption.present:
            sink.draft_version(version, data)
            sink.carry(version.cid)
            stand_in[version.path] = str(sink.memory.entity(version.cid))
            _confirm(version, sink)
            if data is not None or sink.place is Place.RUN_OUT:
                # what was there before, and what a run ends with; not the whole filesystem again at every node
                run.uses.append(FileUse.of(version, Role.PRESENT))
        for path, why in adoption.unreadable:
            if (path, why) not in run.root.unreadable:
                run.root.unreadable.add((path, why))
                sink.gap(why, path)
        return stand_in

    @staticmethod
    def _offer(files: Mapping[str, Any], sink: StateSink) -> StandIn:
        """A graph is handed files: whether it takes them up shows in its first node's state."""
        stand_in = StandIn(dict.fromkeys(files))
        for path, entry in files.items():
            content = None if entry is None else contents.content_of(entry)
            if content is None:
                continue
            if isinstance(content, Unreadable):
                sink.gap(content.why, path)
                continue
            cid = sink.run.lane.files.cid_of(content.data)
            sink.memory.withholds(path, cid, content.data)
            stand_in[path] = str(sink.memory.entity(cid))
            sink.run.offered.append((path, cid, content.data))
        return stand_in

    @staticmethod
    def _update(files: Mapping[str, Any], sink: StateSink) -> StandIn:
        """A tool or node changes files: what is new there, it made."""
        run = sink.run
        ticket = run.ticket
        stand_in = StandIn(dict.fromkeys(files))
        for path, entry in files.items():
            if ticket is not None and path != getattr(ticket.call, "path", path):
                # releases up to 0.0.11 return the whole filesystem: only the file the call names is its work
                stand_in[path] = _shown(path, entry, sink)
                continue
            cid = _cid_in(entry, run)
            stand_in[path] = _shown(path, entry, sink)
            if sink.place is Place.NODE_OUT and run.applied.get(path, "") == cid:
                # what this node's tool did is said; a sibling may have written over it since
                if cid is not None:
                    sink.carry(cid)
                continue
            if sink.place is Place.RESULT and run.parent is not None:
                run.parent.applied[path] = None if cid is None else AssetId(cid)
            effect = run.lane.files.update(path, entry, run.step, ticket)
            file_effects.apply(effect, sink, what=path)
        return stand_in


def _shown(path: str, entry: Any, sink: StateSink) -> str | None:
    """Return what stands for an entry's content."""
    content = None if entry is None else contents.content_of(entry)
    if content is None or isinstance(content, Unreadable):
        return None
    cid = sink.run.lane.files.cid_of(content.data)
    sink.memory.withholds(path, cid, content.data)
    return str(sink.memory.entity(cid))


def _cid_in(entry: Any, run: OpenRun) -> str | None:
    content = None if entry is None else contents.content_of(entry)
    return None if content is None or isinstance(content, Unreadable) else str(run.lane.files.cid_of(content.data))


def _confirm(version: Version, sink: StateSink) -> None:
    """A file that the caller passed in is in the state: it is an input of the graph or agent it was passed to."""
    for run in sink.run.ancestors():
        if run.is_whole:
            offered = [offer for offer in run.offered if offer[:2] == (version.path, version.cid)]
            if offered:
                run.offered = [offer for offer in run.offered if offer not in offered]
                run.uses.append(FileUse.of(version, Role.PRESENT))
                sink.add_inputs(run, [version.cid])
            return


class TodoListExtractor(StateExtractor):
    """``todos``: each revision of the plan is a ``Dataset``; its CID and how much is open stand in."""

    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        """Claim a plan. A ``todos`` key handed to a graph is none: the graph drops it."""
        del key_path
        if not isinstance(sink, StateSink) or sink.state_key != "todos" or sink.place is Place.RUN_IN:
            return UNCLAIMED
        if not _is_plan(value):
            return UNCLAIMED
        lane = sink.run.lane
        current = lane.plan
        if current is None and not sink.is_update and (sink.place is Place.RUN_OUT or not value):
            # nobody is known to plan here
            return UNCLAIMED
        payload = sink.refined(plain(value))
        open_items = sum(item["status"] != "completed" for item in value)
        cid = lane.files.cid_of(serialise(payload))
        if sink.place is Place.NODE_OUT and sink.run.applied.get("todos") == cid:
            sink.carry(cid)
            return StandIn(plan=str(cid), open=open_items)
        if sink.place is Place.RESULT and sink.run.parent is not None:
            sink.run.parent.applied["todos"] = cid
        if current is not None and current.cid == cid:
            sink.carry(self._draft(payload, sink))
            return _plan_stand_in(current)
        revision = lane.revise(cid, open_items)
        self._draft(payload, sink)
        if sink.is_update:
            if current is not None:
                sink.carry(current.cid)
            sink.create(cid)
        else:
            sink.carry(cid)
        return _plan_stand_in(revision)

    @staticmethod
    def _draft(payload: Any, sink: StateSink) -> AssetId:
        return sink.draft("Dataset", payload, "todo list", "A revision of the agent's plan.")


def _is_plan(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping)
        and item.keys() == {"content", "status"}
        and isinstance(item["content"], str)
        and item["status"] in _STATUSES
        for item in value
    )


def _plan_stand_in(plan: PlanRevision) -> StandIn:
    return StandIn(plan=str(plan.cid), open=plan.open_items)


__all__ = [
    "UNCLAIMED",
    "AssetSink",
    "Place",
    "StateExtractor",
    "StateSink",
    "TodoListExtractor",
    "VirtualFileExtractor",
]
