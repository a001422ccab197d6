"""What a file call did to the versions of files, as far as it is known, as closed unions of frozen values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eqty_lineage.deepagents.facts import AssetId, Evidence, Role, Version, Why
from eqty_lineage.deepagents.filesystem.reconstruction import Edit, FileCall

CidOf = Callable[[bytes], AssetId]
"""Computes the content identifier of bytes, without storing anything."""

Answers = Mapping[str, bytes | None]
"""What a witness said, by path: the file's bytes, or ``None`` if there is no such file. No answer, no path."""


@dataclass(frozen=True, slots=True)
class Known:
    """A version that is current, its text if it is a text file, and the object that carried its content."""

    version: Version
    text: str | None = field(repr=False)
    source: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Wrote:
    """A new version; ``replaced`` is what it took the place of, if that is known."""

    version: Version
    replaced: Version | None
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file already held just this."""

    version: Version


@dataclass(frozen=True, slots=True)
class Removed:
    """These versions stopped being current and nothing took their place."""

    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """The call returned what this version is shown as."""

    version: Version


@dataclass(frozen=True, slots=True)
class ReadBytes:
    """The call returned a file's exact bytes, which nobody in the run wrote."""

    version: Version
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rendered:
    """The call returned a rendering of content that is not known exactly."""


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit succeeded, and ``why`` the bytes it left cannot be told.

    ``count`` is how often it says it replaced the text, ``base`` what it was applied to, if that is known.
    """

    call: Edit
    count: int | None
    why: Why
    base: Version | None


@dataclass(frozen=True, slots=True)
class Found:
    """A search returned lines of these versions."""

    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Whatever the call did to the file cannot be told."""

    why: Why


@dataclass(frozen=True, slots=True)
class Nothing:
    """No file was touched, or none whose content was known."""


Told = Wrote | Unchanged | Removed | ReadVersion | ReadBytes | Rendered | Edited | Found | Unknown | Nothing
"""What the call itself tells."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A witness was asked around the call: which versions that showed, and what the call did with each.

    ``told`` is what is known of the call besides. ``contradicted`` are paths of which the witness showed what the call
    cannot have left, or read.
    """

    uses: tuple[tuple[Version, Role], ...]
    told: Told = field(default_factory=Nothing)
    contradicted: tuple[str, ...] = ()


Effect = Told | Witnessed


@dataclass(slots=True)
class Ticket:
    """One file call between its start and its end."""

    call: FileCall
    in_state: bool
    step: int | None
    held: Known | None = None
    view: Mapping[str, Known] = field(default_factory=dict)
    outside: Mapping[str, Known] = field(default_factory=dict)
    """For a search or a foreign tool: what was believed of the files outside state as it began."""
    evidence: Evidence | None = None
    """How the text of a write is known, if not from a call's arguments."""
    task: str | None = None
    """What names the task of the graph that the call is made in; what that did so far, the call sees."""
    contested: bool = False
    is_over: bool = False
    written_meanwhile: list[Known] = field(default_factory=list)
    """Versions of the path of a read, write or edit that came up while it ran."""
    within: tuple[Ticket, ...] = ()
    """The calls that wait for this one."""
    meanwhile: list[FileCall] = field(default_factory=list)
    """Calls that ran at the same time and may have changed files."""
    before: Mapping[str, Known | None] = field(default_factory=dict)
    """What a witness showed as the call began, by path; ``None`` where there was no file."""
    fresh: frozenset[str] = frozenset()
    """Of these, what had not been seen before."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a state showed: each version, with its bytes if they had to be read, and the paths that are unreadable."""

    present: tuple[tuple[Version, bytes | None], ...]
    unreadable: tuple[tuple[str, Why], ...]
