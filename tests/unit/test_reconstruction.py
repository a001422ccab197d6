from typing import Any

import pytest

from eqty_lineage.deepagents.filesystem.paths import VirtualPath
from eqty_lineage.deepagents.filesystem.reconstruction import (
    Execute,
    Failed,
    FileCall,
    Foreign,
    Read,
    Search,
    Succeeded,
    Unclear,
    base64_block,
    outcome_of,
    parse,
)
from support.files import block, delete, edit, read, write

EDIT = {"file_path": "/a", "old_string": "b", "new_string": "c"}


@pytest.mark.parametrize(
    ("tool", "arguments", "call"),
    [
        ("write_file", {"file_path": "a", "content": ""}, write("/a", "")),
        ("write_file", {"file_path": "a/./b", "content": "c", "bogus": 1}, write("/a/b", "c")),
        ("edit_file", EDIT, edit("/a", "b", "c")),
        ("edit_file", {**EDIT, "replace_all": True}, edit("/a", "b", "c", every=True)),
        ("delete", {"file_path": "/a/"}, delete("/a")),
        ("read_file", {"file_path": "/a"}, read("/a")),
        ("read_file", {"file_path": "/a", "offset": "5", "limit": 3}, Read(VirtualPath("/a"), "5", 3)),
        ("execute", {"command": "ls"}, Execute()),
        ("execute", {}, Execute()),
        ("grep", {"pattern": "x", "output_mode": "content"}, Search()),
        ("my_write_file", {"file_path": "/A", "content": "b"}, Foreign("{'file_path': '/a', 'content': 'b'}")),
        ("search_the_web", None, Foreign("none")),
    ],
)
def test_a_call_of_a_file_tool_is_told_from_its_arguments(
    tool: str, arguments: dict[str, object], call: FileCall
) -> None:
    assert parse(tool, arguments) == call


@pytest.mark.parametrize("said", ["true", " True ", "YES", "1", "on", "t", "y", 1, True])
def test_a_flag_may_be_said_in_words(said: object) -> None:
    assert parse("edit_file", {**EDIT, "replace_all": said}) == edit("/a", "b", "c", every=True)


@pytest.mark.parametrize("said", ["false", "no", "0", "", 0, False, None])
def test_a_flag_may_be_denied_in_words(said: object) -> None:
    assert parse("edit_file", {**EDIT, "replace_all": said}) == edit("/a", "b", "c")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ls", {"path": "/"}),
        ("task", {"description": "x", "subagent_type": "y"}),
        ("grep", {"pattern": "x"}),
        ("write_file", None),
        ("write_file", "/a"),
        ("write_file", {"content": "b"}),
        ("write_file", {"file_path": "../a", "content": "b"}),
        ("write_file", {"file_path": "/a", "content": 1}),
        ("write_file", {"file_path": "/a"}),
        ("edit_file", {**EDIT, "old_string": None}),
        ("edit_file", {**EDIT, "new_string": 1}),
        ("delete", {"file_path": "~"}),
        ("read_file", {"file_path": 1}),
    ],
)
def test_a_call_that_reaches_no_file_is_no_file_call(tool: str, arguments: Any) -> None:
    assert parse(tool, arguments) is None


SUCCESSES = {
    "write": (write("/a", "b"), "Updated file /a", None),
    "edit": (edit("/a", "b", "c"), "Successfully replaced 1 instance(s) of the string in '/a'", 1),
    "edit of many": (edit("/a", "b", "c"), "Successfully replaced 12 instance(s) of the string in '/a'", 12),
    "edit of a path with a quote": (
        edit("/it's\n", "b", "c"),
        "Successfully replaced 1 instance(s) of the string in '/it's\n'",
        1,
    ),
    "delete": (delete("/a"), "Deleted /a", None),
    "read": (read("/a"), "@@ lines 1-1 of 1 @@\nb", None),
    "read of a binary file": (read("/a"), block(b"b"), None),
    "shell": (Execute(), "whatever", None),
}


@pytest.mark.parametrize(("call", "content", "count"), SUCCESSES.values(), ids=SUCCESSES)
def test_a_known_form_of_success_is_one(call: FileCall, content: Any, count: int | None) -> None:
    assert outcome_of(call, content, error=False) == Succeeded(count)


@pytest.mark.parametrize(("call", "content", "count"), SUCCESSES.values(), ids=SUCCESSES)
def test_a_result_whose_status_is_an_error_is_a_failure_whatever_it_says(
    call: FileCall, content: Any, count: int | None
) -> None:
    assert outcome_of(call, content, error=True) == Failed()


@pytest.mark.parametrize(
    ("call", "content"),
    [
        (write("/a", "b"), "Updated file /b"),
        (write("/a", "b"), "Cannot write to /a because it already exists. Read and then make an edit."),
        (write("/a", "b"), ["Updated file /a"]),
        (write("/a", "b"), None),
        (edit("/a", "b", "c"), "Successfully replaced 1 instance(s) of the string in '/b'"),
        (edit("/a", "b", "c"), "Successfully replaced many instance(s) of the string in '/a'"),
        (edit("/a", "b", "c"), "Note: Successfully replaced 1 instance(s) of the string in '/a'"),
        (edit("/a", "b", "c"), "File '/a' not found"),
        (edit("/a", "b", "c"), 1),
        (delete("/a"), "Deleted /a and 3 more"),
        (delete("/a"), "Error: File '/a' not found"),
        (read("/a"), "Error: File '/a' not found"),
        (read("/a"), "System reminder: no lines were read because `limit` was 0."),
        (read("/a"), [{"type": "text", "text": "b"}]),
        (read("/a"), None),
    ],
)
def test_any_other_result_says_nothing(call: FileCall, content: Any) -> None:
    assert outcome_of(call, content, error=False) == Unclear()


def test_a_binary_file_is_one_block_of_base64() -> None:
    assert base64_block(block(b"a")) == "YQ=="


@pytest.mark.parametrize(
    "content",
    [None, "YQ==", [], [*block(b"a"), *block(b"b")], ["YQ=="], [{"type": "text"}], [{"base64": 1}], {"base64": "YQ=="}],
    ids=repr,
)
def test_anything_else_is_no_binary_file(content: object) -> None:
    assert base64_block(content) is None
