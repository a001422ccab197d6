"""What the files outside state hold, where a witness can be asked for their bytes.

It is asked around a call: as it begins, so that what changed since the last look is told apart from what the call does,
and as it ends. It is never asked for a path before a call has shown that the agent may have it: only of such a path is
anything *heard*. What it shows is true of that moment, and not of whom it is the work:

- While a call is running that could change a file, what is seen of it may be half-written. Then only a content that is
  known otherwise is taken from an answer.
- A content is a call's work only if the call says so (a write its text, an edit its replacement), or if nothing else
  that is seen can have changed the file between the two looks. Anything else is a version that nobody in the run
  produced; a call that was running when it came up may claim it as it ends.
- What contradicts a call ends belief, and nothing is told from that call's arguments. A path that has not shown to be
  outside state may be in it: no answer contradicts its being there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, assert_never

from eqty_lineage.deepagents.facts import AssetId, Evidence, Role, Version, Why
from eqty_lineage.deepagents.filesystem import contents, judging, searches
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.filesystem.effects import (
    Answers,
    Edited,
    Effect,
    Known,
    Nothing,
    Removed,
    Ticket,
    Told,
    Witnessed,
)
from eqty_lineage.deepagents.filesystem.judging import disturbs
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.paths import VirtualPath, is_removed_by
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Delete,
    Edit,
    Execute,
    FileCall,
    Foreign,
    Read,
    Search,
    Succeeded,
    Write,
)

MOST_HEARD: Final = 1_000
"""Paths remembered as heard of; the one heard of longest ago goes first."""


class WatchedFiles(SharedFiles):
    """The files outside state, with a witness of what they hold."""

    def __init__(self, cid_of: Callable[[bytes], AssetId]) -> None:
        """Start with no beliefs, and nothing heard of."""
        super().__init__(cid_of)
        self._heard: dict[str, None] = {}
        self._nobodys: set[Version] = set()
        self._bytes: dict[tuple[str, AssetId], bytes] = {}

    # --- whom the witness may be asked about

    def hear(self, path: str) -> None:
        """Note that a call which succeeded named, or showed, ``path``."""
        self._heard.pop(path, None)
        self._heard[path] = None
        if len(self._heard) > MOST_HEARD:
            del self._heard[next(iter(self._heard))]

    def unhear(self, path: str) -> None:
        """Note that the latest call that named ``path`` may have been refused."""
        self._heard.pop(path, None)

    def begin(self, ticket: Ticket, within: Collection[Ticket] = ()) -> None:
        """Note that a call is running. What the witness may not be asked about is not believed: it may have changed."""
        self._forget_all(path for path in self._current if path not in self._heard)
        super().begin(ticket, within)

    def heard(self, call: FileCall, shown: Iterable[str] = ()) -> list[str]:
        """Return the paths heard of that ``call`` is about; ``shown`` are those in the result of a search."""
        match call:
            case Write() | Edit() | Read():
                return [call.path] if call.path in self._heard else []
            case Delete():
                return [path for path in self._heard if is_removed_by(path, call.path)]
            case Search():
                return [path for path in shown if path in self._heard]
            case Execute():
                return [path for path in self._heard if self._ordinals.counted(path)]
            case Foreign():
                return [path for path in self._heard if self._ordinals.counted(path) and call.names(path)]
            case _:
                assert_never(call)

    def is_disturbed(self, path: str, besides: Collection[Ticket] = ()) -> bool:
        """Whether a call is running that could be changing ``path``, or may still be, besides some that are not."""
        at = Read(VirtualPath(path), None, None)
        return self._is_haunted(path) or any(
            disturbs(other.call, at) for other in self.together.running if not any(other is one for one in besides)
        )

    # --- what it showed

    def look(self, answers: Answers, within: Collection[Ticket]) -> tuple[dict[str, Known | None], frozenset[str]]:
        """Believe what files hold as a call begins. Return it, and of which paths it was not seen before."""
        before: dict[str, Known | None] = {}
        fresh: set[str] = set()
        for path, data in answers.items():
            if self.is_disturbed(path, within):
                continue
            if data is None:
                self._is_gone(path)
                before[path] = None
                continue
            count = self._ordinals.counted(path)
            before[path] = self._current[path] = known = self._sighted(path, data)
            if known.version.ordinal > count:
                fresh.add(path)
        return before, frozenset(fresh)

    def settle_seen(self, ticket: Ticket, outcome: Succeeded, content: object, after: Answers) -> Effect:
        """Do what :meth:`settle` does for a call that succeeded, with what a witness showed as it ended."""
        call = ticket.call
        match call:
            case Execute():
                self.end(ticket)
                return self._after_shell(ticket, after)
            case Foreign():
                return self._after_foreign(call, ticket, outcome, after)
            case Search():
                return self.settle(ticket, outcome, content)
            case Delete():
                told = self.settle(ticket, outcome, content)
                return self.seen_after_delete(told, ticket, after)
            case Read():
                return self._after_read(call, ticket, outcome, content, after[call.path])
            case Write():
                return self._after_write(call, ticket, outcome, after[call.path])
            case Edit():
                return self._after_edit(call, ticket, outcome, after[call.path])
            case _:
                assert_never(call)

    def found(self, path: str, data: bytes | None, lines: searches.Lines) -> Version | None:
        """Return the version of ``path`` that a search showed lines of, if it is what the witness shows."""
        text = None if data is None else text_of(data)
        if data is None or text is None or not searches.has(text, lines):
            self.forget(path)
            return None
        known = self._sighted(path, data)
        self.hold(known, contested=False)
        return known.version

    def bytes_of(self, version: Version) -> bytes | None:
        """Return what a witness showed of a version."""
        return self._bytes.get((version.path, version.cid))

    def rest(self) -> None:
        """Drop texts and beliefs. What was heard of stays: it is looked at again when it is used again."""
        super().rest()
        self._nobodys.clear()
        self._bytes.clear()

    # --- calls about one file

    def _after_read(
        self, call: Read, ticket: Ticket, outcome: Succeeded, content: object, data: bytes | None
    ) -> Effect:
        path = call.path
        contested = self._is_contested(ticket)
        if contested and isinstance(content, str):
            # what is not in a rendering may have changed since it was read
            return self.settle(ticket, outcome, content)
        if data is None or not self._can_show(path, data, content):
            told = self.settle(ticket, outcome, content)
            if contested:
                return told
            self.forget(path)
            return told if data is None and path not in self.paths else Witnessed((), told, (path,))
        known = self._met(ticket, path, data, ticket.held) or self._sighted(path, data)
        if self.is_disturbed(path, ticket.within):
            self.announce(known)
        else:
            self.hold(known, contested=False)
        return Witnessed(((known.version, Role.READ),))

    def _can_show(self, path: str, data: bytes, content: object) -> bool:
        shown = Known(Version(path, 0, self._cid_of(data), Evidence.WITNESSED), text_of(data))
        return judging.can_show(shown, content, self._cid_of)

    def _after_write(self, call: Write, ticket: Ticket, outcome: Succeeded, data: bytes | None) -> Effect:
        path = call.path
        text = contents.from_text(call.text)
        if data is not None and isinstance(text, Content) and text.data == data:
            return self._left(path, ticket, data)
        if self._is_contested(ticket) or (data is None and path not in self.paths):
            told = self.settle(ticket, outcome, None)
            return told if data is None else self.seen_beside(told, path, ticket, data)
        return self._contradicted(path, ticket, data)

    def _after_edit(self, call: Edit, ticket: Ticket, outcome: Succeeded, data: bytes | None) -> Effect:
        path = call.path
        if self._is_contested(ticket) or (data is None and path not in self.paths):
            told = self.settle(ticket, outcome, None)
            return told if data is None else self.seen_beside(told, path, ticket, data)
        text = None if data is None else text_of(data)
        held = self._current.get(path)
        base = None if held is None else held.text
        if data is not None and text is not None and base is not None and judging.can_leave(call, base, outcome, text):
            return self._left(path, ticket, data)
        if data is None or path in ticket.before or not judging.may_have_left(call, outcome, text):
            uses = self._contradicted(path, ticket, data).uses
            return Witnessed(uses, Edited(call, outcome.count, Why.WITNESS_CONTRADICTS, None))
        if path not in self.paths:
            return self.settle(ticket, outcome, None)
        self.forget(path)
        base = None if text is None else judging.undone(call, outcome, text)
        content = contents.from_text(base) if base is not None else None
        if not isinstance(content, Content):
            left = self._left(path, ticket, data)
            return Witnessed(left.uses, Edited(call, outcome.count, Why.NO_BASE, None))
        self._current[path] = self._sighted(path, content.data, Evidence.RECONSTRUCTED)
        return self._left(path, ticket, data)

    def _left(self, path: str, ticket: Ticket, data: bytes) -> Witnessed:
        """Return that a write or edit left just this."""
        held = None if ticket.contested else self._current.get(path)
        if held is not None and self._is(held, path, data):
            return Witnessed(((held.version, Role.PRESENT),))
        version = self.claimed(ticket, path, data)
        known = self._next(path, data) if version is None else Known(version, text_of(data), data)
        self._keep(known, ticket)
        replaced = () if held is None else ((held.version, Role.REPLACED),)
        return Witnessed((*replaced, (known.version, Role.WROTE)))

    def _contradicted(self, path: str, ticket: Ticket, data: bytes | None) -> Witnessed:
        """Return that a call says it left something, and the witness shows something else."""
        uses: tuple[tuple[Version, Role], ...] = ()
        if data is None:
            self._is_gone(path)
        elif path in self.paths:
            was = ticket.before.get(path)
            known = was if was is not None and self._is(was, path, data) else self._sighted(path, data)
            uses = ((known.version, Role.PRESENT),)
        self.forget(path)
        return Witnessed(uses, Nothing(), (path,))

    def seen_beside(self, told: Told, path: str, ticket: Ticket, data: bytes) -> Effect:
        """Return what a call did that others disturbed, with what it found the file to hold in the end."""
        known = self._met(ticket, path, data)
        if known is None:
            if self.is_disturbed(path, self._not_disturbing(ticket)) and not _is_whole(data, ticket.meanwhile):
                return told
            known = self._next(path, data)
            self._nobodys.add(known.version)
        self._keep(known, ticket)
        return Witnessed(((known.version, Role.PRESENT),), told)

    def claimed(self, ticket: Ticket, path: str, data: bytes) -> Version | None:
        """Return the version that came up while a call ran, as nobody's, and turns out to be its work."""
        for known in ticket.written_meanwhile:
            if known.version in self._nobodys and self._is(known, path, data):
                self._nobodys.discard(known.version)
                return known.version
        return None

    # --- calls about several

    def seen_after_delete(self, told: Told, ticket: Ticket, after: Answers) -> Witnessed:
        """Return what a delete removed: of what was there before, what is not there any more."""
        still = {path: data for path, data in after.items() if data is not None}
        contested = self._is_contested(ticket)
        removed = {version.path: version for version in (told.versions if isinstance(told, Removed) else ())}
        for path in after.keys() - still.keys():
            known = None if contested else ticket.before.get(path)
            if known is not None:
                removed[path] = known.version
            self._is_gone(path)
        uses: list[tuple[Version, Role]] = []
        contradicted: list[str] = []
        for path, data in still.items():
            effect: Effect
            if contested:
                effect = self.seen_beside(Nothing(), path, ticket, data)
            else:
                effect = self._contradicted(path, ticket, data)
            if isinstance(effect, Witnessed):
                uses.extend(effect.uses)
                contradicted.extend(effect.contradicted)
        versions = tuple(removed[path] for path in sorted(removed) if path not in still)
        return Witnessed(tuple(uses), Removed(versions), tuple(contradicted))

    def _after_shell(self, ticket: Ticket, after: Answers) -> Witnessed:
        """Return what a shell made of the files that were looked at as it began."""
        uses: list[tuple[Version, Role]] = []
        for path, data in after.items():
            if self.is_disturbed(path, ticket.within):
                continue
            alone = not any(disturbs(call, Read(VirtualPath(path), None, None)) for call in ticket.meanwhile)
            if path not in ticket.before or not alone:
                uses.extend(self._noticed(path, data))
                continue
            was = ticket.before[path]
            if data is None:
                if was is not None:
                    uses.append((was.version, Role.REMOVED))
                self._is_gone(path)
            elif was is not None and self._is(was, path, data):
                self.hold(was, contested=False)
                if path in ticket.fresh:
                    uses.append((was.version, Role.PRESENT))
            else:
                if was is not None:
                    uses.append((was.version, Role.REPLACED))
                known = self._next(path, data)
                self.hold(known, contested=False)
                uses.append((known.version, Role.WROTE))
        return Witnessed(tuple(uses))

    def _after_foreign(self, call: Foreign, ticket: Ticket, outcome: Succeeded, after: Answers) -> Effect:
        """Return what changed around a tool that may have changed it: nobody's work."""
        told = self.settle(ticket, outcome, None)
        believed = {path: known for path, known in {**ticket.outside, **self._current}.items() if call.names(path)}
        self.end(ticket)
        uses: list[tuple[Version, Role]] = []
        for path, data in after.items():
            if not self.is_disturbed(path, ticket.within):
                uses.extend(self._noticed(path, data))
        same = all(after.get(path) is not None and self._current.get(path) for path in believed) and not uses
        return Witnessed(tuple(uses), Nothing() if same else told)

    def _noticed(self, path: str, data: bytes | None) -> Iterable[tuple[Version, Role]]:
        """Believe what a file holds, and return it if it is new, as nobody's."""
        if data is None:
            self._is_gone(path)
            return ()
        count = self._ordinals.counted(path)
        known = self._sighted(path, data)
        self.hold(known, contested=False)
        return ((known.version, Role.PRESENT),) if known.version.ordinal > count else ()

    # --- versions

    def _sighted(self, path: str, data: bytes, evidence: Evidence = Evidence.WITNESSED) -> Known:
        """Return the version that a file is now seen to be: the latest known of it, or the next, which is nobody's."""
        current, latest = self._current.get(path), self._ordinals.latest.get(path)
        for known in (current, None if latest is None else Known(latest, None)):
            if known is not None and self._is(known, path, data):
                return Known(known.version, text_of(data), data)
        known = self._next(path, data, evidence)
        self._nobodys.add(known.version)
        return known

    def _next(self, path: str, data: bytes, evidence: Evidence = Evidence.WITNESSED) -> Known:
        cid = self._cid_of(data)
        self._bytes[(path, cid)] = data
        return Known(self._ordinals.mint(path, cid, evidence), text_of(data), data)

    def _met(self, ticket: Ticket, path: str, data: bytes, held: Known | None = None) -> Known | None:
        """Return the version with this content that a call met as it began, or that came up while it ran."""
        return next(
            (known for known in (held, *ticket.written_meanwhile) if known and self._is(known, path, data)), None
        )

    def _is(self, known: Known, path: str, data: bytes) -> bool:
        """Whether a version holds just this; then its content is had, if it is to be stored."""
        if known.source == data or known.version.cid == self._cid_of(data):
            self._bytes[(path, known.version.cid)] = data
            return True
        return False

    def _keep(self, known: Known, ticket: Ticket) -> None:
        """Believe what was just seen, unless a call is running that could change it."""
        disturbed = self.is_disturbed(known.version.path, self._not_disturbing(ticket))
        self.hold(known, contested=disturbed)

    def _is_gone(self, path: str) -> None:
        self.forget(path)
        self._ordinals.latest.pop(path, None)

    def _is_contested(self, ticket: Ticket) -> bool:
        return ticket.contested or self._is_haunted(getattr(ticket.call, "path", ""))

    @staticmethod
    def _not_disturbing(ticket: Ticket) -> tuple[Ticket, ...]:
        return (ticket, *ticket.within)


def text_of(data: bytes) -> str | None:
    """Return a file's text, if it is one of UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_whole(data: bytes, calls: Iterable[FileCall]) -> bool:
    """Whether, while some calls are or were running, a file that holds ``data`` is what one of them wrote in full.

    What is half-written is empty, or the beginning of a text. What an edit or a shell is writing, nothing tells.
    """
    written = []
    for call in calls:
        text = contents.from_text(call.text) if isinstance(call, Write) else None
        if isinstance(text, Content):
            written.append(text.data)
        elif not isinstance(call, Read | Search):
            return False
    return data in written and not any(other != data and other.startswith(data) for other in written)
