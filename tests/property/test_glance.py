"""A glance never takes for clean what a walk would change."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from eqty_lineage.deepagents.discretion.glance import is_clean, is_clean_text
from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.memory import Memory
from eqty_lineage.deepagents.discretion.walk import Discretion
from support.files import cid_of

LINES = ("SECRET line of a file", 'with "quotes" in it')

names = st.sampled_from(
    [
        *("id", "name", "value", "content", "file_path", "path", "api_key", "apiKey", "auth", "key", "monkey", "/.env"),
        *("/x/cert.pem", "/a.txt", "role", "tool_call_id", "command", "usage", "to\u212aen", "tool_calls", "args"),
    ]
)
texts = st.sampled_from(
    ["", "x", "tool", "call-1", "/.env", ".ENV", "/CRED\u017fs", "/home/x/.s\u017fh/id", "cat .env > .pem", *LINES]
    + [f"see {line} there" for line in LINES]
    + [
        '{"api_key": 1}',
        '{"a": {"password": "x"}}',
        '{"a\\u0070i_key": "x"}',
        '{"file_path": "/.env", "content": "x',
        "[1]",
    ]
    + [json.dumps({"a": line}) for line in LINES]
    + [json.dumps({"a": json.dumps({"token": line})}) for line in LINES]
    + ["/large_tool_results/call-1", "/conversation_history/x.md", '{"n": 1}', "{'a': 1}"]
)
payloads = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5),
    max_leaves=30,
)
policies = st.sampled_from(
    [None, Policy(), Policy(["*.env"]), Policy(["??x"]), Policy(["[!]]nv", "/a/**"]), Policy(["ros\u00e9"])]
)


def discretion(policy: Policy | None, *, seen: bool) -> Discretion:
    memory = Memory(policy, cid_of)
    if seen and policy is not None:
        for line in LINES:
            memory.lines.learn(line)
        memory.meet("read_file", {"file_path": "/.env"}, "call-1")
    return Discretion(memory)


def walked(one: Discretion, payload: Any) -> Any:
    before = one.generation
    refined = one._walk(payload, glanced=True)
    return refined if one.generation == before else one._walk(payload, glanced=True)


@given(payload=payloads, policy=policies, seen=st.booleans())
@example(payload={"role": "tool", "tool_call_id": "call-1", "content": "x"}, policy=Policy(), seen=True)
def test_what_is_clean_at_a_glance_is_not_changed(payload: Any, policy: Policy | None, seen: bool):  # noqa: FBT001
    one = discretion(policy, seen=seen)
    if is_clean([payload], one.memory):
        assert one._walk([payload], glanced=True) == [payload]


@given(payload=payloads, policy=policies, seen=st.booleans())
@example(payload={"to\u212aen": [1]}, policy=None, seen=False)
@example(payload={"a": 'with "quotes" in it'}, policy=Policy(), seen=True)
def test_what_is_clean_json_text_at_a_glance_is_not_changed(payload: Any, policy: Policy | None, seen: bool):  # noqa: FBT001
    one = discretion(policy, seen=seen)
    text = json.dumps(payload)
    if is_clean_text(text, one.memory):
        refined = one._walk(json.loads(text), glanced=True)
        assert refined == json.loads(one.memory.lines.blank(text))


@given(items=st.lists(payloads, min_size=30, max_size=60), policy=policies, seen=st.booleans())
def test_a_long_list_is_refined_like_each_of_its_items(items: list[Any], policy: Policy | None, seen: bool):  # noqa: FBT001
    whole = discretion(policy, seen=seen).refine(items)
    one = discretion(policy, seen=seen)
    assert whole == walked(one, items)
