"""What an exported manifest says about the run, as text. It reads the manifest alone, as anybody else could."""

from __future__ import annotations

import base64
import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH = 100


@dataclass(frozen=True)
class Step:
    """A computation; its number counts them in the order recorded."""

    number: int
    metadata: dict[str, Any]
    inputs: list[str]
    outputs: list[str]

    def __str__(self) -> str:
        """Name the step as the tables do."""
        return f"step {self.number:>3}  {self.metadata['name']}, {self.metadata['agent']}"

    def files(self, *roles: str) -> Iterator[dict[str, Any]]:
        """The versions of files this step used in one of the roles."""
        return (use for use in self.metadata.get("files", []) if use["role"] in roles)


class Record:
    """The assets and steps of a manifest."""

    def __init__(self, manifest: dict[str, Any]) -> None:
        statements = manifest["statements"].values()
        self.statements = len(statements)
        self.blobs = {cid: base64.b64decode(data) for cid, data in manifest["blobs"].items()}
        self.metadata: dict[str, list[dict[str, Any]]] = {}
        for statement in statements:
            if statement["@type"] == "MetadataRegistration":
                described = json.loads(self.blobs[_bare(statement["metadata"])])
                self.metadata.setdefault(_bare(statement["subject"]), []).append(described)
        computations = [
            (self.metadata[_bare(statement["@id"])][0], _listed(statement["input"]), _listed(statement["output"]))
            for statement in statements
            if statement["@type"] == "ComputationRegistration"
        ]
        computations.sort(key=lambda computation: computation[0]["sequence"])
        self.steps = [Step(number, *computation) for number, computation in enumerate(computations, 1)]

    def assets(self, kind: str, name: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each asset of a type, and of a name if one is given, once: CID and metadata, sorted by name."""
        found = {
            cid: metadata
            for cid, described in self.metadata.items()
            for metadata in described
            if metadata.get("assetType") == kind and name in (None, metadata["name"])
        }
        return iter(sorted(found.items(), key=lambda asset: (asset[1]["name"], asset[0])))

    def payload(self, cid: str) -> Any:
        """What an asset holds: a JSON value, or the text if it is not JSON."""
        text = self.blobs[cid].decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text

    def users(self, cid: str) -> list[Step]:
        """The steps an asset is an input of."""
        return [step for step in self.steps if cid in step.inputs]


def show(manifest: Path, *, run_seconds: float, waiting_seconds: float) -> None:
    """Print what a manifest says, and how long making it took."""
    record = Record(json.loads(manifest.read_bytes()))
    _print_table("Files", ("path", "version", "CID", "written by"), _files(record))
    _print_table("Plan revisions", ("no", "CID", "done", "current", "pending", "written by"), _plans(record))
    _print_table("Agents", ("name", "role", "CID"), _agents(record))
    _print_table("Skills", ("name", "CID", "offered to"), _skills(record))
    _print_table("System prompts", ("agent", "characters", "CID", "model turns"), _prompts(record))
    _print_table("Tools whose source is recorded", ("name", "lines", "CID", "calls"), _tools(record))
    _print_table("Computations by type", ("type", "count"), _kinds(record))
    _print_table("Gaps", ("count", "reason"), _gaps(record))
    print("Time")
    print(f"  running the agent       {run_seconds:6.1f} s")
    print(f"  waiting for recording   {waiting_seconds:6.1f} s")
    print()
    print("Manifest")
    print(f"  {manifest}  ({manifest.stat().st_size / 1e6:.1f} MB, {record.statements} statements)")


def print_text(title: str, text: str) -> None:
    """Print a text under a title, wrapped."""
    print(title)
    for line in text.splitlines():
        print(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  "))
    print()


def _files(record: Record) -> list[Sequence[object]]:
    """One row a version that was written, in the order written; before them what the agent was given."""
    written: list[Sequence[object]] = []
    ordinals: dict[tuple[str, str, str], int] = {}
    for step in record.steps:
        for use in step.files("wrote"):
            first = ordinals.setdefault((step.metadata["lane"], use["path"], use["cid"]), use["version"])
            again = "" if first == use["version"] else f" (as {first})"
            written.append((use["path"], f"{use['version']}{again}", _short(use["cid"]), step))
    known = {(path, cid) for _, path, cid in ordinals}
    given = {
        (use["path"], use["cid"]): (use["path"], use["version"] or "", _short(use["cid"]), "given to the agent")
        for step in record.steps
        for use in step.files("present", "read")
        if (use["path"], use["cid"]) not in known
    }
    return [*given.values(), *sorted(written, key=lambda row: str(row[0]))]


def _plans(record: Record) -> Iterator[Sequence[object]]:
    plans = dict(record.assets("Dataset", "todo list"))
    revisions = [(step, cid) for step in record.steps for cid in step.outputs if cid in plans]
    for number, (step, cid) in enumerate(revisions, 1):
        states = Counter(item["status"] for item in record.payload(cid))
        counts = (states["completed"], states["in_progress"], states["pending"])
        yield number, _short(cid), *counts, step


def _agents(record: Record) -> Iterator[Sequence[object]]:
    for cid, metadata in record.assets("Agent"):
        yield metadata["name"], record.payload(cid)["role"], _short(cid)


def _skills(record: Record) -> Iterator[Sequence[object]]:
    for cid, metadata in record.assets("Skill"):
        agents = sorted({step.metadata["agent"] for step in record.users(cid)})
        yield metadata["name"], _short(cid), ", ".join(agents)


def _prompts(record: Record) -> Iterator[Sequence[object]]:
    for cid, _ in record.assets("System_Prompt"):
        turns = record.users(cid)
        agents = sorted({step.metadata["agent"] for step in turns})
        yield ", ".join(agents), len(record.blobs[cid].decode()), _short(cid), len(turns)


def _tools(record: Record) -> Iterator[Sequence[object]]:
    for cid, metadata in record.assets("Tool"):
        payload = record.payload(cid)
        source = payload.get("source") if isinstance(payload, dict) else payload
        if isinstance(source, str):
            yield metadata["name"], len(source.splitlines()), _short(cid), len(record.users(cid))


def _kinds(record: Record) -> list[Sequence[object]]:
    kinds = Counter(step.metadata["computation_type"] for step in record.steps)
    return [*kinds.most_common(), ("all", kinds.total())]


def _gaps(record: Record) -> list[Sequence[object]]:
    gaps = [gap for cid, _ in record.assets("Dataset", "gaps") for gap in record.payload(cid)["gaps"]]
    return [(count, reason) for reason, count in Counter(gap["reason"] for gap in gaps).most_common()]


def _print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in rows]
    print(title)
    if not cells:
        print("  none\n")
        return
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for line in (headings, *cells):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()


def _short(cid: str) -> str:
    """Shorten a CID to what tells it apart: all of a kind begin alike."""
    bare = _bare(cid)
    return f"{bare[:7]}..{bare[-8:]}"


def _bare(cid: str) -> str:
    return cid.removeprefix("urn:cid:")


def _listed(cids: str | list[str]) -> list[str]:
    """Return CIDs as a list: a single one is exported without."""
    return [_bare(cid) for cid in ([cids] if isinstance(cids, str) else cids)]
