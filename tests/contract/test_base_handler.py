"""What this package takes from ``EqtyCallbackHandler`` beyond its documented interface, as it is in 0.2.5.

An upgrade that moves any of it must fail here, not drift in a manifest.
"""

import ast
import inspect
import logging
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from eqty_lineage.langchain import AssetSink, EqtyCallbackHandler, PathExtractor, StateExtractor
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from eqty_lineage.deepagents import EqtyDeepAgentsHandler, base
from eqty_lineage.deepagents.discretion.names import REDACTED, is_credential

OVERRIDDEN = {
    "_activate_thread_context": "(self, metadata, agent_name=None)",
    "_agent_boundary": "(self, run_id, parent_run_id, metadata)",
    "_asset_factory": "(self, asset_type)",
    "_bind_context_to_root_run": "(self, parent_run_id)",
    "_caller_metadata": "(metadata)",
    "_finalize": "(self, name, kind, input_cids, output_cids)",
    "_finalize_error": "(self, run, error)",
    "_import_integrity_manifests": "(self, response)",
    "_predecessor_outputs": "(self, parent_run_id, step)",
    "_record_failure": "(self, run, error)",
    "_register_context": "(self, context=None)",
    "_register_state": "(self, obj, name, description, extra=None)",
    "_sampling_params": "(params)",
    "_verbose_metadata": "(self, fields)",
    "_wire_cid": "(response, key)",
}
"""Methods replaced or extended here; the base must call them, with these arguments."""

CALLED = {
    "_enclosing_node": "(self, parent_run_id)",
    "_forget_run": "(self, run_id)",
    "_redact": "(value, key=None)",
}
"""Methods called as they are."""

CALLBACKS = {
    "on_chain_start": "(self, serialized, inputs, *, run_id, parent_run_id=None, tags=None, metadata=None, **kwargs)",
    "on_chain_end": "(self, outputs, *, run_id, **kwargs)",
    "on_chain_error": "(self, error, *, run_id, **kwargs)",
    "on_chat_model_start": (
        "(self, serialized, messages, *, run_id, parent_run_id=None, tags=None, metadata=None, **kwargs)"
    ),
    "on_llm_end": "(self, response, *, run_id, **kwargs)",
    "on_llm_error": "(self, error, *, run_id, **kwargs)",
    "on_tool_start": (
        "(self, serialized, input_str, *, run_id, parent_run_id=None, tags=None, metadata=None, inputs=None, **kwargs)"
    ),
    "on_tool_end": "(self, output, *, run_id, **kwargs)",
    "on_tool_error": "(self, error, *, run_id, **kwargs)",
    "on_retriever_start": (
        "(self, serialized, query, *, run_id, parent_run_id=None, tags=None, metadata=None, **kwargs)"
    ),
    "on_retriever_end": "(self, documents, *, run_id, **kwargs)",
    "on_retriever_error": "(self, error, *, run_id, **kwargs)",
}

STATE: dict[str, type | tuple[type, ...]] = {
    "_extractors": list,
    "_fallback_steps": dict,
    "_framework": type(None),
    "_ig_service": type(None),
    "_lock": type(threading.RLock()),
    "_parents": dict,
    "_path_latest": dict,
    "_path_versions": dict,
    "_retriever_cids": dict,
    "_root_context": object,
    "_runs": dict,
    "_sibling_outputs": dict,
    "_tool_cids": dict,
    "verbose": bool,
}
"""Attributes its constructor sets, empty or ``None`` to begin with where they can be."""

CLASS_STATE = {"_thread_contexts", "_thread_context_lock"}


def signature_of(function: Any) -> str:
    """The parameters of a function, without annotations: those are spelled differently by each Python."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize(("name", "expected"), [*OVERRIDDEN.items(), *CALLED.items(), *CALLBACKS.items()])
def test_a_method_has_the_signature_it_had(name: str, expected: str):
    assert signature_of(getattr(EqtyCallbackHandler, name)) == expected


def test_the_constructors_and_extension_points_have_the_signatures_they_had():
    assert signature_of(EqtyCallbackHandler.__init__) == "(self, verbose=False, *, integrity_service_url=None)"
    assert signature_of(EqtyCallbackHandler.add_extractor) == "(self, extractor)"
    assert signature_of(PathExtractor.__init__) == "(self, handler)"
    assert signature_of(StateExtractor.extract) == "(self, key_path, value, sink)"
    assert signature_of(AssetSink.__init__) == "(self, metadata)"
    sink = AssetSink({"a": 1})
    assert (sink.metadata, sink.carried, sink.created) == ({"a": 1}, [], [])


def test_the_constructor_sets_the_state_it_set():
    handler = EqtyCallbackHandler()
    for name, kind in STATE.items():
        value = getattr(handler, name)
        assert isinstance(value, kind), name
        if kind is dict:
            assert value == {}, name
    assert [type(extractor) for extractor in handler._extractors] == [PathExtractor]


def test_the_contexts_of_threads_are_the_processs():
    for name in CLASS_STATE:
        assert name in vars(EqtyCallbackHandler)
        assert name not in vars(EqtyCallbackHandler())
    assert isinstance(EqtyCallbackHandler._thread_contexts, dict)


def test_a_new_extractor_is_asked_first():
    handler = EqtyCallbackHandler()
    extractor = StateExtractor()
    handler.add_extractor(extractor)
    assert handler._extractors[0] is extractor


def test_every_private_name_that_is_used_stands_in_these_tables():
    known = {*OVERRIDDEN, *CALLED, *STATE, *CLASS_STATE}
    theirs = {*dir(EqtyCallbackHandler), *vars(EqtyCallbackHandler())}
    used = set()
    for module in Path(base.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                used.add(node.attr)
    assert used & theirs <= known


def test_nothing_of_the_base_is_overridden_by_accident():
    theirs = set(dir(EqtyCallbackHandler)) - set(dir(object))
    ours: set[str] = set()
    for kind in EqtyDeepAgentsHandler.__mro__[: EqtyDeepAgentsHandler.__mro__.index(EqtyCallbackHandler)]:
        ours.update(vars(kind))
    meant = {*OVERRIDDEN, *CALLBACKS, "on_llm_start", "context"}
    accidents = {name for name in ours & theirs - meant if not name.startswith("__")}
    assert not accidents


def test_no_attribute_of_ours_has_the_name_of_one_of_theirs():
    shared = set(vars(EqtyCallbackHandler()))
    own = {
        target.attr
        for module in ("observing.py", "queueing.py", "handler.py", "drafting.py")
        for node in ast.walk(ast.parse((Path(base.__file__).parent / module).read_text()))
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    }
    assert own & shared <= {"verbose"}


class Spy(EqtyCallbackHandler):
    """Notes which hooks the base calls, and with what."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def names(self) -> set[str]:
        return {name for name, _, _ in self.called}


def _spied(name: str, original: Any) -> Any:
    def hook(self: Any, *arguments: Any, **more: Any) -> Any:
        getattr(self, "called", []).append((name, arguments, more))
        return original(self, *arguments, **more)

    return hook


for _name in OVERRIDDEN:
    _original = inspect.getattr_static(EqtyCallbackHandler, _name)
    if isinstance(_original, classmethod):
        continue
    if isinstance(_original, staticmethod):
        setattr(Spy, _name, _spied(_name, lambda _self, *arguments, _f=_original.__func__: _f(*arguments)))
    else:
        setattr(Spy, _name, _spied(_name, _original))


@pytest.fixture(scope="module")
def spied() -> tuple[Spy, dict[str, dict[str, Any]]]:
    """A run of each kind under the base handler, and what it tracked of each while it was open."""
    handler, tracked = Spy(), {}
    ids = {name: uuid.uuid4() for name in ("graph", "node", "model", "tool", "retriever", "failing")}
    node = {"langgraph_node": "n", "langgraph_step": 1}
    handler.on_chain_start({}, {"a": 1}, run_id=ids["graph"], name="g")
    handler.on_chain_start({}, {"a": 1}, run_id=ids["node"], parent_run_id=ids["graph"], metadata=node, name="n")
    inside = {"parent_run_id": ids["node"]}
    handler.on_chat_model_start({}, [[HumanMessage("x")]], run_id=ids["model"], **inside)
    handler.on_tool_start({"name": "t"}, "x", run_id=ids["tool"], inputs={"b": 1}, **inside)
    handler.on_retriever_start({}, "q", run_id=ids["retriever"], name="r", **inside)
    handler.on_tool_start({"name": "f"}, "x", run_id=ids["failing"], **inside)
    tracked.update({name: dict(handler._runs[run_id]) for name, run_id in ids.items()})
    handler.on_llm_end(LLMResult(generations=[[ChatGeneration(message=AIMessage("y"))]]), run_id=ids["model"])
    handler.on_tool_end("z", run_id=ids["tool"])
    handler.on_retriever_end([Document("d")], run_id=ids["retriever"])
    logging.getLogger("eqty.langgraph").disabled = True
    handler.on_tool_error(ValueError("v"), run_id=ids["failing"])
    logging.getLogger("eqty.langgraph").disabled = False
    handler.on_chain_end({"a": 2}, run_id=ids["node"])
    handler.on_chain_end({"a": 2}, run_id=ids["graph"])
    assert not handler._runs
    assert not handler._parents
    return handler, tracked


def test_the_base_calls_the_hooks_that_are_overridden(spied: tuple[Spy, dict[str, dict[str, Any]]]):
    handler, _ = spied
    by_class = {"_caller_metadata", "_sampling_params"}
    assert handler.names() == OVERRIDDEN.keys() - by_class


def test_the_base_keeps_of_an_open_run_what_is_read_here(spied: tuple[Spy, dict[str, dict[str, Any]]]):
    _, tracked = spied
    for run in tracked.values():
        assert {"name", "kind", "state_in", "inputs"} <= run.keys()
        assert isinstance(run["inputs"], list)
        assert run["state_in"] in run["inputs"]
    kinds = {name: run["kind"] for name, run in tracked.items()}
    assert kinds == {
        "graph": "graph",
        "node": "graph_node",
        "model": "chat_model",
        "tool": "tool",
        "retriever": "retriever",
        "failing": "tool",
    }


def test_the_base_names_parts_of_an_asset_as_they_are_read_here(spied: tuple[Spy, dict[str, dict[str, Any]]]):
    handler, _ = spied
    states = [(arguments, more) for name, arguments, more in handler.called if name == "_register_state"]
    assert states
    for arguments, more in states:
        assert len(arguments) == 1
        assert more.keys() == {"name", "description", "extra"}


def test_the_base_makes_every_asset_through_its_factory(spied: tuple[Spy, dict[str, dict[str, Any]]]):
    handler, _ = spied
    kinds = {arguments[0]._asset_type.value for name, arguments, _ in handler.called if name == "_asset_factory"}
    assert kinds == {"Dataset", "Document", "Model", "Prompt", "Reasoning", "Tool"}


def test_the_base_makes_every_computation_through_finalize(spied: tuple[Spy, dict[str, dict[str, Any]]]):
    handler, _ = spied
    kinds = [arguments[1] for name, arguments, more in handler.called if name == "_finalize" and not more]
    assert sorted(kinds) == [
        "chat_inference",
        "chat_model",
        "chat_request",
        "graph",
        "graph_node",
        "retriever",
        "tool",
        "tool_error",
    ]


@pytest.mark.parametrize("method", ["_caller_metadata", "_sampling_params"])
def test_what_the_caller_configured_goes_through_the_class_hooks(method: str, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    class Told(EqtyCallbackHandler):
        pass

    original = getattr(EqtyCallbackHandler, method).__func__
    monkeypatch.setattr(Told, method, classmethod(lambda cls, given: asked.append(given) or original(cls, given)))
    handler = Told()
    handler.on_chat_model_start(
        {},
        [[HumanMessage("x")]],
        run_id=uuid.uuid4(),
        metadata={"team": "blue"},
        invocation_params={"temperature": 0.5},
    )
    assert asked == [{"team": "blue"} if method == "_caller_metadata" else {"temperature": 0.5}]


def test_credentials_are_redacted_by_name_anywhere():
    redacted = EqtyCallbackHandler._redact({"a": [{"api_key": "x", "max_tokens": 7}], "Authorization": "y"})
    assert redacted == {"a": [{"api_key": "[redacted]", "max_tokens": 7}], "Authorization": "[redacted]"}


@pytest.mark.parametrize(
    "name",
    [
        *EqtyCallbackHandler._SECRET_PARAM_WORDS,
        *EqtyCallbackHandler._SECRET_PARAM_STEMS,
        *("X-Api-Key", "client_secret", "authorization", "passwords", "max_tokens", "author", "temperature"),
    ],
)
def test_what_the_base_handler_takes_for_a_credential_is_one_here_too(name: str):
    assert is_credential(name) >= EqtyCallbackHandler._is_secret_param(name)
    assert EqtyCallbackHandler._redact("x", "api_key") == REDACTED
