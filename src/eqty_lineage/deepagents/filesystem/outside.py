"""Which version of each file outside state is current, as all lanes of a conversation see it.

Only the calls seen tell what a disk, store or sandbox holds, and nothing confirms them. Two calls that overlap and
could touch the same file contest each other: what either left behind is not known, so nothing is believed afterwards.
An ``execute`` can change any file without naming it: beliefs go when it starts and again when it ends. So do those of
the files that the arguments of a tool name which is not DeepAgents' own. A change of a path drops what is believed of
others that may lead to the same file: other spellings, and other folders' files of that name, because a folder can be
mounted twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, assert_never

from eqty_lineage.deepagents.facts import AssetId, Evidence, Version, Why
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Unreadable
from eqty_lineage.deepagents.filesystem.effects import (
    CidOf,
    Known,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Rendered,
    Ticket,
    Told,
    Unchanged,
    Unknown,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import disturbs, told_in_part, version_read, written
from eqty_lineage.deepagents.filesystem.ordinals import Ordinals
from eqty_lineage.deepagents.filesystem.paths import is_removed_by, name_of
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Delete,
    Edit,
    Execute,
    Failed,
    FileCall,
    Foreign,
    Mutation,
    Outcome,
    Read,
    Search,
    Succeeded,
    Unclear,
    Write,
    base64_block,
)

ANY: Final = ""
"""Stands for every name."""


@dataclass(slots=True)
class Together:
    """What agents share that may have the same files, or may not."""

    running: list[Ticket] = field(default_factory=list)
    files: list[SharedFiles] = field(default_factory=list)


class SharedFiles:
    """The files outside state, as all lanes of a conversation see them."""

    def __init__(self, cid_of: CidOf, around: SharedFiles | None = None) -> None:
        """Start with no beliefs.

        ``around`` are the files of the agent that called one whose files may be others: what either does, the other's
        may suffer, and neither is believed to have what the other wrote.
        """
        self._cid_of = cid_of
        self._ordinals = Ordinals()
        self._current: dict[str, Known] = {}
        self.together: Together = Together() if around is None else around.together
        self.together.files.append(self)
        self._upheavals = 0
        self._touched: dict[str, int] = {}
        self.paths: set[str] = set()
        """Paths that have shown to be outside state."""
        self._haunted: set[str] = set()
        self.mounted = False
        """Whether a folder has shown to be kept in the state under keys that are not the paths of its files."""

    def held(self, path: str) -> Known | None:
        """Return what ``path`` is believed to hold."""
        return self._current.get(path)

    def all_held(self) -> dict[str, Known]:
        """Return all that is believed now."""
        return dict(self._current)

    def under(self, deleted: str) -> tuple[Version, ...]:
        """Return the versions believed current at and below a path, sorted by path."""
        return tuple(self._current[path].version for path in sorted(self._current) if is_removed_by(path, deleted))

    def begin(self, ticket: Ticket, within: Collection[Ticket] = ()) -> None:
        """Note that a call is running, and which running calls it can disturb, but for those that wait for it."""
        ticket.outside = self.all_held() if isinstance(ticket.call, Search | Foreign) else {}
        ticket.within = tuple(within)
        self._touch(ticket.call)
        for other in self.together.running:
            if any(other is waiting for waiting in within):
                continue
            other.meanwhile.append(ticket.call)
            ticket.meanwhile.append(other.call)
            if disturbs(ticket.call, other.call):
                other.contested = True
            if disturbs(other.call, ticket.call):
                ticket.contested = True
        self.together.running.append(ticket)

    def abandon(self, ticket: Ticket, *, may_go_on: bool = False) -> None:
        """Note that a running call's result will not be known: whatever it was about to do, it may have done.

        A call whose caller went away ``may_go_on`` in a thread of its own: then what it could still change is never
        believed again.
        """
        if isinstance(ticket.call, Write | Edit | Delete) and any(other is ticket for other in self.together.running):
            self.forget(ticket.call.path, below=isinstance(ticket.call, Delete))
        if may_go_on and not isinstance(ticket.call, Read | Search):
            self._haunted.add(name_of(ticket.call.path) if isinstance(ticket.call, Write | Edit) else ANY)
        self.end(ticket)

    def _is_haunted(self, path: str) -> bool:
        return bool(self._haunted) and (ANY in self._haunted or name_of(path) in self._haunted)

    def end(self, ticket: Ticket) -> None:
        """Note that a call is over. A shell drops beliefs again: others may have formed while it ran."""
        self.together.running[:] = [other for other in self.together.running if other is not ticket]
        if isinstance(ticket.call, Execute | Foreign) and not ticket.is_over:
            self._touch(ticket.call)
        ticket.is_over = True

    def close(self) -> None:
        """Note that the agent whose files these are is done."""
        self.together.files[:] = [other for other in self.together.files if other is not self]

    def _touch(self, call: FileCall) -> None:
        for files in self.together.files:
            files.suffer(call, own=files is self)

    def suffer(self, call: FileCall, *, own: bool) -> None:
        """Drop what a call may change that starts now, or an ``execute`` that ends."""
        match call:
            case Read() | Search():
                pass
            case Write() | Edit():
                name = name_of(call.path)
                self._touched[name] = self._touched.get(name, 0) + 1
                is_own = call.path if own else None
                self._forget_all(path for path in self._current if path != is_own and name_of(path) == name)
            case Delete():
                self._upheavals += 1
                # what a delete of a folder reaches by another prefix, its path does not tell
                is_file = own and call.path in self._current
                self._forget_all(
                    path
                    for path in self._current
                    if not (own and is_removed_by(path, call.path))
                    and (not is_file or name_of(path) == name_of(call.path))
                )
            case Execute():
                self._upheavals += 1
                self._current.clear()
            case Foreign():
                named = [path for path in self._current if call.names(path)]
                self._upheavals += bool(named)
                self._forget_all(named)
            case _:
                assert_never(call)

    def stamp(self, path: str) -> tuple[int, int]:
        """Return a value that changes whenever a call starts that could change ``path``."""
        return self._upheavals, self._touched.get(name_of(path), 0)

    def forget(self, path: str, *, below: bool = False) -> bool:
        """Drop what is believed of ``path`` (and all below it); say whether there was anything to drop."""
        return self._forget_all(
            known for known in self._current if known == path or (below and is_removed_by(known, path))
        )

    def _forget_all(self, paths: Iterable[str]) -> bool:
        gone = list(paths)
        for path in gone:
            del self._current[path]
        return bool(gone)

    def hold(self, known: Known, *, contested: bool) -> None:
        """Believe that a path now holds ``known``, unless another call was at it too."""
        version = known.version
        self._ordinals.take(version)
        self.announce(known)
        if contested or self._is_haunted(version.path):
            self.forget(version.path)
        else:
            self._current[version.path] = known

    def settle(self, ticket: Ticket, outcome: Outcome, content: object) -> Told:
        """Return what a finished call did, and believe it from here on."""
        call = ticket.call
        match call:
            case Execute() | Search():
                return Nothing()
            case Foreign():
                believed = [*ticket.outside, *self._current]
                return Unknown(Why.FOREIGN) if any(map(call.names, believed)) else Nothing()
            case Read():
                return self._settle_read(call, ticket, outcome, content)
            case Write() | Edit() | Delete():
                return self._settle_mutation(call, ticket, outcome)
            case _:
                assert_never(call)

    def _settle_mutation(self, call: Mutation, ticket: Ticket, outcome: Outcome) -> Told:
        below = isinstance(call, Delete)
        match outcome:
            case Failed():
                return Unknown(Why.FAILED) if self.forget(call.path, below=below) else Nothing()
            case Unclear():
                self.forget(call.path, below=below)
                return Unknown(Why.UNCLEAR)
            case Succeeded():
                pass
            case _:
                assert_never(outcome)
        if isinstance(call, Delete):
            # where folders have shown to be mounted, what else of them a delete reaches is not known
            removed = tuple(
                version for version in self.under(call.path) if not self.mounted or version.path == call.path
            )
            self.forget(call.path, below=True)
            for version in removed:
                self._ordinals.latest.pop(version.path, None)
            return Removed(() if ticket.contested else removed)
        held = None if ticket.contested else self._current.get(call.path)
        content = written(call, held, outcome, contested=ticket.contested, endings_kept=False)
        if isinstance(content, Why):
            self.forget(call.path)
            return told_in_part(call, content, held, outcome)
        cid = self._cid_of(content.data)
        if held is not None and held.version.cid == cid:
            return Unchanged(held.version)
        evidence = ticket.evidence or (Evidence.ARGUMENTS if isinstance(call, Write) else Evidence.RECONSTRUCTED)
        version = self._ordinals.mint(call.path, cid, evidence)
        self.hold(Known(version, content.text, content.text), contested=ticket.contested)
        return Wrote(version, None if held is None else held.version, content.data)

    def _settle_read(self, call: Read, ticket: Ticket, outcome: Outcome, content: object) -> Told:
        if not isinstance(outcome, Succeeded):
            if isinstance(outcome, Failed):
                # there may be no such file
                self.forget(call.path)
            return Unknown(Why.UNCLEAR) if isinstance(outcome, Unclear) else Nothing()
        candidates = [*([] if ticket.held is None else [ticket.held]), *ticket.written_meanwhile]
        version = version_read(candidates, content, self._cid_of, contested=ticket.contested)
        if version is not None:
            return ReadVersion(version)
        if not ticket.contested and ticket.held is not None and self._current.get(call.path) is ticket.held:
            self.forget(call.path)
        return self.read_unknown(call.path, content, contested=ticket.contested)

    def read_unknown(self, path: str, content: object, *, contested: bool) -> Told:
        """Return what a read of content that nobody is known to have written gives: exact bytes, or a rendering."""
        block = base64_block(content)
        data = None if block is None else contents.from_base64(block)
        if data is None or isinstance(data, Unreadable):
            return Rendered()
        cid = self._cid_of(data.data)
        held = self._current.get(path)
        if held is not None and held.version.cid == cid:
            return ReadVersion(held.version)
        version = self._ordinals.mint(path, cid, Evidence.BYTES)
        if not contested and not self._is_haunted(path):
            self._current[path] = Known(version, None, block)
        return ReadBytes(version, data.data)

    def noted(self, path: str, cid: AssetId) -> Version:
        """Return a version of ``path`` that it held at some time, without believing that it does now."""
        held = self._current.get(path)
        if held is not None and held.version.cid == cid:
            return held.version
        return self._ordinals.mint(path, cid, Evidence.STATE)

    def shown_in_state(self, path: str, cid: AssetId | None = None) -> None:
        """Note that a lane's state holds ``path``.

        What is believed of it was that state's, unless the path has shown to be outside. If it has, and the state
        holds just what was last written there, then it had not.
        """
        if self.mounted:
            # the state's key need not be the path
            return
        last = self._ordinals.latest.get(path)
        if path in self.paths and (last is None or last.cid != cid):
            return
        self.paths.discard(path)
        self.forget(path)

    def count_on(self, path: str, ordinals: Ordinals) -> None:
        """Number the next version of ``path`` above all that a lane has counted."""
        self._ordinals.raise_to(path, ordinals)

    def count_for(self, path: str, ordinals: Ordinals) -> None:
        """Have a lane number its next version of ``path`` above all that are counted here."""
        ordinals.raise_to(path, self._ordinals)

    def bytes_of(self, version: Version) -> bytes | None:
        """Return the content of a version that only a witness has shown; nobody else needs to be asked for it."""
        del version
        return None

    def announce(self, known: Known) -> None:
        """Tell the reads, writes and edits of a path that are running which version of it has come up."""
        for ticket in self.together.running:
            if isinstance(ticket.call, Read | Write | Edit) and ticket.call.path == known.version.path:
                ticket.written_meanwhile.append(known)

    def rest(self) -> None:
        """Drop texts and beliefs: between two runs anything may happen outside. Ordinals stay."""
        self._current.clear()
        self.together.running.clear()
        self._touched.clear()
