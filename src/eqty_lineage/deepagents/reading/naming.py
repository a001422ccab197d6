"""What a reference names: ``/report.md``, ``/report.md@2``, ``#13``, ``plan@1``, or six characters of a CID."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading.answers import Reference, What
from eqty_lineage.deepagents.reading.document import PREFIX, bare
from eqty_lineage.deepagents.reading.errors import UnknownReferenceError
from eqty_lineage.deepagents.reading.model import Cid, Entity, File, Version
from eqty_lineage.deepagents.reading.visible import visible

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

LEAST: Final = 6
"""Characters of a CID that are enough if they are unique."""
_TAIL: Final = 10
_SHOWN: Final = 5
"""Candidates and near misses that an error lists."""
_LONGEST: Final = 80
"""Characters of a hostile text that an error repeats, and that are compared for near misses."""
_PATHS: Final = 2_000
"""Paths that are looked at for near misses."""
_STEP: Final = re.compile(r"#([0-9]{1,9})")
_PLAN: Final = re.compile(r"plan(?:@([0-9]{1,9}))?")
_ORDINAL: Final = re.compile(r"([0-9]{1,9})(?:\.(.+))?")
_FRAGMENT: Final = re.compile(r"[a-z0-9]+")
_KINDS: Final = {
    "Prompt": What.PROMPT,
    "Skill": What.SKILL,
    "Agent": What.AGENT,
    "System_Prompt": What.SYSTEM_PROMPT,
    "Tool": What.TOOL,
    "Model": What.MODEL,
}


def find(run: Run, text: str) -> Reference:
    """Return what a reference names.

    Args:
        run: The run.
        text: ``#13``: a step. ``plan``, ``plan@1``: a revision of the plan, the last if none is said. A path: what it
            held last. A path, ``@`` and an ordinal, or part of a CID, or both with a dot between: a version. Else at
            least six characters of a CID, from anywhere in it, with or without ``urn:cid:``, or cut short by an
            ellipsis as it is shown. A path that contains ``@`` is taken as a whole first.

    Raises:
        UnknownReferenceError: It names nothing (near misses are listed), or several things (all are listed).

    """
    if match := _STEP.fullmatch(text):
        return _step(run.step(int(match[1])).number)
    if match := _PLAN.fullmatch(text):
        return _plan(run, match[1])
    for path in (text, f"/{text}"):
        if path in run.files:
            return of_version(run, _last(run.files[path]))
    for at in (match.start() for match in re.finditer("@", text)):
        for path in (text[:at], f"/{text[:at]}"):
            if path in run.files:
                return of_version(run, _version(run.files[path], text[at + 1 :]))
    return _by_cid(run, text)


def resolved(run: Run, reference: str | Reference | Version) -> Reference:
    """Return a reference, whichever way it was given."""
    if isinstance(reference, Reference):
        return reference
    return of_version(run, reference) if isinstance(reference, Version) else find(run, reference)


def of_version(run: Run, version: Version) -> Reference:
    """Return the reference of a version."""
    return Reference(name(run, version), What.VERSION, None, version, None, version.cid)


def name(run: Run, version: Version) -> str:
    """Return how a version is written, so that it is found again: by its ordinal, if no other version has it."""
    path, ordinal, cid = version.path, version.ordinal, version.cid
    file = run.files.get(path)
    alone = file is None or sum(one.ordinal == ordinal for one in file.versions) == 1
    candidates = [f"{path}@{cid}"] if ordinal is None else [f"{path}@{ordinal}.{cid}"]
    if ordinal is not None and alone:
        candidates.insert(0, f"{path}@{ordinal}")
    free = (one for one in candidates if one not in run.files and not _PLAN.fullmatch(one))
    return next(free, candidates[-1])


def kind_of(entity: Entity) -> What:
    """Return what an entity is by its asset types."""
    return next((_KINDS[kind] for kind in entity.types if kind in _KINDS), What.ENTITY)


def _step(number: int, cid: Cid | None = None) -> Reference:
    return Reference(f"#{number}", What.STEP, number, None, None, cid)


def _plan(run: Run, number: str | None) -> Reference:
    if not run.plan:
        raise UnknownReferenceError("there is no plan in this run")
    at = len(run.plan) if number is None else int(number)
    if not 1 <= at <= len(run.plan):
        raise UnknownReferenceError(f"there is no plan@{at}; the last one is plan@{len(run.plan)}")
    revision = run.plan[at - 1]
    return Reference(f"plan@{at}", What.PLAN, None, None, at, revision.cid)


def _last(file: File) -> Version:
    """What a path held last; of one that was removed, what it held before."""
    ended = [one for one in file.versions if one.removed]
    return file.last or max(ended or file.versions, key=lambda one: (max(one.removed, default=0), one.order))


def _version(file: File, wanted: str) -> Version:
    match = _ORDINAL.fullmatch(wanted)
    found = []
    if match:
        found = [one for one in file.versions if one.ordinal == int(match[1])]
        if match[2]:
            found = [one for one in found if _fragment(match[2]) in one.cid]
    fragment = _fragment(wanted)
    if not found and len(fragment) >= LEAST:
        found = [one for one in file.versions if fragment in one.cid]
        unnumbered = [one for one in found if one.ordinal is None and one.cid == fragment]
        found = unnumbered or found
    if len(found) == 1:
        return found[0]
    asked = quoted(f"{file.path}@{wanted}")
    if found:
        raise UnknownReferenceError(f"{asked} may be any of {_list(_short(one) for one in found)}")
    versions = _list(dict.fromkeys(_short(one) for one in reversed(file.versions)))
    raise UnknownReferenceError(f"there is no {asked}; there is {versions}")


def _short(version: Version) -> str:
    ordinal = "" if version.ordinal is None else f"{version.ordinal}."
    return f"{version.path}@{ordinal}{version.cid[-_TAIL:]}"


def _by_cid(run: Run, text: str) -> Reference:
    fragment = _fragment(text)
    if len(fragment) >= LEAST and _FRAGMENT.fullmatch(fragment):
        cids = [cid for cid in (*run.computations, *run.entities) if fragment in cid]
        if fragment in cids:
            cids = [bare(fragment)]
        found = [reference for cid in dict.fromkeys(cids) for reference in _all_of(run, cid)]
        if len(found) == 1:
            return found[0]
        if found:
            shown = _list(_with_tail(reference) for reference in found)
            raise UnknownReferenceError(f"{quoted(text)} may be any of {shown}")
    raise UnknownReferenceError(f"nothing is called {quoted(text)}{_near(run, text)}")


def _all_of(run: Run, cid: Cid) -> Iterator[Reference]:
    """Yield everything that a CID is: a step or another computation, versions, revisions of the plan, or an entity."""
    if cid in run.computations:
        step = next((step.number for step in run.steps if any(part.id == cid for part in step.parts)), None)
        yield Reference(cid, What.ENTITY, None, None, None, cid) if step is None else _step(step, cid)
        return
    versions = [one for file in run.files.values() for one in file.versions if one.cid == cid]
    revisions = [one for one in run.plan if one.cid == cid]
    yield from (of_version(run, one) for one in versions)
    yield from (_plan(run, str(one.number)) for one in revisions)
    if not versions and not revisions:
        yield Reference(cid, kind_of(run.entities[cid]), None, None, None, cid)


def _fragment(text: str) -> str:
    return text.strip().removeprefix(PREFIX).strip("….").lower()


def _with_tail(reference: Reference) -> str:
    if reference.cid is None or reference.text == reference.cid:
        return f"…{reference.text[-_TAIL:]}"
    return f"{reference.text} (…{reference.cid[-_TAIL:]})"


def quoted(text: str) -> str:
    """Return a text as an error repeats it: on one line, cut."""
    return f'"{visible(text, limit=_LONGEST)}"'


def _list(names: Iterable[str]) -> str:
    listed = list(names)
    shown = ", ".join(visible(one, limit=_LONGEST) for one in listed[:_SHOWN])
    more = len(listed) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _near(run: Run, text: str) -> str:
    known = {path[:_LONGEST]: path for path in list(run.files)[:_PATHS]}
    path = text.rpartition("@")[0] or text
    near = difflib.get_close_matches(path[:_LONGEST], known, n=3, cutoff=0.5)
    if near:
        return f"; did you mean {_list(known[one] for one in near)}?"
    return "; a reference is a path, /path@2, #13, plan@1, or six characters of a CID"
