"""What an exception says about the run it ended: a failure, a pause, or a caller that went away."""

from __future__ import annotations

from enum import Enum, auto

_STOPS = frozenset({"GeneratorExit", "CancelledError", "KeyboardInterrupt"})


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
