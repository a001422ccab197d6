"""An exported manifest, read back as a test wants to speak of it, and the rules every manifest must keep."""

import base64
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eqty_sdk import Context

from eqty_lineage.deepagents import NotExpandableError, expand
from support.sdk import cid_of

ALWAYS = {
    "name": str,
    "computation_type": str,
    "framework": str,
    "sequence": int,
    "agent": str,
    "lane": str,
    "run_id": str,
    "root_run_id": str,
    "status": str,
    "started_at": str,
    "ended_at": str,
}
COMPACTION = {"compaction", "cutoff", "messages_dropped", "messages_kept"}
SOMETIMES = {"parent_run_id", "tool_call_id", "files", "recorder", "vocabulary", "purpose", *COMPACTION}
ROLES = {"wrote": "outputs", "read": "inputs", "replaced": "inputs", "removed": "inputs", "present": "inputs"}
EVIDENCE = {"state", "arguments", "reconstructed", "bytes", "witnessed", "rendering", "edit"}


def _bare(identifiers: str | list[str] | None) -> tuple[str, ...]:
    listed = [] if identifiers is None else [identifiers] if isinstance(identifiers, str) else identifiers
    return tuple(identifier.removeprefix("urn:cid:") for identifier in listed)


@dataclass(frozen=True)
class Step:
    """One computation."""

    id: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def kind(self) -> str:
        return str(self.fields["computation_type"])

    def files(self, role: str) -> dict[str, str]:
        """Path -> CID of the files this step had in a role."""
        return {use["path"]: use["cid"] for use in self.fields.get("files", []) if use["role"] == role}

    def version(self, role: str, path: str) -> int | None:
        return next(
            (use.get("version") for use in self.fields.get("files", []) if (use["role"], use["path"]) == (role, path)),
            None,
        )


class Lineage:
    """The assets and computations of one manifest."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.blobs = {cid: base64.b64decode(text, validate=True) for cid, text in manifest["blobs"].items()}
        self.metadata: dict[str, list[dict[str, Any]]] = {}
        self.registered: set[str] = set()
        self.lost_metadata: list[str] = []
        for statement in manifest["statements"].values():
            if statement["@type"] == "DataRegistration":
                self.registered.update(_bare(statement["data"]))
            elif statement["@type"] == "MetadataRegistration":
                (subject,), (cid,) = _bare(statement["subject"]), _bare(statement["metadata"])
                if cid not in self.blobs:
                    self.lost_metadata.append(subject)
                elif (metadata := json.loads(self.blobs[cid])) not in self.metadata.setdefault(subject, []):
                    self.metadata[subject].append(metadata)

    @property
    def entities(self) -> set[str]:
        """What is registered and described, without the seals: they list statements, which differ from run to run."""
        seals = {cid for cid, said in self.metadata.items() if any(one.get("name") == "run seal" for one in said)}
        return {cid for cid in self.registered if cid in self.metadata} - seals

    @classmethod
    def exported(cls, context: Context) -> "Lineage":
        """Export a context and read it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "manifest.json")
            context.export(path)
            return cls(json.loads(path.read_bytes()))

    @classmethod
    def of(cls, context: Context, **expected: Any) -> "Lineage":
        """Export a context, read it, and hold it to the rules; see :meth:`held`."""
        return cls.exported(context).held(**expected)

    def held(self, *, conversations: int = 1, unfinished: bool = False, lost: bool = False) -> "Lineage":
        """Hold it to the rules.

        ``conversations`` says that several share the context, so that they may count the versions of one path each;
        ``unfinished`` that a run in it never ended, so that what encloses the rest may be missing; ``lost`` that an
        asset could not be stored, so that what a step did to it is said and the asset is not there.
        """
        broken = list(self.broken_rules(conversations=conversations, unfinished=unfinished, lost=lost))
        assert not broken, "\n".join(broken)
        return self

    # --- computations

    @cached_property
    def steps(self) -> list[Step]:
        """Every computation, in the order recorded."""
        found = [
            Step(id_, _bare(statement["input"]), _bare(statement["output"]), self._fields_of(id_))
            for id_, statement in self.manifest["statements"].items()
            if statement["@type"] == "ComputationRegistration"
        ]
        return sorted(found, key=lambda step: step.fields.get("sequence", 0))

    def _fields_of(self, id_: str) -> dict[str, Any]:
        (subject,) = _bare(id_)
        fields: dict[str, Any] = {"name": "", "computation_type": ""}
        for metadata in self.metadata.get(subject, []):
            fields.update(metadata)
        if "files" in fields:
            fields["files"] = [{**use, "cid": use["cid"].removeprefix("urn:cid:")} for use in fields["files"]]
        return fields

    def all(self, name: str | None = None, kind: str | None = None, **fields: Any) -> list[Step]:
        return [
            step
            for step in self.steps
            if name in (None, step.name)
            and kind in (None, step.kind)
            and all(step.fields.get(key) == value for key, value in fields.items())
        ]

    def one(self, name: str | None = None, kind: str | None = None, **fields: Any) -> Step:
        (step,) = self.all(name, kind, **fields)
        return step

    def tool(self, call_id: str) -> Step:
        """The computation of a tool call that returned."""
        return self.one(kind="tool", tool_call_id=call_id)

    def turns(self, agent: str | None = None) -> list[tuple[Step, Step]]:
        """Each model turn: its request, and what gave its response."""
        requests, answers = self.all(kind="chat_request"), self.all(kind="chat_model")
        pairs = [(one, two) for one in requests for two in answers if one.fields["run_id"] == two.fields["run_id"]]
        return [pair for pair in pairs if agent in (None, pair[0].fields["agent"])]

    def producers(self, cid: str) -> list[str]:
        return [step.name for step in self.steps if cid in step.outputs]

    def users(self, cid: str) -> list[str]:
        return [step.name for step in self.steps if cid in step.inputs]

    def ancestors(self, cid: str) -> set[str]:
        """All that an asset was made from, by any number of steps."""
        made_from: dict[str, set[str]] = {}
        for step in self.steps:
            for output in step.outputs:
                made_from.setdefault(output, set()).update(step.inputs)
        seen: set[str] = set()
        waiting = [cid]
        while waiting:
            for source in made_from.get(waiting.pop(), set()) - seen:
                seen.add(source)
                waiting.append(source)
        return seen

    def shape(self) -> Counter[tuple[str, str, int, int]]:
        """What was recorded, without identities: how often each (name, kind, inputs, outputs)."""
        return Counter((step.name, step.kind, len(step.inputs), len(step.outputs)) for step in self.steps)

    # --- assets

    def assets(self, kind: str | None = None, **fields: Any) -> list[str]:
        """CIDs of assets of a type, with the given metadata."""
        return [
            cid
            for cid, described in self.metadata.items()
            for metadata in described
            if "assetType" in metadata
            and kind in (None, metadata["assetType"])
            and all(metadata.get(key) == value for key, value in fields.items())
        ]

    def described(self, cid: str) -> dict[str, Any]:
        """The metadata of an asset that has one description."""
        (metadata,) = self.metadata[cid]
        return metadata

    def text(self, cid: str) -> str:
        return self.blobs[cid].decode()

    def payload(self, cid: str) -> Any:
        """The payload as it was recorded, with what it refers to in its place."""
        return expand(json.loads(self.blobs[cid]), self.manifest)

    def everything(self) -> str:
        """The text of every blob, to look for what must or must not be there."""
        return "\n".join(blob.decode("utf-8", "replace") for blob in self.blobs.values())

    def gaps(self) -> list[dict[str, str]]:
        return [gap for cid in self.assets("Dataset", name="gaps") for gap in self.payload(cid)["gaps"]]

    # --- files and plans

    def paths(self) -> set[str]:
        """Every path that an asset is described as a file of, a rendering's too."""
        return {
            metadata["file_path"]
            for described in self.metadata.values()
            for metadata in described
            if "file_path" in metadata
        }

    def versions(self, path: str) -> set[str]:
        """CIDs of every version recorded for a path; renderings are none."""
        return {
            cid
            for cid, described in self.metadata.items()
            for metadata in described
            if metadata.get("file_path") == path and "rendering" not in metadata["description"]
        }

    def renderings(self, path: str) -> set[str]:
        return {
            cid
            for cid, described in self.metadata.items()
            for metadata in described
            if metadata.get("file_path") == path and "rendering" in metadata["description"]
        }

    def history(self, path: str, agent: str | None = None) -> list[str]:
        """What wrote, edited and removed a file: ``["1 write_file", "2 edit_file <- 1", "- delete 2"]``."""
        lines = []
        for step in self.all() if agent is None else self.all(agent=agent):
            wrote, replaced = step.version("wrote", path), step.version("replaced", path)
            removed = step.version("removed", path)
            if wrote is not None:
                lines.append(f"{wrote} {step.name}" + ("" if replaced is None else f" <- {replaced}"))
            if removed is not None:
                lines.append(f"- {step.name} {removed}")
        return lines

    def plans(self) -> dict[str, str]:
        """The plan revisions, each under what it holds."""
        return {
            ", ".join(item["content"] for item in self.payload(cid)): cid
            for cid in self.assets("Dataset", name="todo list")
        }

    # --- rules

    def broken_rules(self, *, conversations: int, unfinished: bool, lost: bool) -> Iterator[str]:
        for subject in self.lost_metadata:
            yield f"the metadata of {subject} is missing"
        used = {cid for step in self.steps for cid in (*step.inputs, *step.outputs)}
        for cid in self.registered:
            if cid in used and cid not in self.metadata:
                yield f"{cid} has no metadata"
            withheld = any(metadata.get("withheld") for metadata in self.metadata.get(cid, []))
            if cid not in self.blobs:
                if not withheld:
                    yield f"{cid} {self.metadata.get(cid)} has no content"
            elif cid_of(self.blobs[cid]) != cid:
                yield f"{cid} is not the CID of its content"
        for cid in used & self.registered:
            yield from self._broken_references(cid)
        for cid, described in self.metadata.items():
            if cid not in self.registered and any("assetType" in metadata for metadata in described):
                yield f"{cid} {described} is described and not registered"
        for step in self.steps:
            broken = [*self._broken_in(step), *([] if lost else self._broken_files(step))]
            yield from (f"{step.name} ({step.kind}): {what}" for what in broken)
        yield from self._broken_order(conversations=conversations, unfinished=unfinished)

    def _broken_references(self, cid: str) -> Iterator[str]:
        blob = self.blobs.get(cid, b"")
        if b"eqty:ref" in blob and not any("file_path" in metadata for metadata in self.metadata.get(cid, [])):
            try:
                expand(json.loads(blob), self.manifest)
            except NotExpandableError as error:
                yield f"{cid} {self.metadata.get(cid)} refers to what is not there: {error}"

    def _broken_in(self, step: Step) -> Iterator[str]:
        (subject,) = _bare(step.id)
        if len(self.metadata.get(subject, [])) != 1:
            yield f"is described {len(self.metadata.get(subject, []))} times"
        for cid in {*step.inputs, *step.outputs} - self.registered:
            yield f"refers to {cid}, which is not registered"
        for cid in set(step.inputs) & set(step.outputs):
            yield f"has {cid} {self.metadata.get(cid)} on both sides"
        for key, type_ in ALWAYS.items():
            if type(step.fields.get(key)) is not type_:
                yield f"{key} is {step.fields.get(key)!r}"
        for key in step.fields.keys() - ALWAYS.keys() - SOMETIMES:
            yield f"has an unknown field {key}"
        if step.fields.get("status") not in {"ok", "error", "interrupted"}:
            yield f"its status is {step.fields.get('status')}"

    def _broken_files(self, step: Step) -> Iterator[str]:
        for use in step.fields.get("files", []):
            if use.keys() - {"version"} != {"path", "cid", "role", "evidence"} or use["evidence"] not in EVIDENCE:
                yield f"uses a file in an unknown form: {use}"
            elif use["cid"] not in getattr(step, ROLES[use["role"]]):
                yield f"{use['role']} {use['path']}, which is not among its {ROLES[use['role']]}"
            elif use["evidence"] == "edit":
                if not any(said.get("edit_of") == use["path"] for said in self.metadata[use["cid"]]):
                    yield f"uses an edit of {use['path']} that is not described as one"
            elif use["evidence"] != "rendering" and use["cid"] not in self.versions(use["path"]):
                yield f"uses a version of {use['path']} that is not described as one"

    def _broken_order(self, *, conversations: int, unfinished: bool) -> Iterator[str]:
        sequence = Counter(step.fields.get("sequence") for step in self.steps)
        for number, times in sequence.items():
            if times > 1:
                yield f"the sequence number {number} is used {times} times"
        wrote = Counter(
            (use["path"], use.get("version"), step.fields["lane"])
            for step in self.steps
            for use in step.fields.get("files", [])
            if use["role"] == "wrote" and "version" in use
        )
        for version, times in wrote.items():
            if times > conversations:
                yield f"the version {version} is written {times} times"
        if not unfinished:
            runs = {step.fields["run_id"] for step in self.steps}
            for step in self.steps:
                for key in ("parent_run_id", "root_run_id"):
                    if step.fields.get(key) is not None and step.fields[key] not in runs:
                        yield f"{step.name} ({step.kind}): its {key} is no recorded run"
