"""`paths.parse` and DeepAgents' `validate_path`: the same path, or a refusal, for the same argument."""

import random

import pytest
from deepagents.backends.utils import validate_path

from agreement.real import StateTools, merged, task
from eqty_lineage.deepagents.filesystem import paths
from eqty_lineage.deepagents.filesystem.paths import PathRefused
from support.files import CASES, PATH_PIECES, generated, joined


def theirs(raw: str) -> str | None:
    try:
        return validate_path(raw)
    except ValueError:
        return None


def ours(raw: str) -> str | None:
    path = paths.parse(raw)
    return None if isinstance(path, PathRefused) else path


@pytest.mark.parametrize(
    "raw",
    [
        *("", ".", "./", "/", "//", "///", "/.", "/./", "a", "/a", "a/", "a//b", "//a", "///a", "/./a//b/", "a/./b"),
        *("..", "../a", "a/..", "/a/../b", "a/...", "/..a", "a..b", "/a/..b", "..\\a", "a\\..\\b", "a\\..b"),
        *("~", "~/a", "~a", "/~", "/~/a", "a~", "\\~"),
        *("C:", "C:/a", "c:a", "C:\\a", "/C:/a", "CC:/a", "1:/a", "é:/a", "\nC:/a"),
        *("a\\b", "\\a", "\\\\srv\\share", "/a\\\\b", "a\\.\\b", "\\", "\\\\", "a\\"),
        *(" a ", "a\tb", "a\nb", "a\0b", "\0", "é", "e\u0301", "A", "http://x/y", "a/\u2028/b"),
    ],
)
def test_an_argument_names_the_file_that_the_backend_would_use_or_is_refused_as_there(raw: str) -> None:
    assert ours(raw) == theirs(raw)


def test_generated_arguments_name_the_same_files_and_meet_the_same_refusals() -> None:
    seen = set()
    for raw in generated(lambda chance: joined(chance, PATH_PIECES, 6)):
        path = paths.parse(raw)
        seen.add(path if isinstance(path, PathRefused) else str)
        assert (None if isinstance(path, PathRefused) else path) == theirs(raw), raw
    assert seen == {str, PathRefused.TRAVERSAL, PathRefused.HOME, PathRefused.DRIVE}


def test_two_arguments_are_one_path_for_us_if_and_only_if_they_are_one_file_for_the_state_backend() -> None:
    def make(chance: random.Random) -> tuple[str, str]:
        one = joined(chance, PATH_PIECES, 3)
        return one, chance.choice(
            [f"/{one}", f"./{one}", one.replace("/", "//"), f"{one}/", joined(chance, PATH_PIECES, 3)]
        )

    tools = StateTools()
    same = 0
    for one, other in generated(make):
        with task({}) as sent:
            tools.call("write_file", {"file_path": one, "content": "text"})
        with task(merged({}, sent)):
            found = not tools.call("read_file", {"file_path": other}).error
        same += found
        assert (ours(one) is not None and ours(one) == ours(other)) == found, (one, other)
    assert same > CASES / 10
