"""What differs between two texts, as a unified diff in bounded time."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from eqty_lineage.deepagents.reading import blaming, naming
from eqty_lineage.deepagents.reading.answers import FileDiff, Reference
from eqty_lineage.deepagents.reading.errors import UnknownReferenceError
from eqty_lineage.deepagents.reading.matching import Block, blocks, lines_of
from eqty_lineage.deepagents.reading.model import Version

if TYPE_CHECKING:
    from eqty_lineage.deepagents.reading.run import Run

CONTEXT: Final = 3
"""Equal lines shown around a change."""
LONGEST: Final = 20_000
"""Lines of a diff beyond which it is cut, which its last line says."""
_NO_END: Final = "\\ No newline at end of file"


def file_diff(run: Run, before: str | Reference | Version, after: str | Reference | Version) -> FileDiff:
    """Return what differs between two versions, of one path or of two.

    Raises:
        UnknownReferenceError: One of them names nothing, several things, or no version of a file.

    """
    first, second = (_version(run, one) for one in (before, after))
    if first.cid == second.cid and first.exact and second.exact:
        return FileDiff(first, second, (), "")
    notes = [f"{naming.name(run, one)}: {note}" for one in (first, second) if (note := blaming.why_no_text(run, one))]
    if notes:
        return FileDiff(first, second, (), "; ".join(notes))
    labels = [naming.name(run, one) for one in (first, second)]
    texts = [run.text(one) or "" for one in (first, second)]
    return FileDiff(first, second, unified(texts[0], texts[1], labels[0], labels[1]), "")


def unified(before: str, after: str, first: str, second: str, *, limit: int = LONGEST) -> tuple[str, ...]:
    """Return a unified diff of two texts, without line endings, empty if they are equal.

    Args:
        before: The first text.
        after: The second text.
        first: What the first is called; control characters and line breaks in it are shown by number.
        second: What the second is called.
        limit: The most lines.

    """
    if before == after:
        return ()
    lines = [f"--- {_label(first)}", f"+++ {_label(second)}"]
    for line in _hunks(lines_of(before), lines_of(after)):
        if len(lines) >= limit:
            lines.append(f"… cut after {limit} lines")
            break
        lines.append(line)
    return tuple(lines)


class _Matched(difflib.SequenceMatcher[str]):
    """Groups changes with their context, from blocks that were matched elsewhere."""

    def __init__(self, matched: Sequence[Block]) -> None:
        super().__init__(None, "", "", autojunk=False)
        self._matched = [difflib.Match(*block) for block in matched]

    def get_matching_blocks(self) -> list[difflib.Match]:
        return self._matched


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    matcher = _Matched([*blocks(before, after), (len(before), len(after), 0)])
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(" ", before[i1:i2])
                continue
            yield from _marked("-", before[i1:i2])
            yield from _marked("+", after[j1:j2])


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_END


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _label(text: str) -> str:
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _version(run: Run, reference: str | Reference | Version) -> Version:
    found = naming.resolved(run, reference)
    if found.version is None:
        raise UnknownReferenceError(f"no version of a file: {naming.quoted(found.text)}")
    return found.version
