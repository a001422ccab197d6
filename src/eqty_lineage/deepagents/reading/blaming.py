"""Which version, agent, tool call and model turn wrote each line of a file, and what that turn was told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading import matching, naming
from eqty_lineage.deepagents.reading.answers import Blame, BlamedLine, Reference
from eqty_lineage.deepagents.reading.errors import UnknownReferenceError
from eqty_lineage.deepagents.reading.model import Cid, How, Kind, Version
from eqty_lineage.deepagents.reading.telling import told

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

_LARGEST: Final = 50_000_000
"""Characters of versions that one answer compares; beyond that the versions before are taken as not known."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a line first stood, and what is uncertain about that."""

    version: Version
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Link:
    """A version of the chain that led to the one asked about."""

    version: Version
    lines: Sequence[str]
    note: str
    """What is uncertain about the lines that the version before has not."""


def blame(run: Run, reference: str | Reference | Version) -> Blame:
    r"""Return for each line of a version what wrote it.

    A line is blamed on the version in which it first stood, and so on the step that wrote that. It is the line of the
    version before if nothing changed it: the version before is the one that the writing step replaced, else the one
    that was last known in a lane in common. Lines that a version brings back, because its bytes are those of one that
    led to it, are blamed on who wrote them then; the note says what brought them back. Equal bytes in a lane that this
    version does not come from are somebody else's work, and not blamed.

    What is not known is said in a line's note: what the step replaced is not known exactly, is withheld, or is no text;
    then the line may be older. A version that nobody in the run wrote was there before, or came from outside.
    A line ends at ``\n`` alone. A last line without one is another line than the same one with it.

    Args:
        run: The run.
        reference: A version, or what names one.

    Raises:
        UnknownReferenceError: It names nothing, several things, or no version of a file.

    """
    version = naming.resolved(run, reference).version
    if version is None:
        raise UnknownReferenceError("only a version of a file can be blamed: /path, or /path@2")
    text = run.text(version)
    if text is None:
        return Blame(version, (), _why_not(run, version))
    lines = matching.lines_of(text)
    if not lines:
        return Blame(version, (), "it is empty")
    origins = _origins(list(_chain(run, version, lines)))
    telling = _Telling(run)
    told_of = enumerate(zip(lines, origins, strict=True), 1)
    return Blame(version, tuple(telling.line(number, line, origin) for number, (line, origin) in told_of), "")


def why_no_text(run: Run, version: Version) -> str:
    """Return why a version has no text to show; ``""`` if it has."""
    return _why_not(run, version) if run.text(version) is None else ""


def _why_not(run: Run, version: Version) -> str:
    if version.evidence == "edit":
        return "an edit of a file that is not known exactly: only the edit is recorded"
    if not version.exact:
        return "a rendering: what a tool showed of the file, not its bytes"
    if version.withheld:
        return "its content is withheld"
    if run.content(version.cid) is None:
        return "its content is not in the manifest"
    return "it is no text"


# --- the versions that led to it


def _chain(run: Run, version: Version, lines: Sequence[str]) -> Iterator[_Link]:
    """Yield the version and those that led to it, the latest first."""
    by_key = {(one.ordinal, one.cid): one for one in run.files[version.path].versions}
    seen: set[int] = set()
    size = 0
    while version.order not in seen:
        seen.add(version.order)
        before, note = _before(run, version, by_key)
        text = run.text(before) if before is not None else None
        if before is not None and text is None:
            note = f"it may be older: what was there before is not known ({_why_not(run, before)})"
        size += len(text or "")
        if size > _LARGEST:
            text, note = None, "it may be older: there are too many versions to compare"
        yield _Link(version, lines, note)
        if before is None or text is None:
            return
        version, lines = before, matching.lines_of(text)


def _before(run: Run, version: Version, by_key: dict[tuple[int | None, Cid], Version]) -> tuple[Version | None, str]:
    """Return the version before, and what is uncertain about lines that it has not."""
    notes: list[str] = []
    if len(version.wrote) > 1:
        also = ", ".join(f"#{number}" for number in version.wrote[1:])
        notes.append(f"{also} wrote the same bytes")
    for number in version.wrote[:1]:
        for use in run.steps[number - 1].files:
            if use.role == "replaced" and use.path == version.path:
                return by_key.get((use.version, use.cid)), "; ".join(notes)
    earlier = [one for one in by_key.values() if one.order < version.order]
    last = max(earlier, key=lambda one: one.order, default=None)
    if not version.wrote:
        notes.append("it came from outside the run" if last or version.evidence == "witnessed" else "was there before")
    if last is None or last.removed:
        return None, "; ".join(notes)
    shared = [one for one in earlier if set(one.lanes) & set(version.lanes) and not one.removed]
    near = max(shared, key=lambda one: one.order, default=None)
    if near is not None:
        notes.append("what this replaced is not recorded; it is compared with the version known before")
    return near, "; ".join(notes)


def _origins(chain: Sequence[_Link]) -> list[_Origin]:
    """Return where each line of the first version of a chain comes from."""
    by_cid: dict[str, list[_Origin]] = {}
    known: list[_Origin] = []
    before: Sequence[str] = ()
    for link in reversed(chain):
        fresh = [_Origin(link.version, link.note)] * len(link.lines)
        restored = by_cid.get(link.version.cid)
        if restored is not None:
            back = f"brought back by #{link.version.wrote[0]}" if link.version.wrote else "brought back"
            fresh = [_Origin(one.version, "; ".join(filter(None, (one.note, back)))) for one in restored]
        for i, j, count in matching.blocks(before, link.lines):
            fresh[j : j + count] = known[i : i + count]
        by_cid.setdefault(link.version.cid, fresh)
        known, before = fresh, link.lines
    return known


# --- what wrote them


class _Telling:
    """Says of origins what wrote them; what was told is looked up once for each turn."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._told: dict[int, str] = {}

    def line(self, number: int, text: str, origin: _Origin) -> BlamedLine:
        """Return a line with what wrote it."""
        version = origin.version
        step = self._run.steps[version.wrote[0] - 1] if version.wrote else None
        asked = step.asked_by if step else None
        note = origin.note
        if asked is not None and asked.how is How.INFERRED:
            note = "; ".join(filter(None, (note, "the turn is inferred from the call's id")))
        return BlamedLine(
            number=number,
            text=text.removesuffix("\n").removesuffix("\r"),
            version=version,
            step=step.number if step else None,
            agent=step.agent if step else "",
            tool=step.name if step and step.kind is Kind.TOOL else "",
            call_id=step.call_id if step else "",
            turn=step.turn if step else None,
            turn_step=asked.step if asked else None,
            prompt=self._prompt(asked.step) if asked else "",
            note=note,
        )

    def _prompt(self, step: int) -> str:
        if step not in self._told:
            self._told[step] = told(self._run, self._run.steps[step - 1])
        return self._told[step]
