"""`contents` beside DeepAgents' `file_data_to_string` and what a StateBackend gives for download."""

import random
from typing import Any

import pytest
from deepagents.backends import StateBackend
from deepagents.backends.utils import create_file_data, file_data_to_string

from agreement.real import task
from eqty_lineage.deepagents.filesystem import contents
from eqty_lineage.deepagents.filesystem.contents import Content, Unreadable
from support.files import CASES, LINE_PIECES, generated, joined

ODD: list[Any] = [None, 1, 1.5, True, b"a", ("a",), {"a": "b"}, ["a", 1], ["a", None], [["a"]]]
"""Contents that are not DeepAgents'."""


@pytest.mark.parametrize("content", ["", "a", "a\nb\n", "a\r\n", "\ud800", [], [""], ["a"], ["a", ""], ["a\n", "b"]])
def test_a_files_text_is_the_one_that_the_backend_reads(content: Any) -> None:
    entry = {"content": content}
    assert contents.is_file_data(entry)
    assert contents.text_of(entry) == file_data_to_string(entry)


@pytest.mark.parametrize("content", ODD, ids=repr)
def test_content_that_the_backend_cannot_read_is_no_file(content: Any) -> None:
    assert not contents.is_file_data({"content": content})
    with pytest.raises(TypeError):
        file_data_to_string({"content": content})


@pytest.mark.parametrize("encoding", ["utf-8", "base64"])
def test_what_the_backend_makes_is_a_file(encoding: str) -> None:
    assert contents.is_file_data(create_file_data("a", encoding=encoding))


def entry(chance: random.Random) -> dict[str, Any]:
    lines = [joined(chance, LINE_PIECES, 3) for _ in range(chance.randint(0, 4))]
    content: Any = chance.choice(["".join(lines), "".join(lines), lines, chance.choice(ODD)])
    made: dict[str, Any] = {"content": content}
    if chance.random() < 0.3:
        made["content"] = joined(chance, ["YQ==", "gICA", "AAAA", "YWI=", "=", "!", "\n"], 3)
        made["encoding"] = "base64"
    elif chance.random() < 0.5:
        made["encoding"] = "utf-8"
    return made


def test_generated_files_have_the_text_that_the_backend_reads_or_neither_reads_them() -> None:
    read = 0
    for made in generated(entry):
        try:
            text = file_data_to_string(made)
        except TypeError:
            assert not contents.is_file_data(made), made
            continue
        read += 1
        assert contents.is_file_data(made), made
        assert contents.text_of(made) == text, made
    assert read > CASES / 2


def test_generated_files_have_the_bytes_that_the_backend_gives_for_download() -> None:
    told = 0
    for made in generated(entry):
        if not contents.is_file_data(made):
            continue
        content = contents.content_of(made)
        if isinstance(content, Content):
            with task({"/f": made}):
                assert StateBackend().download_files(["/f"])[0].content == content.data, made
            told += 1
        else:
            # stricter than the backend, which drops what is not base64
            assert isinstance(content, Unreadable)
            assert made["encoding"] == "base64"
    assert told > CASES / 2
