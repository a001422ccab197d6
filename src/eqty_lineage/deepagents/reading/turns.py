"""Which computations are one model turn: request, inference and response, and what lay between them."""

from __future__ import annotations

from typing import Final

from eqty_lineage.deepagents.reading.model import Computation
from eqty_lineage.deepagents.reading.statements import FAILED, Statements

REQUEST: Final = "chat_request"
"""What a turn begins with."""
PART_OF_TURN: Final = "chat_"
"""What the type of each of its computations begins with, in ``eqty-lineage-langchain`` 0.2.5."""


def is_part_of_turn(one: Computation) -> bool:
    """Whether a computation is part of a model turn."""
    return one.type.startswith(PART_OF_TURN)


def fold(statements: Statements) -> tuple[tuple[Computation, ...], ...]:
    """Return the turns, in order of their first parts, each with its parts in order.

    Parts of one turn have one ``run_id``. Where none is recorded, a part goes on from the latest turn before it that
    made one of its inputs.
    """
    turns: list[list[Computation]] = []
    by_run: dict[tuple[str, str], list[Computation]] = {}
    turn_of: dict[str, list[Computation]] = {}
    for one in statements.computations.values():
        if not is_part_of_turn(one):
            continue
        if one.run_id:
            turn = by_run.setdefault((one.root_run_id, one.run_id), [])
        else:
            turn = _gone_on_from(one, statements, turn_of)
        if not turn:
            turns.append(turn)
        turn.append(one)
        turn_of[one.id] = turn
    return tuple(tuple(turn) for turn in turns)


def _gone_on_from(one: Computation, statements: Statements, turn_of: dict[str, list[Computation]]) -> list[Computation]:
    if one.type.removesuffix(FAILED) == REQUEST:
        return []  # its inputs hold other turns' responses
    for cid in one.inputs:
        maker = statements.producer(cid, one)
        if maker is not None and maker.id in turn_of:
            return turn_of[maker.id]
    return []
