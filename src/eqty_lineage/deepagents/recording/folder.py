"""Where on disk the SDK keeps its store. The SDK does not say (2.5.0), so the open database tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_DATABASE: Final = "graphs.db"
_DEFAULT: Final = ".eqty_sdk"


def store_folder() -> Path | None:
    """Return the folder of the store in use, or ``None`` if it cannot be told.

    Looks through the files this process has open (Linux, macOS), then for the default in the current folder.
    """
    for descriptor in _open_descriptors():
        path = _path_of(descriptor)
        if path is not None and path.name == _DATABASE:
            return path.parent
    default = Path(_DEFAULT).resolve()
    return default if (default / _DATABASE).exists() else None


def _open_descriptors() -> list[int]:
    for listing in ("/proc/self/fd", "/dev/fd"):
        try:
            return [int(name) for name in os.listdir(listing) if name.isdigit()]  # noqa: PTH208 - not real files
        except OSError:
            continue
    return []


def _path_of(descriptor: int) -> Path | None:
    try:
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - the target need not exist
    except OSError:
        pass
    try:
        import fcntl  # noqa: PLC0415 - not on every platform

        raw = fcntl.fcntl(descriptor, fcntl.F_GETPATH, b"\0" * 1_024)  # type: ignore[attr-defined] # macOS
        return Path(os.fsdecode(raw.rstrip(b"\0")))
    except (ImportError, AttributeError, OSError):
        return None


def repair_blob(folder: Path | None, cid: str, size: int) -> None:
    """Remove what a full disk or a kill left under a CID's name: the SDK would not write over it (2.5.0)."""
    if folder is None:
        return
    path = folder / "blobs" / cid
    try:
        if path.stat().st_size != size:
            path.unlink()
    except OSError:
        return
