"""Which inputs of a tool are the model's."""

from typing import Any

import pytest

from eqty_lineage.deepagents.injected import given
from eqty_lineage.deepagents.results import calls_for, without_context


class Runtime:
    """Stands in for what a framework injects: no JSON value."""


RUNTIME = Runtime()


def asked(**arguments: Any) -> list[dict[str, Any]]:
    return [{"name": "look", "id": "l", "args": arguments}]


BOTH = [*asked(what="x"), {"name": "look", "id": "m", "args": {"state": ""}}]


@pytest.mark.parametrize(
    ("inputs", "calls", "kept"),
    [
        ({"what": "x", "runtime": RUNTIME}, asked(what="x"), {"what"}),
        ({"what": "x", "state": {"messages": []}, "tool_call_id": "l"}, asked(what="x"), {"what"}),
        ({"what": "x", "database": RUNTIME}, asked(what="x"), {"what"}),
        ({"state": "NY", "config": {"a": [1]}}, asked(state="NY", config={"a": [1]}), {"state", "config"}),
        ({"state": {"messages": [RUNTIME]}}, asked(state="NY"), set()),
        ({"what": "x", "every": True}, asked(what="x"), {"what", "every"}),
        ({"what": RUNTIME, "config": {"a": 1}, "store": RUNTIME}, [], {"what", "config"}),
        ({"what": "x", "runtime": RUNTIME}, [{"name": "other", "id": "l", "args": {"runtime": "x"}}], {"what"}),
        (
            {"what": "x", "state": "NY"},
            [*asked(what="x"), {"name": "look", "id": "m", "args": {"state": ""}}],
            {"what"},
        ),
    ],
)
def test_what_the_model_gave_is_kept_and_what_was_added_is_not(inputs: Any, calls: Any, kept: set[str]):
    assert given(inputs, "look", "l", calls).keys() == kept


def test_where_the_call_is_not_known_any_of_that_tool_may_be_the_one():
    assert given({"what": "x", "state": "NY"}, "look", None, BOTH).keys() == {"what", "state"}


def test_values_without_end_are_not_the_models():
    endless: dict[str, Any] = {}
    endless["again"] = endless
    assert given({"state": endless}, "look", "l", asked(state="x")) == {}


def test_what_is_no_mapping_is_left_as_it_is():
    assert given("x", "look", "l", asked(what="x")) == "x"


def test_the_calls_a_node_is_to_run_are_told_from_each_form_of_its_input():
    (one,) = asked(what="x")
    in_context = {"__type": "tool_call_with_context", "tool_call": one, "state": {"messages": ["much"]}}
    assert without_context(in_context) == [one]
    assert calls_for(without_context(in_context)) == calls_for([one]) == [one]
    assert calls_for({"messages": []}) == calls_for({}) == calls_for(None) == calls_for([None, "x"]) == []
