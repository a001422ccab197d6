"""EQTY lineage for DeepAgents: a LangChain callback handler that records a deep agent's run."""

from typing import TYPE_CHECKING

__all__ = [
    "DEFAULT_CONTENT_POLICY",
    "UNCLAIMED",
    "AssetSink",
    "AsyncTaskExtractor",
    "ConfigurationError",
    "EqtyCallbackHandler",
    "EqtyDeepAgentsHandler",
    "MemoryExtractor",
    "NotExpandableError",
    "PathExtractor",
    "Recovered",
    "SkillExtractor",
    "StateExtractor",
    "TodoListExtractor",
    "VirtualFileExtractor",
    "eqty_tool",
    "expand",
    "recover",
]

if TYPE_CHECKING:
    from eqty_lineage.deepagents.public import (
        DEFAULT_CONTENT_POLICY,
        UNCLAIMED,
        AssetSink,
        AsyncTaskExtractor,
        ConfigurationError,
        EqtyCallbackHandler,
        EqtyDeepAgentsHandler,
        MemoryExtractor,
        NotExpandableError,
        PathExtractor,
        Recovered,
        SkillExtractor,
        StateExtractor,
        TodoListExtractor,
        VirtualFileExtractor,
        eqty_tool,
        expand,
        recover,
    )
else:
    # Reading a manifest (`eqty_lineage.deepagents.reading`) runs this module too, and needs neither LangChain nor the
    # SDK. Hidden from type checkers, for which it would make every name exist.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from eqty_lineage.deepagents import public  # noqa: PLC0415 - only when a name is asked for

        globals()[name] = value = getattr(public, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
