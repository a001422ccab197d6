"""Which version of each file an agent's state holds.

State is the truth where it is visible: every node input that carries ``files`` replaces what was believed
(:meth:`StateFiles.adopt`). Until then what a call wrote is pending; if the next state does not show it, the file is
outside. Ordinals only rise: a file that was deleted and written again is not version 1 again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eqty_lineage.deepagents.facts import AssetId, Evidence, Version, Why
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Content, FileEntry, Unreadable
from eqty_lineage.deepagents.filesystem.effects import (
    Adoption,
    CidOf,
    Effect,
    Known,
    Removed,
    Ticket,
    Unchanged,
    Unknown,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.ordinals import Ordinals
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.paths import is_removed_by
from eqty_lineage.deepagents.filesystem.reconstruction import Execute


@dataclass(frozen=True, slots=True)
class Pending:
    """What a call did to a path that no state has confirmed: the version it wrote, if it can be told."""

    known: Known | None
    step: int | None
    contested: bool = False
    stamp: tuple[int, int] = (0, 0)
    task: str | None = None


class StateFiles:
    """The files of one agent's state."""

    def __init__(self, shared: SharedFiles, cid_of: CidOf, ordinals: Ordinals | None = None) -> None:
        """Start empty, counting on from ``ordinals`` if given."""
        self.shared = shared
        self.cid_of = cid_of
        self._ordinals = ordinals or Ordinals()
        self._view: Mapping[str, Known] = {}
        self._shown: frozenset[str] = frozenset()
        self._pending: dict[str, Pending] = {}
        self._deleted: dict[str, int | None] = {}
        self._cleared: dict[str, int | None] = {}
        self._returned: dict[tuple[str, AssetId], Version] = {}
        self._unseen: set[str] = set()
        self._given: dict[tuple[str, AssetId], Version] = {}
        self.in_state = False
        """Whether this lane's states have shown a ``files`` key."""
        self.is_bare = False
        """Whether the last state shown had no files at all; noted only where there is a witness."""

    def knows(self, path: str, cid: AssetId) -> Version | None:
        """Return the version of ``path`` with this content that this lane holds, was given back or is writing."""
        held = self._view.get(path)
        if held is not None and held.version.cid == cid:
            return held.version
        pending = self._pending.get(path)
        if pending is not None and pending.known is not None and pending.known.version.cid == cid:
            return pending.known.version
        latest = self._ordinals.latest.get(path)
        if latest is not None and latest.cid == cid:
            return latest
        return self._returned.get((path, cid))

    def given(self, path: str, cid: AssetId) -> Version:
        """Return the version of a file that the agent was given with this content, whatever the file holds by now."""
        version = self._given.get((path, cid)) or self.knows(path, cid)
        if version is None:
            self.shared.count_on(path, self._ordinals)
            version = self.shared.noted(path, cid)
            self._ordinals.take(version)
        self._given[(path, cid)] = version
        return version

    def update(self, path: str, entry: FileEntry | None, step: int | None, base: Ticket | None = None) -> Effect:
        """Apply one entry of a ``files`` update that a tool or node returned; ``None`` deletes.

        ``base`` is the call that returned it, if that was a file call: it fixes which version was replaced.
        """
        ticket = base or Ticket(Execute(), in_state=True, step=step, view=self.view_for(step, None))
        held = ticket.view.get(path)
        if entry is None:
            # a tool's update is its node's too
            said = path in self._deleted
            self._drop(path, step)
            return Removed(() if held is None or said else (held.version,))
        content = contents.content_of(entry)
        if isinstance(content, Unreadable):
            self._pending[path] = Pending(None, step)
            return Unknown(content.why)
        returned = self._returned.get((path, self.cid_of(content.data)))
        if returned is not None and self._ordinals.accepts(returned):
            return Unchanged(returned)
        effect = self._put(path, content, ticket, Evidence.STATE, source=contents.source_of(entry))
        # a delegated lane made it; here it takes the next ordinal if a sibling has taken its own
        return effect if returned is None else Unchanged(effect.version)

    def _put(
        self,
        path: str,
        content: Content,
        ticket: Ticket,
        evidence: Evidence,
        source: object = None,
    ) -> Wrote | Unchanged:
        held = ticket.view.get(path)
        cid = self.cid_of(content.data)
        pending = self._pending.get(path)
        for known in (pending.known if pending else None, held):
            if known is not None and known.version.cid == cid:
                return Unchanged(known.version)
        return self._put_version(self._ordinals.mint(path, cid, evidence), content, ticket, source)

    def _put_version(self, version: Version, content: Content, ticket: Ticket, source: object = None) -> Wrote:
        path, held = version.path, ticket.view.get(version.path)
        known = Known(version, content.text, content.text if source is None else source)
        self._pending[path] = Pending(known, ticket.step, ticket.contested, self.shared.stamp(path), ticket.task)
        return Wrote(version, None if held is None else held.version, content.data)

    def view_for(self, step: int | None, task: str | None) -> Mapping[str, Known]:
        """Return what a call of superstep ``step`` sees.

        That is the last state shown, what earlier supersteps did since, and what its own task of the graph did.
        """

        def is_seen(pending: Pending) -> bool:
            return _is_earlier(pending.step, step) or (task is not None and pending.task == task)

        changed = {path: pending.known for path, pending in self._pending.items() if is_seen(pending)}
        gone = {path for path, when in self._deleted.items() if _is_earlier(when, step) and path not in changed}
        if not changed and not gone:
            return self._view
        view = {path: known for path, known in self._view.items() if path not in gone and path not in changed}
        view.update((path, known) for path, known in changed.items() if known is not None)
        return view

    def unsettle(self, path: str, step: int | None) -> None:
        """Note that a step wrote to ``path`` what only the next state will show."""
        self._pending[path] = Pending(None, step)

    def _drop(self, path: str, step: int | None) -> None:
        self._deleted[path] = step
        self._pending.pop(path, None)
        self._ordinals.latest.pop(path, None)

    def adopt(self, files: Mapping[str, FileEntry | None], step: int | None = None) -> Adoption:
        """Take a state's ``files`` for the truth. ``step`` is the superstep that starts from it; a run's end has none.

        Writes of the same superstep are not judged by it: it was taken before them.
        """
        self.in_state = True
        self.is_bare = False
        for path in self._unseen:
            # a resumed run's calls come before its first state: what they did may have been done to that
            self.shared.forget(path)
        self._unseen.clear()
        view: dict[str, Known] = {}
        read: dict[str, bytes] = {}
        unreadable: list[tuple[str, Why]] = []
        deleted = {path for path, when in self._deleted.items() if _before(when, step)}
        for path, entry in files.items():
            if entry is None:
                continue
            known = None if path in deleted else self._recognise(path, entry)
            if known is None:
                content = contents.content_of(entry)
                if isinstance(content, Unreadable):
                    unreadable.append((path, content.why))
                    self.shared.shown_in_state(path)
                    continue
                read[path] = content.data
                version = self._version_of(path, self.cid_of(content.data))
                known = Known(version, content.text, contents.source_of(entry))
            if path not in self._deleted:
                self._ordinals.take(known.version)
            self.shared.shown_in_state(path, known.version.cid)
            view[path] = known
        self._look_for_mounts({path: view[path] for path in read}, step)
        self._shown = frozenset(path for path, entry in files.items() if entry is not None)
        self._settle_pending(step)
        self._ordinals.keep_only({*view, *self._pending, *self.shared.paths})
        self._view = view
        self._deleted = {path: when for path, when in self._deleted.items() if path not in deleted}
        self._cleared = {path: when for path, when in self._cleared.items() if not _before(when, step)}
        self._returned.clear()
        present = tuple((known.version, read.get(path)) for path, known in view.items())
        return Adoption(present, tuple(unreadable))

    def adopt_none(self, step: int | None) -> None:
        """Note that a state was shown that has no files: what was written before it is outside.

        A step whose input leaves out what the state has shown before says nothing.
        """
        if self.in_state:
            return
        self.is_bare = True
        self._view, self._shown = {}, frozenset()
        self._unseen.clear()
        self._settle_pending(step)
        self._deleted = {path: when for path, when in self._deleted.items() if not _before(when, step)}
        self._cleared = {path: when for path, when in self._cleared.items() if not _before(when, step)}

    def _version_of(self, path: str, cid: AssetId) -> Version:
        """Return the version that a state shows at ``path``: the one this lane knows, or the next."""
        version = self.knows(path, cid)
        if version is not None and self._ordinals.accepts(version):
            return version
        return self._ordinals.mint(path, cid, Evidence.STATE)

    def _recognise(self, path: str, entry: FileEntry) -> Known | None:
        """Return the version whose content this entry carries, without hashing: by identity, then by equality."""
        source = contents.source_of(entry)
        binary = not isinstance(entry, str) and entry.get("encoding") == "base64"
        pending = self._pending.get(path)
        for known in (self._view.get(path), pending.known if pending else None):
            if known is not None and (known.text is None) == binary and _same(known.source, source):
                return known
        return None

    def _settle_pending(self, step: int | None) -> None:
        for path, pending in list(self._pending.items()):
            if not _before(pending.step, step):
                continue
            del self._pending[path]
            if path in self._shown or pending.known is None or step is None or self._may_be_deleted(path):
                # a run's output, which has no step, lacks what a superstep wrote that another of its calls paused
                continue
            # its result said that it was written, and the state does not have it: the file is outside
            self.shared.paths.add(path)
            disturbed = pending.contested or pending.stamp != self.shared.stamp(path)
            self.shared.hold(pending.known, contested=disturbed)

    def _look_for_mounts(self, fresh: Mapping[str, Known], step: int | None) -> None:
        """Notice that what a call wrote shows in the state, afresh, under the end of its path alone.

        Then a ``CompositeBackend`` keeps a folder in the state, without the folder's own path (0.7.32): from then on a
        path of a call and a key of the state that are equal need not be the same file.
        """
        for path, pending in self._pending.items():
            if pending.known is None or path in self._shown or not _before(pending.step, step):
                continue
            cid = pending.known.version.cid
            for key, known in fresh.items():
                if path.endswith(key) and known.version.cid == cid and not self._writes(key, cid):
                    self.shared.mounted = True

    def _writes(self, path: str, cid: AssetId) -> bool:
        pending = self._pending.get(path)
        return pending is not None and (pending.known is None or pending.known.version.cid == cid)

    def _may_be_deleted(self, path: str) -> bool:
        """Whether a call of the same superstep deleted ``path``: which of the two the state took last is not known."""
        return path in self._deleted or any(is_removed_by(path, cleared) for cleared in self._cleared)

    def give_back(self, child: StateFiles) -> None:
        """Note what a delegated lane ended with, so that its files are recognised when they come back as an update."""
        for path, known in child._view.items():
            self._returned[(path, known.version.cid)] = known.version

    def rest(self) -> None:
        """Keep CIDs and ordinals, drop texts: the run is over."""
        self._view = {}
        self._shown = frozenset()
        self._pending.clear()
        self._deleted.clear()
        self._cleared.clear()
        self._returned.clear()
        self._unseen.clear()
        self.in_state = self.is_bare = False

    def current(self) -> Iterable[Known]:
        """Return what the last adopted state held."""
        return self._view.values()


def _before(when: int | None, step: int | None) -> bool:
    return when is None or step is None or when < step


def _is_earlier(when: int | None, step: int | None) -> bool:
    """Whether one superstep is known to be before another."""
    return when is not None and step is not None and when < step


def _same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)
