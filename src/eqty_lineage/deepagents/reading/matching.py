"""Which lines of two texts are the same ones, in bounded time."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

_PAIRS: Final = 200_000
"""Pairs of equal lines that are looked at one by one; beyond that only lines that stand once in each text are."""

Block = tuple[int, int, int]
"""From where in the first text, from where in the second, and how many lines."""


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text with their endings. As in git only ``\n`` ends a line, and the last may have none."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def blocks(before: Sequence[str], after: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of lines that stand in both texts, in order.

    What the texts begin and end with in common is taken first. Between, difflib finds the longest blocks; where equal
    lines are too many for that (it takes the square of them), lines that stand once in each text are matched in order,
    the most that can be (patience), and their equal neighbours with them. The same texts give the same blocks.
    """
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    if start:
        yield (0, 0, start)
    first, second = before[start : len(before) - end], after[start : len(after) - end]
    if first and second:
        for i, j, size in _between(first, second):
            yield (start + i, start + j, size)
    if end:
        yield (len(before) - end, len(after) - end, end)


def _between(before: Sequence[str], after: Sequence[str]) -> Iterator[Block]:
    first, second = Counter(before), Counter(after)
    if sum(count * second[line] for line, count in first.items()) <= _PAIRS:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        yield from ((i, j, size) for i, j, size in matcher.get_matching_blocks() if size)
        return
    once = {line: i for i, line in enumerate(before) if first[line] == 1 and second[line] == 1}
    anchors = _rising([(once[line], j) for j, line in enumerate(after) if line in once])
    i = j = 0
    for at, to in anchors:
        if at < i:
            continue  # a neighbour of the one before
        back = 0
        while at - back > i and to - back > j and before[at - back - 1] == after[to - back - 1]:
            back += 1
        on = 1
        while at + on < len(before) and to + on < len(after) and before[at + on] == after[to + on]:
            on += 1
        yield (at - back, to - back, back + on)
        i, j = at + on, to + on


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs, of those in order of their second, that are in order of their first too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for at, (i, _) in enumerate(pairs):
        place = bisect.bisect_left(ends, i)
        before.append(last[place - 1] if place else None)
        if place == len(ends):
            ends.append(i)
            last.append(at)
        else:
            ends[place], last[place] = i, at
    found: list[tuple[int, int]] = []
    at_: int | None = last[-1] if last else None
    while at_ is not None:
        found.append(pairs[at_])
        at_ = before[at_]
    return found[::-1]
