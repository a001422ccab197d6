"""What of a payload is stored: without credentials, and without what a content policy withholds."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.discretion import memory as memory_module
from eqty_lineage.deepagents.discretion.calls import Call
from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.lines import BLANK
from eqty_lineage.deepagents.discretion.memory import KEY, Memory
from eqty_lineage.deepagents.discretion.names import REDACTED
from eqty_lineage.deepagents.discretion.walk import Discretion
from support.files import cid_of

SECRET = "API_KEY=sk-123456"


def discretion(*, hidden: bool = False, policy: Policy | None = None) -> Discretion:
    return Discretion(Memory(policy or Policy(), cid_of, hidden=hidden, salt="here"))


def mark(text: str, path: str = "/.env") -> dict[str, str]:
    return {KEY: path, "cid": str(cid_of(text.encode()))}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz_", max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_what_is_not_changed_is_the_same_object(payload: Any):
    assert discretion().refine(payload) is payload


def test_a_refined_payload_is_refined_for_good():
    payload = {
        "tool_calls": [{"name": "write_file", "id": "1", "args": {"file_path": "/.env", "content": SECRET}}],
        "api_key": "x",
        "note": f"see {SECRET}",
    }
    one = discretion()
    refined = one.refine(payload)
    assert refined == {
        "tool_calls": [{"name": "write_file", "id": "1", "args": {"file_path": "/.env", "content": mark(SECRET)}}],
        "api_key": REDACTED,
        "note": f"see {BLANK}",
    }
    assert one.refine(refined) is refined
    assert payload["api_key"] == "x"


def test_mappings_of_this_packages_own_are_taken_as_they_are():
    class StandIn(dict[str, str]):
        pass

    own = StandIn({"auth.py": "urn:cid:x"})
    assert discretion().refine({"files": own})["files"] is own


def test_a_file_under_a_path_is_withheld_and_its_lines_are_learned():
    one = discretion()
    payload = one.refine({"/.env": {"content": f"{SECRET}\n"}, "/a.txt": {"content": "open"}, "deleted/.env": None})
    assert payload["/.env"][KEY] == "/.env"
    assert payload["/a.txt"] == {"content": "open"}
    assert payload["deleted/.env"] is None
    assert one.refine(SECRET) == BLANK


def test_a_count_under_a_withheld_path_is_none_of_its_bytes():
    assert discretion().refine({"/.env": 3}) == {"/.env": 3}


def test_a_file_entry_whose_name_sounds_like_a_credential_is_a_file():
    entry = {"content": "x", "encoding": "utf-8"}
    assert discretion().refine({"auth.py": entry}) == {"auth.py": entry}


@pytest.mark.parametrize(
    ("name", "arguments", "content", "shown"),
    [
        ("read_file", {"file_path": "/.env"}, "     1\tP=1", False),
        ("read_file", {"file_path": "/.env"}, "Error: File '/.env' not found", True),
        ("write_file", {"file_path": "/.env", "content": ""}, "Updated file /.env", True),
        ("edit_file", {"file_path": "/.env"}, "Error: String not found in file: 'P=1'", False),
        ("grep", {"pattern": "x", "glob": "*.pem"}, "P=1", False),
        ("grep", {"pattern": "x"}, "/.env:\n  1: P=1\n/a:\n  1: x", False),
        ("grep", {"pattern": "x"}, "/a:\n  1: x", True),
        ("execute", {"command": "cat /.env"}, "P=1", False),
        ("execute", {"command": "ls"}, "a b", True),
        ("execute", {"command": 7}, "a b", True),
        ("execute", None, "a b", True),
        ("ls", {"path": "/.ssh"}, "['/.ssh/id']", True),
        ("slurp", {"where": ["x", {"y": "conf/.env"}]}, "P=1", False),
        ("slurp", {"where": "about .env files"}, "prose", True),
        ("slurp", None, "prose", True),
        ("slurp", "conf/.env", "P=1", False),
        ("delete", {"file_path": "/.env"}, "Deleted /.env", True),
        ("read_file", {"file_path": "/a.txt"}, "     1\tx", True),
    ],
)
def test_results_of_calls(name: str, arguments: Any, content: str, shown: bool):  # noqa: FBT001 - parametrised
    one = discretion()
    one.memory.meet(name, arguments, "c")
    message = {"role": "tool", "content": content, "tool_call_id": "c", "name": name}
    assert (one.refine(message)["content"] == content) is shown


def test_a_search_deep_in_arguments_ends():
    deep: Any = "/.env"
    for _ in range(30):
        deep = [deep]
    assert discretion().memory.meet("slurp", {"x": deep}) is None


def test_a_result_of_blocks_is_withheld_and_so_is_what_it_holds():
    one = discretion()
    one.memory.meet("read_file", {"file_path": "/server.key"}, "c")
    data = b"\x00\x01binary"
    blocks = [{"type": "file", "base64": base64.b64encode(data).decode()}, {"text": SECRET}, 3, {"base64": "!"}]
    refined = one.refine({"type": "tool", "content": blocks, "tool_call_id": "c"})
    assert refined["content"][KEY] == "/server.key"
    assert one.memory.is_withheld(cid_of(data))
    assert one.refine(f"x {SECRET}") == f"x {BLANK}"


def test_what_a_large_withheld_result_is_saved_as_is_withheld():
    one = discretion()
    assert not one.memory.fits("/large_tool_results/a_b")
    one.memory.meet("read_file", {"file_path": "/.env"}, "a.b")
    assert one.memory.fits("/large_tool_results/a_b")
    assert one.memory.fits("/conversation_history/t.md")
    assert not one.memory.fits("/notes.md")
    assert not one.memory.fits(None)


def test_numbers_of_rows_are_no_part_of_a_line():
    one = discretion()
    one.memory.learn_result(Call("read_file", "/.env"), f"     7\t{SECRET}\n    12\t{SECRET}-b\n")
    assert one.refine(SECRET) == BLANK
    assert one.refine(f"{SECRET}-b") == BLANK


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("cat .env", True),
        ("echo P=1 > .env", False),
        ("sed -i s/a/b/ .env", False),
        ("echo P=1 > notes", True),
    ],
)
def test_commands_that_may_hold_bytes_for_a_withheld_file(command: str, kept: bool):  # noqa: FBT001 - parametrised
    assert (discretion().refine({"command": command})["command"] == command) is kept


def test_documents_and_calls_in_other_forms():
    one = discretion()
    assert one.refine({"page_content": "P=1", "metadata": {"source": "/x/.env"}})["page_content"] == mark(
        "P=1", "/x/.env"
    )
    assert one.refine({"page_content": "P=1", "metadata": None})["page_content"] == "P=1"
    used = {"type": "tool_use", "name": "write_file", "id": "u", "input": {"file_path": "/.env", "content": SECRET}}
    assert one.refine(used)["input"]["content"] == mark(SECRET)
    assert one.refine({"role": "tool", "tool_call_id": "u", "content": "odd"})["content"] == mark("odd")
    assert one.refine({"tool_calls": ["odd", {"name": "x"}]}) == {"tool_calls": ["odd", {"name": "x"}]}
    assert one.refine({"file_path": "/.env", "content": "", "edits": [1]}) == {
        "file_path": "/.env",
        "content": "",
        "edits": mark("[1]"),
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"api_key": "x", "n": 1}', json.dumps({"api_key": REDACTED, "n": 1})),
        ('[{"password": ["x"]}]', json.dumps([{"password": REDACTED}])),
        ('{"n":1,"keys":[]}', '{"n":1,"keys":[]}'),
        ('{"n": 1}', '{"n": 1}'),
        ('{"api_key": "x', f'{{"api_key": "{REDACTED}"'),
        ('{"api_key": 12', f'{{"api_key": "{REDACTED}"'),
        ('{"monkey": "x', '{"monkey": "x'),
        ("[the key to it]", "[the key to it]"),
        ("{" * 3_000 + "key", "{" * 3_000 + "key"),
        ('{"file_path": "/.env", "content": "P=', '{"file_path": "/.env", "content": "P='),
        ('{"file_path": "/a", "content": "P=', '{"file_path": "/a", "content": "P='),
    ],
)
def test_json_text(text: str, left: str):
    assert discretion().refine(text) == left


def test_without_a_policy_only_credentials_go():
    one = Discretion(Memory(None, cid_of))
    payload = {"file_path": "/.env", "content": SECRET, "api_key": "x"}
    assert one.refine(payload) == {**payload, "api_key": REDACTED}
    assert one.memory.meet("read_file", {"file_path": "/.env"}, "c") is None
    assert one.refine('{"file_path": "/.env", "content": "P=') == '{"file_path": "/.env", "content": "P='
    assert not one.memory.withholds("/.env", cid_of(b"x"), b"x")


def test_the_description_of_a_tool_names_parameters():
    schema = {
        "properties": {"api_key": {"type": "string", "default": "sk-1"}, "n": {"default": 3}},
        "required": ["api_key"],
        "config": {"token": "sk-2", "auth": None},
    }
    assert discretion().refine_schema(schema) == {
        "properties": {"api_key": {"type": "string", "default": REDACTED}, "n": {"default": 3}},
        "required": ["api_key"],
        "config": {"token": REDACTED, "auth": None},
    }
    assert discretion().refine_schema([{"api_key": {"default": None}}]) == [{"api_key": {"default": None}}]


# --- contents


def test_a_withheld_content_is_withheld_wherever_it_is_met():
    memory = discretion().memory
    data = SECRET.encode()
    assert not memory.withholds("/copy", cid_of(data), data)
    assert memory.withholds("/.env", cid_of(data), data)
    assert memory.withholds("/copy", cid_of(data), None)
    assert memory.withholds("/other", cid_of(b"x " + data), b"x " + data)
    assert not memory.withholds("/open", cid_of(b"open"), b"open")
    assert not memory.withholds("/.env", cid_of(b""), b"")
    assert memory.withholds("/server.key", cid_of(b"\xff\x00"), b"\xff\x00")
    assert memory.entity(cid_of(data)) == cid_of(data)


def test_hidden_contents_are_numbered():
    memory = discretion(hidden=True).memory
    one, two = cid_of(b"one"), cid_of(b"two")
    assert memory.withholds("/.env", one, b"one")
    assert memory.withholds("/.env", two, b"two")
    assert json.loads(memory.stand_in(one)) == {KEY: "here/1"}
    assert memory.entity(two) == cid_of(memory.stand_in(two)) != two
    assert memory.entity(cid_of(b"open")) == cid_of(b"open")
    assert memory.mark("two", "/.env") == {KEY: "/.env", "content": "here/2"}


def test_what_is_remembered_of_calls_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory_module, "_MOST", 1)
    memory = discretion().memory
    memory.meet("read_file", {"file_path": "/.env"}, "a")
    memory.meet("read_file", {"file_path": "/.env"}, "b")
    assert memory.call("a") is not None
    assert memory.call("b") is None
    assert memory.call(None) is None


def test_a_result_that_is_no_message():
    one = discretion()
    assert one.result(SECRET, Call("slurp", "/.env")) == mark(SECRET)
    assert one.result(None, Call("slurp", "/.env")) is None
    assert one.refine({"left": {KEY: "/.env", "api_key": "x"}}) == {"left": {KEY: "/.env", "api_key": REDACTED}}
    assert one.memory.has_calls is False


def test_an_error_that_only_says_there_is_no_file_is_kept_in_one_line():
    call = discretion().memory.meet("read_file", {"file_path": "/.env"})
    assert call is not None
    assert call.may_show("Error: File '/.env' not found")
    assert not call.may_show("Error: File '/.env' not found\nP=1")
    assert not call.may_show(["Error: File '"])


def test_the_result_of_a_call_that_is_known():
    one = discretion()
    call = Call("read_file", "/.env")
    message = {"role": "tool", "content": f"@@ lines 1-1 of 1 @@\n{SECRET}", "tool_call_id": "x"}
    refined = one.refine(message, call=call)
    assert refined["content"][KEY] == "/.env"
    assert one.refine(f"{SECRET} and @@ lines 1-1 of 1 @@") == f"{BLANK} and @@ lines 1-1 of 1 @@"
    denied = {**message, "content": "Error: permission denied for read on /.env"}
    assert one.refine(denied, call=call) == denied
    assert one.refine("text", call=call) == "text"


def test_what_is_learned_at_the_end_of_a_payload_counts_for_its_beginning():
    one = discretion()
    payload = {"quote": f"see {SECRET}", "file_path": "/.env", "content": f"{SECRET}\n"}
    assert one.refine(payload)["quote"] == f"see {BLANK}"


def test_names_of_a_mapping_hold_no_lines_either():
    one = discretion()
    one.memory.lines.learn(SECRET)
    assert one.refine({f"set {SECRET}": 1, "/a/long/path.txt": 2, "short": 3}) == {
        f"set {BLANK}": 1,
        "/a/long/path.txt": 2,
        "short": 3,
    }


def test_texts_that_are_withheld_as_a_whole():
    one = discretion()
    one.memory.texts.add("P=1")
    assert one.refine({"a": "P=1", "b": "P=12"}) == {"a": BLANK, "b": "P=12"}
    assert one.refine(["P=1"] * 40) == [BLANK] * 40
    one.memory.learn_whole({"a": ["P=12345"]})
    assert one.refine("x P=12345") == f"x {BLANK}"


def test_lines_of_json():
    text = '{"file_path": "/.env", "content": "P=1"}\n\n{"n": 1}'
    first, _, last = discretion().refine(text).split("\n")
    assert json.loads(first)["content"] == mark("P=1")
    assert json.loads(last) == {"n": 1}


def test_arguments_as_text():
    one = discretion()
    assert one.refine({"args": '{"file_path": "/.env", "content": "P='})["args"][KEY] == "/.env"
    assert one.refine({"args": '{"file_path": "/a", "content": "P='}) == {"args": '{"file_path": "/a", "content": "P='}
    assert one.refine({"args": "plain words"}) == {"args": "plain words"}
    whole = one.refine({"arguments": '{"file_path": "/.env", "content": "P=1"}'})["arguments"]
    assert json.loads(whole)["content"] == mark("P=1")


def test_calls_in_the_forms_of_providers():
    one = discretion()
    one.refine(
        {"tool_calls": [{"id": "r", "function": {"name": "read_file", "arguments": '{"file_path": "/.env"}'}}, 3]}
    )
    assert one.refine({"type": "tool_result", "tool_use_id": "r", "content": "P=1"})["content"] == mark("P=1")
    assert one.refine({"type": "function_call_output", "call_id": "r", "output": "P=1"})["output"] == mark("P=1")
    assert one.refine({"type": "web_tool_result", "tool_use_id": "r", "content": ["P=1"]})["content"][KEY] == "/.env"
    one.refine({"type": "function_call", "call_id": "s", "name": "read_file", "arguments": '{"file_path": "/.env'})
    assert one.memory.call("s") is None


def test_what_describes_changed_arguments_is_left_out():
    asked = {"name": "login", "args": {"api_key": "x"}, "description": "login with x"}
    assert discretion().refine(asked) == {"name": "login", "args": {"api_key": REDACTED}, "description": BLANK}
    assert discretion().refine({**asked, "description": 3})["description"] == 3


def test_names_beside_values_and_files_by_name():
    one = discretion()
    assert one.refine(
        [{"name": "API_KEY", "value": "x"}, {"key": "REGION", "value": "x"}, {"name": 1, "value": ""}]
    ) == [
        {"name": "API_KEY", "value": REDACTED},
        {"key": "REGION", "value": "x"},
        {"name": 1, "value": ""},
    ]
    assert one.refine({"name": ".env", "content": "P=1"})["content"] == mark("P=1", ".env")
    assert one.refine({"name": "credentials", "content": "P=1"})["content"] == "P=1"
    assert one.refine({"patch": "--- a/.env\n+++ b/.env\n+P=1"})["patch"][KEY] == "/.env"


def test_many_small_values_are_looked_at_where_a_glance_finds_something():
    rows = [{"name": f"row {number}", "n": number} for number in range(40)]
    one = discretion()
    assert one.refine(rows) is rows
    for changed in (
        {"api_key": "x"},
        {"name": "API_KEY", "value": "x"},
        {"text": '{"password": "x"}'},
        {"text": "a password='x'"},
    ):
        assert one.refine([*rows, changed]) != [*rows, changed]
    one.memory.meet("read_file", {"file_path": "/.env"}, "c")
    assert one.refine([*rows, {"role": "tool", "tool_call_id": "c", "content": "P=1"}])[-1]["content"] == mark("P=1")
    assert one.refine([*rows, {"/large_tool_results/c": "P=1"}])[-1] == {
        "/large_tool_results/c": mark("P=1", "/large_tool_results/c")
    }
    text = json.dumps({"role": "tool", "tool_call_id": "c", "content": "P=1"})
    assert json.loads(one.refine(text))["content"] == mark("P=1")
    assert one.refine([*rows, {"t": "na\u00efvet\u00e9"}]) == [*rows, {"t": "na\u00efvet\u00e9"}]
    assert one.refine([*rows, {"/a/CERT.\u017f\u017fh/x": 1}])[-1] == {"/a/CERT.\u017f\u017fh/x": 1}
    policy = discretion(policy=Policy(["*"]))
    assert policy.refine([*rows, {"/x": "P=1"}])[-1] == {"/x": mark("P=1", "/x")}


def test_what_was_recorded_in_the_open_is_not_taken_back(monkeypatch: pytest.MonkeyPatch):
    memory = discretion().memory
    memory.opened(cid_of(b"X=1"))
    assert not memory.withholds("/.env", cid_of(b"X=1"), b"X=1")
    assert memory.note(b"X=1") == cid_of(b"X=1")
    assert not memory.is_withheld(cid_of(b"X=1"))
    monkeypatch.setattr(memory_module, "_MOST", 1)
    memory.opened(cid_of(b"X=2"))
    assert memory.withholds("/.env", cid_of(b"X=1"), b"X=1")
    without = Discretion(Memory(None, cid_of)).memory
    without.opened(cid_of(b"X=1"))
    assert not without._open


def test_an_id_that_is_used_again_is_another_call_unless_the_first_still_runs():
    memory = discretion().memory
    memory.meet("read_file", {"file_path": "/.env"}, "a")
    memory.begin("a")
    memory.begin(None)
    memory.meet("read_file", {"file_path": "/notes"}, "a")
    assert memory.call("a") is not None
    memory.end("a")
    memory.end(None)
    memory.meet("read_file", {"file_path": "/notes"}, "a")
    assert memory.call("a") is None


def test_commands_of_any_tool_and_results_that_are_empty():
    one = discretion()
    assert one.memory.meet("shell", {"cmd": "cat /app/.env"}, "s") == Call("shell", "/app/.env")
    one.memory.learn_result(Call("read_file", "/.env"), "System reminder: File exists but has empty contents")
    one.memory.learn_result(Call("read_file", "/.env"), "something else that is no rendering")
    one.memory.learn_result(Call("shell", "/.env"), f"{SECRET}\n[Command succeeded with exit code 0]\nExit code: 1")
    one.memory.learn_result(Call("write_file", "/.env"), "Updated file /.env")
    one.memory.learn_result(Call("shell", "/.env"), {"stdout": "another line of it", "n": 1})
    assert sorted(one.memory.lines._all) == [SECRET, "another line of it"]


def test_what_a_store_had_already_is_hidden_in_any_case():
    memory = Memory(Policy(), cid_of, salt="here", is_stored=lambda cid: cid == cid_of(b"one"))
    assert memory.withholds("/.env", cid_of(b"one"), b"one")
    assert memory.withholds("/.env", cid_of(b"two"), b"two")
    assert memory.entity(cid_of(b"one")) != cid_of(b"one")
    assert memory.entity(cid_of(b"two")) == cid_of(b"two")
    assert memory.stored == {cid_of(b"one")}


def test_credentials_in_commands():
    assert discretion().refine({"command": "X_TOKEN=abc run"}) == {"command": f"X_TOKEN={REDACTED} run"}
    rows = [{"command": f"ls {number}"} for number in range(40)]
    assert discretion().refine([*rows, {"command": "X_TOKEN=abc run"}])[-1] == {"command": f"X_TOKEN={REDACTED} run"}
