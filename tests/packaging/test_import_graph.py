"""Who may import whom. Read from the source: an import in a function or under TYPE_CHECKING counts too."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import eqty_lineage.langchain as base_package
import pytest

OURS = "eqty_lineage.deepagents"
BASE = "eqty_lineage.langchain"
PUBLIC_OF_BASE = frozenset(f"{BASE}.{name}" for name in base_package.__all__)

# Threads, clocks and logs would make what happened depend on who watched.
NOT_PURE = frozenset({"asyncio", "concurrent", "datetime", "logging", "multiprocessing", "threading", "time"})
# "Never imported by the shipped handler" is not to be had by asking at run time either.
IMPORTED_BY_NAME = frozenset({"__import__", "import_module"})


@dataclass(frozen=True)
class Room:
    """What the modules of one room may import beside the standard library."""

    ours: tuple[str, ...] = ()  # modules of this package
    others: tuple[str, ...] = ()  # other distributions: the name and everything below it
    base: str = "nothing"  # of eqty_lineage.langchain: "nothing", "public" or "private"
    pure: bool = False


FILES = ("facts", "filesystem", "filesystem.*")
PURE = (*FILES, "discretion", "discretion.*")
RECORDING = ("recording", "recording.*")

# The first pattern that fits a module is its room. A module that no pattern fits fails the test.
# A folder's own module is `folder.__init__`.
VALUES = (
    *("compaction", "injected", "offloads", "payloads", "prompts", "references", "results", "transcripts"),
    *("endings", "clock", "gaps", "recent", "stats"),
)
RUNS = ("runs", "lanes", "agents")
STATE = ("sinks", "file_effects", "extractors", "given")

# Of the recording side, the reader knows how references are put back: plain JSON in, plain JSON out.
READING = ("reading", "reading.*", "references.expand", "references.NotExpandableError")

ROOMS = {
    "__init__": Room(ours=("public",)),
    "public": Room(
        ours=("handler", "extractors", "given", "references", "recording.sdk", "recording.journal", "discretion.globs"),
        base="public",
    ),
    "facts": Room(ours=FILES, pure=True),
    "filesystem.*": Room(ours=FILES, pure=True),
    "discretion.*": Room(ours=PURE, pure=True),
    "recording.sdk": Room(ours=("facts", *RECORDING), others=("eqty_sdk",)),
    "recording.*": Room(ours=("facts", *RECORDING)),
    "clock": Room(),
    "injected": Room(),
    "endings": Room(),
    "gaps": Room(ours=("facts",)),
    "recent": Room(),
    "stats": Room(),
    "progress": Room(others=("rich",)),
    "references": Room(ours=("facts",)),
    "transcripts": Room(ours=("payloads", "references", *PURE), others=("langchain_core",)),
    "payloads": Room(ours=("discretion.names",), others=("langchain_core",), base="public"),
    "results": Room(ours=("payloads",), others=("langchain_core",)),
    "compaction": Room(ours=("results",), others=("langchain_core",)),
    "offloads": Room(ours=("results",), others=("langchain_core",)),
    "prompts": Room(ours=("compaction", "facts", "payloads", "results"), others=("langchain_core",)),
    "lanes": Room(ours=("recent", "transcripts", *PURE)),
    "runs": Room(ours=("gaps", "lanes", "offloads", "recent", "transcripts", "recording.jobs", "recording.sdk", *PURE)),
    "agents": Room(ours=("lanes", "runs")),
    # what an extractor knows: a sink, and through it the run it is in; never the handler
    "sinks": Room(ours=("payloads", "runs", "recording.sdk", *PURE), base="public"),
    "file_effects": Room(ours=("payloads", "sinks", *PURE)),
    "extractors": Room(ours=("payloads", "runs", "sinks", "file_effects", *PURE), base="public"),
    "given": Room(ours=("payloads", "sinks", *PURE), base="public"),
    "drafting": Room(ours=(*VALUES, *RUNS, "sinks", *PURE, *RECORDING), others=("langchain_core",)),
    "packing": Room(
        ours=("drafting", *VALUES, *RUNS, "sinks", *PURE, *RECORDING), others=("langchain_core",), base="public"
    ),
    "base": Room(
        ours=("drafting", "packing", *VALUES, *RUNS, *STATE, *PURE, *RECORDING),
        others=("langchain_core",),
        base="private",
    ),
    "queueing": Room(ours=("base", "drafting", "progress", *VALUES, *RUNS, "sinks", *PURE, *RECORDING)),
    "witnessing": Room(ours=("facts", "recording.sdk")),
    "observing": Room(
        ours=("queueing", "witnessing", *VALUES, *RUNS, "extractors", "given", "sinks", *PURE, *RECORDING)
    ),
    "saving": Room(ours=("observing", "drafting", *VALUES, *RUNS, *STATE, *PURE, *RECORDING)),
    "chains": Room(ours=("observing", "saving", *VALUES, *RUNS, *STATE, *PURE)),
    "model_turns": Room(ours=("observing", "saving", *VALUES, *RUNS, *STATE, *PURE), others=("langchain_core",)),
    "tool_calls": Room(ours=("observing", "saving", "chains", "drafting", *VALUES, *RUNS, *STATE, *PURE)),
    "retrievals": Room(ours=("observing", "saving", *VALUES, *RUNS, *STATE, *PURE)),
    "handler": Room(ours=("chains", "model_turns", "tool_calls", "retrievals")),
    # what a command prints with, what hashes and what verifies signatures, and one of the formats of an export
    "reading.cli": Room(ours=READING, others=("click", "rich")),
    "reading.cli.*": Room(ours=READING, others=("click", "rich")),
    "reading.verification.*": Room(ours=READING, others=("blake3", "eqty_sdk")),
    "reading.exports.prov": Room(ours=READING, others=("prov",)),
    "reading.*": Room(ours=READING),
}


def room_of(module: str) -> Room | None:
    return next((room for pattern, room in ROOMS.items() if fnmatchcase(module, pattern)), None)


def imports(module: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything imported; for `from a import b` that is `a.b`."""
    folder = f"{OURS}.{module}".split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in IMPORTED_BY_NAME:
                yield node.lineno, f"{called}(...)"


def objection(room: Room, imported: str) -> str | None:
    """Why a room may not import this, or None."""
    top, _, _ = imported.partition(".")
    if imported == OURS or imported.startswith(f"{OURS}."):
        inner = imported.removeprefix(OURS).removeprefix(".")
        # `from .facts import Gap` names something in a module, `from . import facts` the module
        names = {inner, inner.rpartition(".")[0]} - {""}
        allowed = any(fnmatchcase(name, pattern) for name in names for pattern in room.ours)
        return None if allowed else "not a room it may look into"
    if imported == BASE or imported.startswith(f"{BASE}."):
        if room.base == "private" or (room.base == "public" and imported in PUBLIC_OF_BASE):
            return None
        return "beyond the public names of the base package" if room.base == "public" else "not its business"
    if top in sys.stdlib_module_names:
        return "makes a pure module impure" if room.pure and top in NOT_PURE else None
    return None if top in room.others else "not among the distributions it may import"


def objections(module: str, source: str) -> list[str]:
    room = room_of(module)
    if room is None:
        return [f"{module}: say in ROOMS where it belongs"]
    found = ((line, name, objection(room, name)) for line, name in imports(module, source))
    return [f"{module}:{line}: {name}: {why}" for line, name, why in found if why]


def test_every_module_imports_only_what_its_room_may(root: Path) -> None:
    package = root / "src" / "eqty_lineage" / "deepagents"
    paths = sorted(package.rglob("*.py"))
    found = [
        line
        for path in paths
        for line in objections(
            ".".join(path.relative_to(package).with_suffix("").parts), path.read_text(encoding="utf-8")
        )
    ]
    assert package / "__init__.py" in paths
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("facts", "import json, os.path"),
        ("facts", "from collections.abc import Mapping"),
        ("filesystem.__init__", "from . import edits"),
        ("filesystem.versions", "from . import edits"),
        ("filesystem.versions", "from .paths import VirtualPath"),
        ("filesystem.versions", "from ..facts import Gap"),
        ("filesystem.versions", "from .. import facts"),
        ("filesystem.versions", "from eqty_lineage.deepagents import facts"),
        ("filesystem.versions", "from eqty_lineage.deepagents.filesystem import paths"),
        ("filesystem.versions", "import eqty_lineage.deepagents.filesystem.paths"),
        ("recording.sdk", "import threading\nfrom eqty_sdk.statements import add_data_statement"),
        ("recording.recorder", "from eqty_lineage.deepagents.facts import Gap"),
        ("extractors", "from eqty_lineage.langchain import StateExtractor"),
        ("base", "from eqty_lineage.langchain._serialize import _to_jsonable"),
        ("base", "from eqty_lineage.deepagents.recording import sdk"),
        ("model_turns", "from langchain_core.messages import BaseMessage"),
        ("handler", "import importlib.metadata"),
        ("__init__", "from eqty_lineage.deepagents import public"),
        ("public", "from eqty_lineage.deepagents.handler import EqtyDeepAgentsHandler"),
        ("public", "from .handler import EqtyDeepAgentsHandler"),
        ("reading.files", "from eqty_lineage.deepagents.reading.model import File"),
        ("reading.details", "from ..references import NotExpandableError, expand"),
        ("reading.cli.__init__", "import click, rich.console"),
        ("reading.verification.hashing", "def f():\n    import blake3"),
        ("reading.verification.signatures", "from eqty_sdk import verify_statement"),
        ("reading.exports.prov", "from prov.model import ProvDocument"),
    ],
)
def test_allowed(module: str, source: str) -> None:
    assert objections(module, source) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        # pure modules
        ("facts", "import time"),
        ("facts", "import logging.handlers"),
        ("facts", "if TYPE_CHECKING:\n    from datetime import datetime"),
        ("filesystem.edits", "def now():\n    import threading"),
        ("filesystem.edits", "from concurrent.futures import Future"),
        ("filesystem.edits", "from langchain_core.messages import BaseMessage"),
        ("filesystem.edits", "import eqty_sdk"),
        ("filesystem.edits", "from eqty_lineage.deepagents.recording import recorder"),
        ("filesystem.edits", "from eqty_lineage.deepagents import EqtyDeepAgentsHandler"),
        ("filesystem.edits", "from eqty_lineage.langchain import StateExtractor"),
        # the SDK has one door
        ("recording.recorder", "from eqty_sdk import CID"),
        ("recording.__init__", "import eqty_sdk"),
        ("extractors", "from eqty_sdk import Document"),
        ("handler", "import eqty_sdk.metadata"),
        ("base", "import eqty_sdk"),
        ("lanes", "import eqty_sdk"),
        ("__init__", "from eqty_sdk import init"),
        # the base's private members have one room
        ("handler", "from eqty_lineage.langchain._serialize import _to_jsonable"),
        ("handler", "from eqty_lineage.langchain import _to_jsonable"),
        ("handler", "from eqty_lineage.langchain import *"),
        ("handler", "import eqty_lineage.langchain"),
        ("handler", "from eqty_lineage import langchain"),
        ("extractors", "from eqty_lineage.langchain.extractors import PathExtractor"),
        ("lanes", "from eqty_lineage.langchain import EqtyCallbackHandler"),
        # one way only
        ("recording.recorder", "from ..handler import EqtyDeepAgentsHandler"),
        ("recording.recorder", "from ..filesystem import paths"),
        ("extractors", "from .handler import EqtyDeepAgentsHandler"),
        ("extractors", "from . import base"),
        ("base", "from . import handler"),
        ("handler", "from .reading import manifest"),
        ("handler", "from . import reading"),
        ("reading.manifest", "from ..handler import EqtyDeepAgentsHandler"),
        ("reading.manifest", "from .. import facts"),
        ("reading.manifest", "from .. import references"),
        ("reading.manifest", "from ..references import KEY"),
        ("reading.manifest", "from eqty_lineage.deepagents import expand"),
        ("reading.manifest", "from eqty_lineage.deepagents.public import expand"),
        ("reading.manifest", "from eqty_lineage.langchain import EqtyCallbackHandler"),
        ("reading.manifest", "import langchain_core"),
        ("reading.manifest", "import eqty_sdk"),
        ("reading.manifest", "import blake3"),
        ("reading.view.page", "import rich"),
        ("reading.exports.slsa", "import prov"),
        ("reading.cli.main", "import blake3"),
        ("reading.verification.report", "import click"),
        ("public", "from .reading import read"),
        ("__init__", "from .handler import EqtyDeepAgentsHandler"),
        # never imported by anything
        ("handler", "import deepagents"),
        ("handler", "from langchain.agents import create_agent"),
        ("base", "from langgraph.types import Command"),
        ("base", "def f():\n    importlib.import_module('langgraph.types')"),
        ("base", "__import__('deepagents')"),
        # unknown places
        ("helpers", ""),
        ("sources.stream", ""),
    ],
)
def test_refused(module: str, source: str) -> None:
    assert len(objections(module, source)) == 1
