"""What a finished call must have left or shown, from its arguments and what is known; and which calls disturb which."""

from __future__ import annotations

from typing import assert_never

from eqty_lineage.deepagents.facts import Version, Why
from eqty_lineage.deepagents.filesystem import contents, edits, renderings
from eqty_lineage.deepagents.filesystem.contents import Content, Unreadable
from eqty_lineage.deepagents.filesystem.effects import CidOf, Edited, Known, Unknown
from eqty_lineage.deepagents.filesystem.paths import may_be_removed_by, name_of
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
    base64_block,
)


def disturbs(one: FileCall, other: FileCall) -> bool:
    """Whether ``one`` could change the file that ``other`` works on."""
    match one:
        case Read() | Search():
            return False
        case Execute():
            return True
        case Foreign():
            return isinstance(other, Search) or (hasattr(other, "path") and one.names(other.path))
        case Write() | Edit() | Delete():
            pass
        case _:
            assert_never(one)
    if isinstance(other, Execute | Foreign):
        return False
    if isinstance(other, Search):
        return True
    return (
        name_of(one.path) == name_of(other.path)
        or (isinstance(one, Delete) and may_be_removed_by(other.path, one.path))
        or (isinstance(other, Delete) and may_be_removed_by(one.path, other.path))
    )


def written(
    call: Write | Edit, held: Known | None, outcome: Succeeded, *, contested: bool, endings_kept: bool
) -> Content | Why:
    """Return the bytes a successful write or edit left, or why they cannot be told."""
    if isinstance(call, Write):
        content = contents.from_text(call.text)
        return content.why if isinstance(content, Unreadable) else content
    if contested:
        return Why.CONTESTED
    if held is None or held.text is None:
        return Why.NO_BASE
    if not endings_kept and edits.line_endings_matter(held.text, call.old, call.new):
        return Why.LINE_ENDINGS
    result = edits.replace(held.text, call.old, call.new, every=call.every)
    if isinstance(result, edits.NoEdit) or result.count != outcome.count:
        return Why.MISMATCH
    content = contents.from_text(result.text)
    return content.why if isinstance(content, Unreadable) else content


def told_in_part(call: Write | Edit, why: Why, held: Known | None, outcome: Succeeded) -> Edited | Unknown:
    """Return what a call did that succeeded and left bytes that cannot be told: an edit still says what it replaced."""
    if isinstance(call, Write):
        return Unknown(why)
    # a count that contradicts what was believed says that the belief was wrong
    base = held.version if held is not None and why is not Why.MISMATCH else None
    return Edited(call, outcome.count, why, base)


def can_leave(call: Edit, base: str, outcome: Succeeded, text: str) -> bool:
    """Whether an edit that succeeded on ``base`` can have left ``text``; the kinds of line ending count for nothing."""
    plain = edits.replace(base, call.old, call.new, every=call.every)
    base, text, old, new = map(edits.with_one_ending, (base, text, call.old, call.new))
    converted = edits.replace(base, old, new, every=call.every)
    return any(
        isinstance(left, edits.Replaced) and left.count == outcome.count and edits.with_one_ending(left.text) == text
        for left in (plain, converted)
    )


def may_have_left(call: Edit, outcome: Succeeded, text: str | None) -> bool:
    """Whether an edit that succeeded on anything at all can have left ``text``: it has the new text often enough."""
    if text is None:
        return False
    return not call.new or edits.with_one_ending(text).count(edits.with_one_ending(call.new)) >= (outcome.count or 1)


def undone(call: Edit, outcome: Succeeded, text: str) -> str | None:
    """Return the only text that an edit can have been made in that left ``text``, or ``None`` if others are possible.

    Where the new text stands just as often as the call says it replaced something, overlaps counted, these are the
    places. Some backends convert line breaks and leave no trace of it: a text that had one cannot be told.
    """
    new = call.new
    if not new or sum(text.startswith(new, at) for at in range(len(text))) != outcome.count:
        return None
    base = text.replace(new, call.old)
    if "\n" in base or edits.line_endings_matter(base, text):
        return None
    return base if edits.replace(base, call.old, new, every=call.every) == edits.Replaced(text, outcome.count) else None


def version_read(candidates: list[Known], content: object, cid_of: CidOf, *, contested: bool = False) -> Version | None:
    """Return the one version among ``candidates`` that the result can have come from.

    A rendering leaves out what ended the last line and all past the window. While another call could change the file
    (``contested``) it therefore does not tell a version from what that call left; exact bytes do.
    """
    if contested and isinstance(content, str):
        return None
    consistent = {known.version.cid: known.version for known in candidates if can_show(known, content, cid_of)}
    return next(iter(consistent.values())) if len(consistent) == 1 else None


def can_show(known: Known, content: object, cid_of: CidOf) -> bool:
    """Whether a read that returned ``content`` can have come from ``known``."""
    if isinstance(content, str):
        if known.text is None:
            return content == renderings.EMPTY and known.version.cid == cid_of(b"")
        return renderings.shows(content, known.text)
    block = base64_block(content)
    if block is None:
        return False
    # state and store hand out a text file under a binary name unencoded (0.7.32)
    data = contents.from_base64(block)
    return block == known.text or (isinstance(data, Content) and cid_of(data.data) == known.version.cid)
