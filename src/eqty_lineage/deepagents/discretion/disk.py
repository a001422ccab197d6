"""What of a file or folder of this machine a content policy withholds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.facts import AssetId


def withheld_below(path: Path, memory: Memory, cid_of: Callable[[bytes], AssetId]) -> AssetId | str | None:
    """Return the CID of a file whose bytes are withheld, or for a folder the path of a file in it that is.

    Its lines are learned. ``None``: nothing is withheld, or there is no such file.

    Raises:
        OSError: The file cannot be read.

    """
    if memory.policy is None:
        return None
    if path.is_dir():
        return next((str(file) for file in _files(path) if _held(file, memory, cid_of) is not None), None)
    return _held(path, memory, cid_of) if path.is_file() else None


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _held(file: Path, memory: Memory, cid_of: Callable[[bytes], AssetId]) -> AssetId | None:
    # a link can lead to what is withheld by another name
    names = dict.fromkeys((str(file), str(file.resolve())))
    fitting = next((name for name in names if memory.fits(name)), None)
    if not file.is_file() or (fitting is None and not len(memory.lines)):
        return None
    data = file.read_bytes()
    cid = cid_of(data)
    return cid if memory.withholds(fitting or str(file), cid, data) else None
