"""Where the public names come from. :mod:`eqty_lineage.deepagents` looks them up here when one is first asked for."""

from eqty_lineage.langchain import (
    UNCLAIMED,
    AssetSink,
    EqtyCallbackHandler,
    PathExtractor,
    StateExtractor,
    eqty_tool,
)

from eqty_lineage.deepagents.discretion.globs import DEFAULT as DEFAULT_CONTENT_POLICY
from eqty_lineage.deepagents.extractors import TodoListExtractor, VirtualFileExtractor
from eqty_lineage.deepagents.given import AsyncTaskExtractor, MemoryExtractor, SkillExtractor
from eqty_lineage.deepagents.handler import EqtyDeepAgentsHandler
from eqty_lineage.deepagents.recording.journal import Recovered, recover
from eqty_lineage.deepagents.recording.sdk import ConfigurationError
from eqty_lineage.deepagents.references import NotExpandableError, expand

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
