"""What of a file or folder of this machine a content policy withholds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.facts import AssetId


@dataclass(frozen=True, slots=True)
class File:
    """A file whose bytes are withheld."""

    cid: AssetId


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that holds a file whose bytes are withheld."""

    path: Path


def withheld_below(path: Path, memory: Memory, cid_of: Callable[[bytes], AssetId]) -> File | Folder | None:
    """Return what of a file, or of what is in a folder, is withheld.

    Its lines are learned. ``None``: nothing is withheld, or there is no such file.

    Raises:
        OSError: The file cannot be read.

    """
    if memory.policy is None:
        return None
    if path.is_dir():
        held = any(_held(file, memory, cid_of) is not None for file in _files(path))
        return Folder(path) if held else None
    return _held(path, memory, cid_of) if path.is_file() else None


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _held(file: Path, memory: Memory, cid_of: Callable[[bytes], AssetId]) -> File | None:
    # a link can lead to what is withheld by another name
    names = dict.fromkeys((str(file), str(file.resolve())))
    fitting = next((name for name in names if memory.fits(name)), None)
    if not file.is_file() or (fitting is None and not len(memory.lines)):
        return None
    data = file.read_bytes()
    cid = cid_of(data)
    return File(cid) if memory.withholds(fitting or str(file), cid, data) else None
