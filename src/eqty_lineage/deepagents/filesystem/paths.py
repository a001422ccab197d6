r"""Which file a path argument names, by the backend's own rules.

Mirrors ``deepagents.backends.utils.validate_path`` (0.7.32) step for step, refusals included, because near agreement
is worse than none: two paths the backend keeps apart but this folds together would be two files recorded as one.
``tests/agreement/test_paths.py`` compares the two. The rule is not idempotent (``a\.\b``): apply it exactly once.
"""

from __future__ import annotations

import os
import re
import unicodedata
from enum import Enum
from pathlib import PurePosixPath
from typing import NewType

VirtualPath = NewType("VirtualPath", str)
"""A path as the backend knows it; only :func:`parse` makes one from an argument."""

_DRIVE = re.compile(r"^[a-zA-Z]:")


class PathRefused(Enum):
    """Why a path argument never reaches a backend."""

    NOT_TEXT = "not a string"
    TRAVERSAL = "a '..' component"
    HOME = "a leading '~'"
    DRIVE = "a Windows drive letter"


def parse(raw: object) -> VirtualPath | PathRefused:
    """Return the path a file tool would use for ``raw``, or why it would refuse it."""
    if not isinstance(raw, str):
        return PathRefused.NOT_TEXT
    if ".." in PurePosixPath(raw.replace("\\", "/")).parts:
        return PathRefused.TRAVERSAL
    if raw.startswith("~"):
        return PathRefused.HOME
    if _DRIVE.match(raw):
        return PathRefused.DRIVE
    # validate_path looks for ".." once more after normalising; on POSIX there is none that it had not found
    normal = os.path.normpath(raw).replace("\\", "/")
    return VirtualPath(normal if normal.startswith("/") else f"/{normal}")


def is_removed_by(path: str, deleted: str) -> bool:
    """Whether deleting ``deleted`` removes ``path``: the file itself, or anything below it as a directory.

    Mirrors ``StateBackend.delete`` (0.7.32): trailing slashes do not count, and ``/`` removes everything.
    """
    base = deleted.rstrip("/")
    return path == base or path.startswith(base + "/")


def place_of(path: str) -> str:
    """Return what ``path`` shares with every other spelling that some backend takes for the same file.

    State and store keep all spellings apart. A disk, a sandbox and a hub fold ``//x``, ``/a//x`` and ``/a/./x``
    (0.7.32), and some disks case and composition. Where a symbolic link leads, no path tells.
    """
    parts = (part for part in path.split("/") if part not in {"", "."})
    return unicodedata.normalize("NFC", "/" + "/".join(parts)).casefold()


def name_of(path: str) -> str:
    """Return the last part of a path's place.

    A ``CompositeBackend`` can mount one folder under several prefixes, so that two paths lead to one file: those with
    the same name may, as far as a path tells.
    """
    return place_of(path).rpartition("/")[2]


def may_be_removed_by(path: str, deleted: str) -> bool:
    """Whether deleting ``deleted`` may remove ``path``: by whatever prefix either of them is reached."""
    name = name_of(deleted)
    return not name or name in place_of(path).split("/")
