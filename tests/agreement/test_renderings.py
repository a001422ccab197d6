"""`renderings` beside the real `read_file` tool, over a state, a directory and a sandbox.

What is to hold for a text and a window: what the tool returns for the text is taken for a rendering of it, and for a
rendering of another text only if the tool returns just the same for that.

Where it does not, a text is not recognised, which costs a link and asserts nothing:
- a text with a form feed or another character that ends a line for `str.splitlines` alone, cut to size: the tool cuts
  at line feeds, but counts the lines of `splitlines`; and on a sandbox, which only knows line feeds and returns.
- on a sandbox, a window of blank lines in a file that has nothing else.
"""

import random
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deepagents.backends.protocol import ExecuteResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from deepagents.backends.utils import format_content_with_line_numbers

from agreement.real import DiskTools, Result, StateTools, Tools
from eqty_lineage.deepagents.filesystem import renderings
from support.files import CASES, LINE_PIECES, PLAIN_PIECES, generated, joined

SMALL = 120
"""A limit, in tokens of four characters, under which a read is cut to size."""


class Case(NamedTuple):
    text: str
    other: str
    window: dict[str, int]


def case(chance: random.Random) -> Case:
    """A text, another that differs little or much, and a window as a model may ask for it."""
    pieces = LINE_PIECES if chance.random() < 0.3 else PLAIN_PIECES
    text = joined(chance, pieces, 8) * chance.choice([1, 1, 1, 1, 1, 20])
    at = chance.randint(0, len(text))
    other = text[:at] + joined(chance, pieces, 1) + text[at + chance.randint(0, 1) :]
    if chance.random() < 0.2:
        other = joined(chance, pieces, 4)
    window = {}
    if chance.random() < 0.7:
        window["offset"] = chance.choice([-2, 0, 0, 1, 2, 3])
    if chance.random() < 0.7:
        window["limit"] = chance.choice([-1, 0, 1, 1, 2, 3, 100])
    return Case(text, other, window)


def is_shown(result: Result) -> bool:
    return not result.error and not result.content.startswith("System reminder: no lines were read")


@pytest.fixture(params=["state", "small state", "disk", "small disk"])
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> StateTools | DiskTools:
    limit = SMALL if "small" in request.param else None
    return StateTools(limit) if "state" in request.param else DiskTools(tmp_path, limit)


def read(tools: StateTools | DiskTools, text: str, window: dict[str, int]) -> Result:
    return tools.read("/f.txt", text if isinstance(tools, DiskTools) else {"content": text}, **window)


def test_what_a_read_returns_is_recognised_as_the_text_and_as_no_other(tools: StateTools | DiskTools) -> None:
    count = CASES // 4 if isinstance(tools, DiskTools) else CASES
    shown = others = 0
    for text, other, window in generated(case, count):
        result = read(tools, text, window)
        assert renderings.is_rendering(result.content) == is_shown(result), (text, window)
        if not is_shown(result):
            continue
        shown += 1
        if not renderings.shows(result.content, text):
            assert "truncated due to size" in result.content, (text, window)
            assert len(text.splitlines()) != len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")) - 1
        if other != text and renderings.shows(result.content, other):
            others += 1
            assert read(tools, other, window).content == result.content, (text, other, window)
    assert shown > count / 2
    assert others > count / 200, "some texts do look alike in a window"


@pytest.mark.parametrize("text", ["a" * 1_000, "aaaaaaaaaa\n" * 1_000, "é" * 1_000 + "\nb"])
def test_a_read_that_is_cut_to_size_is_recognised(text: str) -> None:
    result = StateTools(SMALL).read("/f.txt", {"content": text})
    assert "truncated" in result.content
    assert renderings.shows(result.content, text)
    assert not renderings.shows(result.content, "b" + text[1:])
    assert not renderings.shows(result.content, text.replace("\n", "") + "a")


@pytest.mark.parametrize("text", ["", " ", "\n", "\n\n", " \n\t\n", "\x0c"])
@pytest.mark.parametrize("window", [{}, {"offset": 0}, {"offset": 3}, {"offset": -1, "limit": 1}])
def test_a_blank_file_is_recognised_whatever_the_window(
    tools: StateTools | DiskTools, text: str, window: dict[str, int]
) -> None:
    result = read(tools, text, window)
    assert renderings.shows(result.content, text)
    assert not renderings.shows(result.content, "a")
    assert not renderings.shows(result.content, renderings.EMPTY)


def test_a_file_that_holds_the_reminder_is_not_taken_for_a_blank_one(tools: StateTools | DiskTools) -> None:
    result = read(tools, renderings.EMPTY, {})
    assert renderings.shows(result.content, renderings.EMPTY)
    assert not renderings.shows(result.content, "")


@pytest.mark.parametrize("window", [{"limit": 0}, {"limit": -1}, {"offset": 7}])
def test_a_report_that_there_is_nothing_to_show_is_no_rendering(
    tools: StateTools | DiskTools, window: dict[str, int]
) -> None:
    assert not renderings.is_rendering(read(tools, "a", window).content)


def test_the_numbered_form_of_earlier_releases_is_recognised_as_the_text_and_as_no_other() -> None:
    """Releases 0.7.0 to 0.7.13 showed this; earlier ones had a tab for the two spaces."""
    shown = others = 0
    for text, other, window in generated(case):
        first = max(window.get("offset", 0), 0)
        lines = text.splitlines()[first : first + max(window.get("limit", 100), 1)]
        if not lines:
            continue
        result = format_content_with_line_numbers(lines, start_line=first + 1)
        shown += 1
        assert renderings.is_rendering(result)
        assert renderings.shows(result, text), (text, window)
        if other.splitlines()[first : first + len(lines)] != lines:
            others += 1
            assert not renderings.shows(result, other), (text, other, window)
    assert shown > CASES / 2
    assert others > CASES / 5


class Sandbox(BaseSandbox):
    """A sandbox whose commands run in a directory of this machine."""

    id = "sandbox"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
        return ExecuteResponse(output=done.stdout, exit_code=done.returncode, truncated=False)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        raise NotImplementedError

    def download_files(self, paths: list[str]) -> list[Any]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("a\nb\n", {}),
        ("a\nb", {}),
        ("a\n\n\n", {}),
        ("a\n\n\nb\n", {"limit": 3}),
        ("a\n\n\nb\n", {"offset": 1, "limit": 2}),
        ("a\r\nb\r\n", {}),
        ("a\rb", {"offset": 1}),
        ("", {}),
        (" \n", {}),
        ("a\n", {"offset": -1}),
    ],
)
def test_what_a_read_in_a_sandbox_returns_is_recognised(tmp_path: Path, text: str, window: dict[str, int]) -> None:
    file = tmp_path / "f.txt"
    file.write_bytes(text.encode())
    result = Tools(Sandbox()).call("read_file", {"file_path": str(file), **window})
    assert renderings.is_rendering(result.content)
    assert renderings.shows(result.content, text)
    assert not renderings.shows(result.content, text + "b\n")
