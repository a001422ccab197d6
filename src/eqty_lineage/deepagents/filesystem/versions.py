"""Which version of each file is current in one agent's lane.

Knows nothing of callbacks or storage. Theory of operation:

- A file lives in the agent's *state* (`states.py`) or *outside* it (`outside.py`).
- Calls of one superstep see the filesystem as the superstep began. A lane therefore answers from the last state it
  adopted, never from a sibling call's write.
- A path whose write was confirmed by its result but does not show in the next state lives outside.
"""

from __future__ import annotations

from collections.abc import Collection

from eqty_lineage.deepagents.facts import Evidence, Why
from eqty_lineage.deepagents.filesystem import searches
from eqty_lineage.deepagents.filesystem.effects import (
    Effect,
    Found,
    Nothing,
    ReadBytes,
    ReadVersion,
    Removed,
    Ticket,
    Unknown,
    Wrote,
)
from eqty_lineage.deepagents.filesystem.judging import told_in_part, version_read, written
from eqty_lineage.deepagents.filesystem.outside import SharedFiles
from eqty_lineage.deepagents.filesystem.paths import is_removed_by
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Delete,
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

    def begin(
        self,
        call: FileCall,
        step: int | None,
        evidence: Evidence | None = None,
        within: Collection[Ticket] = (),
        task: str | None = None,
    ) -> Ticket:
        """Note that a file call starts in superstep ``step``; give the ticket back to :meth:`settle`.

        ``within`` are the calls that wait for this one, ``task`` names the task of the graph it is made in.
        """
        ticket = Ticket(call, self._keeps(call), step, view=self.view_for(step, task), evidence=evidence, task=task)
        self.shared.begin(ticket, within)
        if not isinstance(call, Execute | Search | Foreign):
            ticket.held = ticket.view.get(call.path) if ticket.in_state else self.shared.held(call.path)
        return ticket

    def settle(self, ticket: Ticket, outcome: Outcome, content: object = None) -> Effect:
        """Return what the call did. ``content`` is the result's content: text, or a list of content blocks."""
        try:
            effect = self._settle(ticket, outcome, content)
        finally:
            self.shared.end(ticket)
        if isinstance(effect, Wrote | ReadBytes):
            # also what was minted outside: the next state may show it as this lane's own
            self._ordinals.take(effect.version)
        return effect

    def abandon(self, ticket: Ticket, *, may_go_on: bool = False) -> None:
        """Note that a call will not end: it was paused, or its run is over. Nothing, if it has ended.

        One whose caller went away ``may_go_on`` all the same.
        """
        self.shared.abandon(ticket, may_go_on=may_go_on)

    def _keeps(self, call: FileCall) -> bool:
        if self.shared.mounted or isinstance(call, Execute | Search | Foreign):
            return False
        return self.in_state and call.path not in self.shared.paths

    def _settle(self, ticket: Ticket, outcome: Outcome, content: object) -> Effect:
        call = ticket.call
        if isinstance(call, Execute | Foreign):
            return self.shared.settle(ticket, outcome, content)
        if isinstance(call, Search):
            return self._settle_search(ticket, outcome, content)
        if not ticket.in_state:
            self.shared.count_on(call.path, self._ordinals)
            if not self.in_state:
                self._unseen.add(call.path)
            return self.shared.settle(ticket, outcome, content)
        if isinstance(call, Read):
            return self._settle_read(call, ticket, outcome, content)
        return self._settle_mutation(call, ticket, outcome)

    def _settle_mutation(self, call: Mutation, ticket: Ticket, outcome: Outcome) -> Effect:
        if not isinstance(outcome, Succeeded):
            # a failed call leaves state as it was; where the path is outside after all, nothing is known of it
            self.shared.forget(call.path, below=isinstance(call, Delete))
            return Unknown(Why.UNCLEAR) if isinstance(outcome, Unclear) else Nothing()
        if isinstance(call, Delete):
            return self._settle_delete(call, ticket)
        content = written(call, ticket.held, outcome, contested=False, endings_kept=True)
        if isinstance(content, Why):
            self._pending[call.path] = Pending(None, ticket.step)
            self.shared.forget(call.path)
            return told_in_part(call, content, ticket.held, outcome)
        evidence = ticket.evidence or (Evidence.ARGUMENTS if isinstance(call, Write) else Evidence.RECONSTRUCTED)
        return self._put(call.path, content, ticket, evidence)

    def _settle_search(self, ticket: Ticket, outcome: Outcome, content: object) -> Effect:
        if not isinstance(outcome, Succeeded) or not isinstance(content, str):
            return Nothing()
        found = []
        for path, lines in searches.lines_in(content).items():
            known = ticket.view.get(path)
            if known is None and not ticket.contested and self.shared.held(path) is ticket.outside.get(path):
                known = ticket.outside.get(path)
            if known is not None and known.text is not None and searches.has(known.text, lines):
                found.append(known.version)
        return Found(tuple(found))

    def _settle_delete(self, call: Delete, ticket: Ticket) -> Effect:
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
