"""Which agent a run starts, and what the asset of an agent holds.

An agent's graph run is told from any other chain by what spawned it (the ``task`` tool) or by an ``lc_agent_name``
that differs from the one its surroundings carry. A runnable, a plain graph or a model chain called inside a tool
carries its agent's name and is none; the grader of ``RubricMiddleware`` carries it and is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eqty_lineage.deepagents.lanes import NAMESPACE
from eqty_lineage.deepagents.runs import Kind

if TYPE_CHECKING:
    from eqty_lineage.deepagents.runs import OpenRun

AGENT_NAME: Final = "lc_agent_name"
_INTEGRATION: Final = "ls_integration"
_AGENT_INTEGRATIONS: Final = frozenset({"deepagents", "langchain_create_agent"})
_VERSIONS: Final = "lc_versions"


@dataclass(frozen=True, slots=True)
class Started:
    """A subagent that a run starts: its name, the key of its lane, and the tool call that delegated to it.

    DeepAgents builds the subagents that are declared to it with ``create_agent``, over the caller's backend (0.7.32).
    """

    agent: str
    key: str
    caller: OpenRun | None
    same_backend: bool
    """Whether it is known to have its caller's files, outside state too."""


def started_by(parent: OpenRun | None, name: str, metadata: Mapping[str, Any]) -> Started | None:
    """Return the subagent that a chain run called ``name`` under ``parent`` starts, or ``None``."""
    if parent is None:
        return None
    own = name_in(metadata)
    caller = parent if parent.kind is Kind.TOOL else None
    is_own_name = own is not None and own != parent.lane.named
    delegated = _text(parent.arguments.get("subagent_type")) if _is_task(parent) else None
    agent = own if is_own_name else delegated or _grader(parent, name)
    if agent is None:
        return None
    namespace = metadata.get(NAMESPACE)
    if not isinstance(namespace, str) or not namespace:
        namespace = f"{parent.lane.key}|{agent}:{parent.tool_call_id or parent.root.turn}"
    # what a caller declares gets the caller's backend; a deep agent of its own, or one called in a tool, brings its own
    same_backend = delegated is not None and metadata.get(_INTEGRATION) != "deepagents"
    return Started(agent, namespace, caller, same_backend)


def delegating(node: OpenRun, call: OpenRun | None, metadata: Mapping[str, Any]) -> OpenRun:
    """Return what a chain that starts in a node of tool calls is really in: the ``task`` call that the node is running.

    With langchain 1.3.0 that call hands on its node's callbacks, and the subagent starts beside it (deepagents 0.6.0).
    ``call`` is the only call that is open in the node.
    """
    if call is not None and _is_task(call) and call.metadata.get(NAMESPACE) == metadata.get(NAMESPACE):
        return call
    return node


def name_in(metadata: Mapping[str, Any]) -> str | None:
    """Return the agent name that a run's metadata carries."""
    return _text(metadata.get(AGENT_NAME))


def is_agent(metadata: Mapping[str, Any]) -> bool:
    """Whether a run's metadata says that it is an agent."""
    return name_in(metadata) is not None or metadata.get(_INTEGRATION) in _AGENT_INTEGRATIONS


def agent_payload(name: str, metadata: Mapping[str, Any], config: Mapping[str, Any], *, nested: bool) -> dict[str, Any]:
    """Return the content of an ``Agent`` asset: nothing in it depends on when or how often the agent runs."""
    payload: dict[str, Any] = {"name": name, "role": "subagent" if nested else "deep agent"}
    framework = _text(metadata.get(_INTEGRATION))
    if framework is not None:
        payload["framework"] = framework
    versions = metadata.get(_VERSIONS)
    if isinstance(versions, Mapping):
        payload["versions"] = {str(package): str(version) for package, version in sorted(versions.items())}
    if config:
        payload["config"] = dict(config)
    return payload


def _grader(parent: OpenRun, name: str) -> str | None:
    """Return the name of the agent that grades another's work: its runs carry the other's name (deepagents 0.7.32)."""
    is_one = name == "rubric_grader" and parent.kind is Kind.CHAIN and parent.name.startswith("RubricMiddleware")
    return name if is_one else None


def _is_task(run: OpenRun) -> bool:
    return run.kind is Kind.TOOL and run.name == "task" and isinstance(run.arguments, Mapping)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
