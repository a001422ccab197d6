"""Which version of each file is current in one agent's lane.

Knows nothing of callbacks or storage. Theory of operation:

- A file lives in the agent's *state* (`states.py`) or *outside* it (`outside.py`).
- Calls of one superstep see the filesystem as the superstep began. A lane therefore answers from the last state it
  adopted, never from a sibling call's write.
- A path whose write was confirmed by its result but does not show in the next state lives outside.
"""

from __future__ import annotations

from collections.abc import Collection

from eqty_lineage.deepagents.facts import Evidence, Role, Version, Why
from eqty_lineage.deepagents.filesystem import contents, searches
from eqty_lineage.deepagents.filesystem.contents import Content
from eqty_lineage.deepagents.filesystem.effects import (
    Answers,
    Effect,
    Found,
    Known,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Ticket,
    Told,
    Unknown,
    Witnessed,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import told_in_part, version_read, written
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.paths import is_removed_by
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Delete,
    Edit,
    Execute,
    FileCall,
    Foreign,
    Mutation,
    Outcome,
    Read,
    Search,
    Succeeded,
    Unclear,
    Write,
)
from eqty_lineage.deepagents.filesystem.states import Pending, StateFiles
from eqty_lineage.deepagents.filesystem.watched import WatchedFiles


class LaneFiles(StateFiles):
    """One agent's view of the filesystem: its state's files, and through ``shared`` those outside."""

    def fork(self, *, same_backend: bool = True) -> LaneFiles:
        """Return the view of a lane that starts from this one; what it holds shows in its first state.

        Unless it is known to have the ``same_backend``, its files outside state are not taken for this one's.

        That state is the one this lane's superstep began with, so the versions are those of its view, whatever a
        sibling has written meanwhile.
        """
        shared = self.shared if same_backend else SharedFiles(self.cid_of, self.shared)
        lane = LaneFiles(shared, self.cid_of, self._ordinals.fork())
        lane._view = self._view
        return lane

    def begin(  # noqa: PLR0913 - a call has that many sides
        self,
        call: FileCall,
        step: int | None,
        evidence: Evidence | None = None,
        within: Collection[Ticket] = (),
        task: str | None = None,
        seen: Answers | None = None,
    ) -> Ticket:
        """Note that a file call starts in superstep ``step``; give the ticket back to :meth:`settle`.

        ``within`` are the calls that wait for this one, ``task`` names the task of the graph it is made in, ``seen`` is
        what a witness says of the paths that :meth:`asks_before` gave.
        """
        ticket = Ticket(call, self._keeps(call), step, view=self.view_for(step, task), evidence=evidence, task=task)
        if isinstance(self.shared, WatchedFiles) and seen:
            for path in seen:
                self.shared.count_on(path, self._ordinals)
            ticket.before, ticket.fresh = self.shared.look(seen, within)
        self.shared.begin(ticket, within)
        if not isinstance(call, Execute | Search | Foreign):
            ticket.held = ticket.view.get(call.path) if ticket.in_state else self.shared.held(call.path)
        return ticket

    def settle(self, ticket: Ticket, outcome: Outcome, content: object = None, seen: Answers | None = None) -> Effect:
        """Return what the call did. ``content`` is the result's content: text, or a list of content blocks.

        ``seen`` is what a witness says of the paths that :meth:`asks_after` gave.
        """
        try:
            effect = self._settle(ticket, outcome, content, seen or {})
        finally:
            self.shared.end(ticket)
        told = effect.told if isinstance(effect, Witnessed) else effect
        if isinstance(told, Wrote | ReadBytes):
            # also what was minted outside: the next state may show it as this lane's own
            self._ordinals.take(told.version)
        for version, role in effect.uses if isinstance(effect, Witnessed) else ():
            if role not in (Role.REPLACED, Role.REMOVED):
                self._ordinals.take(version)
        self._hear(ticket, outcome, content)
        return effect

    def abandon(self, ticket: Ticket, *, may_go_on: bool = False) -> None:
        """Note that a call will not end: it was paused, or its run is over. Nothing, if it has ended.

        One whose caller went away ``may_go_on`` all the same.
        """
        self.shared.abandon(ticket, may_go_on=may_go_on)

    def _keeps(self, call: FileCall) -> bool:
        if self.shared.mounted or isinstance(call, Execute | Search | Foreign):
            return False
        return (self.in_state or self.is_bare) and call.path not in self.shared.paths

    def show_none(self, step: int | None) -> None:
        """Note that a state has no files, if a witness needs to know what is not in the state."""
        if isinstance(self.shared, WatchedFiles):
            self.adopt_none(step)

    # --- what a witness is asked

    def asks_before(self, call: FileCall) -> list[str]:
        """Return the paths whose bytes a witness should be asked for as a call begins: none without a witness."""
        shared = self.shared
        if not isinstance(shared, WatchedFiles) or isinstance(call, Read | Search | Foreign):
            return []
        return [path for path in shared.heard(call) if not self._is_in_state(path)]

    def asks_after(self, ticket: Ticket, outcome: Outcome, content: object) -> list[str]:
        """Return the paths whose bytes a witness should be asked for now that a call is over, before it is settled."""
        shared, call = self.shared, ticket.call
        if not isinstance(shared, WatchedFiles) or not isinstance(outcome, Succeeded):
            return []
        match call:
            case Read() | Write() | Edit():
                return [call.path] if self._may_be_outside(call, ticket) else []
            case Delete():
                named = [call.path] if self._may_be_outside(call, ticket) else []
                below = [path for path in shared.heard(call) if not self._is_in_state(path)]
                return list(dict.fromkeys([*named, *below]))
            case _:
                shown = _lines_in(content) if isinstance(call, Search) else ()
                return [path for path in shared.heard(call, shown) if not self._is_in_state(path)]

    def bytes_of(self, version: Version) -> bytes | None:
        """Return the content of a version, if a witness has shown it."""
        return self.shared.bytes_of(version)

    def _hear(self, ticket: Ticket, outcome: Outcome, content: object) -> None:
        """Note which paths the agent has shown to be allowed; and that one may not be, if a call of it failed."""
        shared, call = self.shared, ticket.call
        if not isinstance(shared, WatchedFiles) or isinstance(call, Execute | Foreign):
            return
        if isinstance(call, Search):
            for path in _lines_in(content) if isinstance(outcome, Succeeded) else ():
                shared.hear(path)
        elif not isinstance(outcome, Succeeded):
            shared.unhear(call.path)
        elif not isinstance(call, Delete):
            shared.hear(call.path)

    def _is_in_state(self, path: str) -> bool:
        """Whether this lane's state has a file at ``path``, or may have one next."""
        if path in self.shared.paths or self.shared.mounted:
            return False
        return path in self._shown or path in self._view or path in self._pending

    def _may_be_outside(self, call: Read | Mutation, ticket: Ticket) -> bool:
        if not ticket.in_state:
            return True
        if call.path in ticket.view or call.path in self._shown:
            return False
        # what a sibling wrote to the state, this call has not seen, but may have changed as well
        return isinstance(call, Write | Delete) or call.path not in self._pending

    def _is_outside(self, call: Read | Mutation, ticket: Ticket, seen: Answers) -> bool:
        """Whether a file that may be in the state shows not to be: a call that succeeded found it, and no state did."""
        data = seen.get(call.path)
        if data is None:
            return False
        if isinstance(call, Write):
            text = contents.from_text(call.text)
            return ticket.before.get(call.path) is not None and isinstance(text, Content) and text.data == data
        return isinstance(call, Read | Edit)

    # --- what a call did

    def _settle(self, ticket: Ticket, outcome: Outcome, content: object, seen: Answers) -> Effect:
        call = ticket.call
        for path in seen:
            self.shared.count_on(path, self._ordinals)
        if isinstance(call, Execute | Foreign):
            return self._settle_shared(ticket, outcome, content, seen)
        if isinstance(call, Search):
            return self._settle_search(ticket, outcome, content, seen)
        if ticket.in_state and self._is_outside(call, ticket, seen):
            self.shared.paths.add(call.path)
        if not ticket.in_state or call.path in seen.keys() & self.shared.paths:
            self.shared.count_on(call.path, self._ordinals)
            if not self.in_state and not self.is_bare:
                self._unseen.add(call.path)
            return self._settle_shared(ticket, outcome, content, seen)
        if isinstance(call, Read):
            return self._settle_read(call, ticket, outcome, content)
        return self._settle_mutation(call, ticket, outcome, seen)

    def _settle_shared(self, ticket: Ticket, outcome: Outcome, content: object, seen: Answers) -> Effect:
        if isinstance(self.shared, WatchedFiles) and isinstance(outcome, Succeeded) and seen:
            return self.shared.settle_seen(ticket, outcome, content, seen)
        return self.shared.settle(ticket, outcome, content)

    def _settle_mutation(self, call: Mutation, ticket: Ticket, outcome: Outcome, seen: Answers) -> Effect:
        if not isinstance(outcome, Succeeded):
            # a failed call leaves state as it was; where the path is outside after all, nothing is known of it
            self.shared.forget(call.path, below=isinstance(call, Delete))
            return Unknown(Why.UNCLEAR) if isinstance(outcome, Unclear) else Nothing()
        if isinstance(call, Delete):
            removed = self._settle_delete(call, ticket)
            shared = self.shared
            return shared.seen_after_delete(removed, ticket, seen) if isinstance(shared, WatchedFiles) else removed
        if not isinstance(self.shared, WatchedFiles):
            return self._settle_told(call, ticket, outcome)
        # what a witness showed of it as the call began, it may not be any more
        self.shared.forget(call.path)
        # where it is not known yet that a file is outside, lanes that know it count its versions together already
        self.shared.count_for(call.path, self._ordinals)
        data = seen.get(call.path)
        if isinstance(call, Write) and data is not None:
            effect = self._settle_seen(call, ticket, outcome, self.shared, data)
        else:
            effect = self._settle_told(call, ticket, outcome)
        self.shared.count_on(call.path, self._ordinals)
        return effect

    def _settle_told(self, call: Write | Edit, ticket: Ticket, outcome: Succeeded) -> Told:
        content = written(call, ticket.held, outcome, contested=False, endings_kept=True)
        if isinstance(content, Why):
            self._pending[call.path] = Pending(None, ticket.step)
            self.shared.forget(call.path)
            return told_in_part(call, content, ticket.held, outcome)
        evidence = ticket.evidence or (Evidence.ARGUMENTS if isinstance(call, Write) else Evidence.RECONSTRUCTED)
        return self._put(call.path, content, ticket, evidence)

    def _settle_seen(
        self, call: Write, ticket: Ticket, outcome: Succeeded, shared: WatchedFiles, data: bytes
    ) -> Effect:
        """Return what a write did that may have been to the state, where a witness sees a file of that path."""
        text = contents.from_text(call.text)
        if isinstance(text, Content) and text.data == data:
            version = shared.claimed(ticket, call.path, data)
            if version is None and not ticket.contested:
                effect = self._put(call.path, text, ticket, Evidence.WITNESSED)
            else:
                # a sibling may have written the same: that is another version
                version = version or self._ordinals.mint(call.path, self.cid_of(data), Evidence.WITNESSED)
                effect = self._put_version(version, text, ticket)
            shared.announce(Known(effect.version, text.text))
            return effect
        if ticket.contested:
            told = self._settle_told(call, ticket, outcome)
            shared.count_on(call.path, self._ordinals)
            return shared.seen_beside(told, call.path, ticket, data)
        # one of the two is not where the agent's file is, or the backend wrote something else
        self._pending[call.path] = Pending(None, ticket.step)
        shared.forget(call.path)
        return Witnessed((), Nothing(), (call.path,))

    def _settle_search(self, ticket: Ticket, outcome: Outcome, content: object, seen: Answers) -> Effect:
        if not isinstance(outcome, Succeeded) or not isinstance(content, str):
            return Nothing()
        found = []
        for path, lines in searches.lines_in(content).items():
            if isinstance(self.shared, WatchedFiles) and path in seen:
                disturbed = ticket.contested or self.shared.is_disturbed(path, ticket.within)
                version = None if disturbed else self.shared.found(path, seen[path], lines)
                if version is not None:
                    found.append(version)
                continue
            known = ticket.view.get(path)
            if known is None and not ticket.contested and self.shared.held(path) is ticket.outside.get(path):
                known = ticket.outside.get(path)
            if known is not None and known.text is not None and searches.has(known.text, lines):
                found.append(known.version)
        return Found(tuple(found))

    def _settle_delete(self, call: Delete, ticket: Ticket) -> Removed:
        self._cleared[call.path] = ticket.step
        removed = [path for path in sorted(ticket.view) if is_removed_by(path, call.path)]
        for path in removed:
            self._drop(path, ticket.step)
        outside = self.shared.under(call.path)
        self.shared.forget(call.path, below=True)
        if ticket.contested or any(is_removed_by(path, call.path) for path in self._shown):
            # one backend answered, so if the state had anything there, files mounted below it may be there still
            outside = ()
        return Removed((*(ticket.view[path].version for path in removed), *outside))

    def _settle_read(self, call: Read, ticket: Ticket, outcome: Outcome, content: object) -> Effect:
        if not isinstance(outcome, Succeeded):
            return Unknown(Why.UNCLEAR) if isinstance(outcome, Unclear) else Nothing()
        if ticket.held is not None:
            version = version_read([ticket.held], content, self.cid_of)
        else:
            version = version_read(ticket.written_meanwhile, content, self.cid_of, contested=ticket.contested)
        if version is not None:
            return ReadVersion(version)
        self.shared.count_on(call.path, self._ordinals)
        return self.shared.read_unknown(call.path, content, contested=ticket.contested)


def _lines_in(content: object) -> Collection[str]:
    """Return the paths that the result of a search shows lines of."""
    return searches.lines_in(content).keys() if isinstance(content, str) else ()
