"""What an exception says about the run it ended: a failure, a pause, or a caller that went away."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

_STOPS = frozenset({"GeneratorExit", "CancelledError", "KeyboardInterrupt"})


def handed_over(error: BaseException) -> Any | None:
    """Return the ``Command`` with which a step hands over to the graph around its own (langgraph 1.2.24), or ``None``.

    LangGraph raises it through the step and its graph; neither has failed.
    """
    is_handoff = any(kind.__name__ == "ParentCommand" for kind in type(error).__mro__)
    return error.args[0] if is_handoff and error.args else None


class Ending(Enum):
    """How an exception ends a run."""

    FAILED = auto()
    PAUSED = auto()
    """LangGraph's control flow: the run is resumed or goes on elsewhere, and nothing is recorded for it here."""
    STOPPED = auto()
    """The caller went away: cancelled, or stopped reading a stream."""

    @classmethod
    def of(cls, error: BaseException) -> Ending:
        """Tell a failure from control flow, by class name because langgraph is not imported."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if "GraphBubbleUp" in names:
            return cls.PAUSED
        return cls.STOPPED if names & _STOPS else cls.FAILED
