from typing import Any

import pytest

from eqty_lineage.deepagents.facts import Why
from eqty_lineage.deepagents.filesystem.contents import (
    Content,
    Unreadable,
    content_of,
    is_file_data,
    is_filesystem,
    source_of,
    text_of,
)

WHEN = {"created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("a\n", Content(b"a\n", "a\n")),
        ({"content": ["a", "b", ""], **WHEN}, Content(b"a\nb\n", "a\nb\n")),
        ({"content": [], **WHEN}, Content(b"", "")),
        ({"content": "a\r\n", "encoding": "utf-8", **WHEN}, Content(b"a\r\n", "a\r\n")),
        ({"content": "é"}, Content(b"\xc3\xa9", "é")),
        ({"content": "YQ==", "encoding": "utf-8"}, Content(b"YQ==", "YQ==")),
        ({"content": "YQ==", "encoding": "base64", **WHEN}, Content(b"a", None)),
        ({"content": "", "encoding": "base64"}, Content(b"", None)),
        ({"content": "a\ud800"}, Unreadable(Why.UNENCODABLE)),
        ("\udfff", Unreadable(Why.UNENCODABLE)),
        ({"content": "Y", "encoding": "base64"}, Unreadable(Why.BAD_BINARY)),
        ({"content": "YQ==\n", "encoding": "base64"}, Unreadable(Why.BAD_BINARY)),
        ({"content": "é", "encoding": "base64"}, Unreadable(Why.BAD_BINARY)),
    ],
)
def test_every_shape_of_a_file_is_read_to_its_bytes(entry: Any, content: Content | Unreadable) -> None:
    assert is_filesystem({"/a": entry}, plain_strings=True)
    assert content_of(entry) == content


@pytest.mark.parametrize(
    "value",
    [
        None,
        "a",
        ["a"],
        {},
        {"encoding": "utf-8"},
        {"content": None},
        {"content": 1},
        {"content": b"a"},
        {"content": ["a", 1]},
        {"content": "a", "encoding": "latin-1"},
        {"content": "a", "encoding": None},
        {"content": "a", "size": 1},
        {"content": "a", 1: "b"},
    ],
    ids=repr,
)
def test_a_value_of_another_shape_is_no_file(value: object) -> None:
    assert not is_file_data(value)


@pytest.mark.parametrize("value", [{}, {"/a": None}, {"/a": {"content": "a"}, "b": None}])
def test_paths_mapped_to_files_are_a_filesystem_and_none_is_a_deletion(value: object) -> None:
    assert is_filesystem(value)


@pytest.mark.parametrize(
    "value",
    [None, "a", [], [{"content": "a"}], {1: {"content": "a"}}, {"/a": 1}, {"/a": {"content": "a"}, "/b": ["b"]}],
    ids=repr,
)
def test_a_value_that_holds_anything_else_is_declined_as_a_whole(value: object) -> None:
    assert not is_filesystem(value, plain_strings=True)


def test_a_mapping_of_strings_is_a_filesystem_only_where_the_first_releases_are_known_to_run() -> None:
    assert is_filesystem({"/a": "text"}, plain_strings=True)
    assert not is_filesystem({"/a": "text"})


def test_an_entrys_source_is_the_object_that_carries_its_content() -> None:
    lines = ["a"]
    assert source_of({"content": lines}) is lines
    assert source_of("a") == "a"


def test_base64_is_left_as_it_is_as_text() -> None:
    assert text_of({"content": "YQ==", "encoding": "base64"}) == "YQ=="
