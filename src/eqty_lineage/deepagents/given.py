"""What an agent is given besides its messages: skills, memory files, and tasks that run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eqty_lineage.langchain import UNCLAIMED, AssetSink, StateExtractor

from eqty_lineage.deepagents.facts import AssetId, FileUse, Role, Why
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Unreadable
from eqty_lineage.deepagents.payloads import StandIn, plain, serialise
from eqty_lineage.deepagents.sinks import Place, StateSink


class SkillExtractor(StateExtractor):
    """``skills_metadata``: each skill of the catalogue is a ``Skill``, carried; the sorted names stand in."""

    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        """Claim a catalogue. One unreadable entry declines the whole before anything is registered."""
        del key_path
        if not isinstance(sink, StateSink) or sink.state_key != "skills_metadata" or sink.place is Place.RUN_IN:
            return UNCLAIMED
        if not isinstance(value, list):
            return UNCLAIMED
        skills = [plain(skill) for skill in value]
        if not all(
            isinstance(skill, dict) and isinstance(skill.get("name"), str) and skill["name"] for skill in skills
        ):
            return UNCLAIMED
        for skill in skills:
            cid = sink.draft("Skill", skill, skill["name"], str(skill.get("description") or "A skill."))
            sink.carry(cid)
            sink.run.given.append(cid)
        return sorted(skill["name"] for skill in skills)


class MemoryExtractor(StateExtractor):
    """``memory_contents``: each memory file is a version of that file, carried; a map of path to CID stands in.

    The agent keeps what was loaded when its thread began, whatever the file holds since, so a memory is no belief about
    the file: it is the version that was loaded.
    """

    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        """Claim the loaded memory files. A caller's key of that name is none: the graph drops it."""
        del key_path
        if not isinstance(sink, StateSink) or sink.state_key != "memory_contents" or sink.place is Place.RUN_IN:
            return UNCLAIMED
        if not isinstance(value, Mapping) or not all(
            isinstance(path, str) and isinstance(text, str) for path, text in value.items()
        ):
            return UNCLAIMED
        run = sink.run
        stand_in = StandIn(dict.fromkeys(value))
        if not sink.is_update:
            run.lane.memory = {}
        for path, text in value.items():
            content = contents.from_text(text)
            if isinstance(content, Unreadable):
                sink.gap(content.why, path)
                continue
            version = run.lane.files.given(path, run.lane.files.cid_of(content.data))
            sink.draft_version(version, content.data)
            sink.carry(version.cid)
            stand_in[path] = str(sink.memory.entity(version.cid))
            if sink.is_update:
                run.uses.append(FileUse.of(version, Role.READ))
            else:
                run.given.append(version.cid)
                run.lane.memory[path] = version
        return stand_in


class AsyncTaskExtractor(StateExtractor):
    """``async_tasks``: each revision of a remote task's record is a ``Dataset``; its CID and status stand in."""

    def extract(self, key_path: tuple[str, ...], value: Any, sink: AssetSink) -> Any:
        """Claim the tasks that run elsewhere. What such a task does there is not seen: a gap says so."""
        del key_path
        if not isinstance(sink, StateSink) or sink.state_key != "async_tasks" or sink.place is Place.RUN_IN:
            return UNCLAIMED
        if not isinstance(value, Mapping) or not all(_is_task(task) for task in value.values()):
            return UNCLAIMED
        remote = sink.run.lane.remote
        if not sink.is_update:
            for key in [key for key in remote if key not in value]:
                # this branch of the thread has no such task
                del remote[key]
        return {str(key): _revision(str(key), task, sink) for key, task in value.items()}


def _is_task(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in ("agent_name", "status"))


def _revision(key: str, task: Mapping[str, Any], sink: StateSink) -> StandIn:
    run = sink.run
    payload = sink.refined(plain(task))
    cid = run.lane.files.cid_of(serialise(payload))
    known = run.lane.remote.get(key)
    said = run.applied.get(f"async_tasks/{key}") == cid and sink.place is Place.NODE_OUT
    name = f"{task['agent_name']}: remote task"
    sink.draft("Dataset", payload, name, "What is known here of a task that runs elsewhere.")
    if said or known == cid or not sink.is_update:
        sink.carry(cid)
    else:
        if known is None:
            sink.gap(Why.REMOTE, str(task["agent_name"]))
        else:
            sink.carry(known)
        sink.create(cid)
    if sink.place is Place.RESULT and run.parent is not None:
        # also a revision that says nothing new is repeated by the node, when a sibling may have made another
        run.parent.applied[f"async_tasks/{key}"] = AssetId(cid)
    run.lane.remote[key] = cid
    return StandIn(task=str(cid), status=str(task["status"]))
