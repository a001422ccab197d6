import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eqty_lineage.deepagents.filesystem.paths import PathRefused, is_removed_by, parse, place_of
from support.files import PATH_PIECES

ARGUMENTS = st.lists(st.sampled_from(PATH_PIECES), max_size=8).map("".join) | st.text(max_size=8)
PATHS = ARGUMENTS.map(parse).filter(lambda path: not isinstance(path, PathRefused)).map(str)


@given(ARGUMENTS)
def test_a_path_starts_at_the_root_and_has_no_backslash_and_no_way_up(raw: str) -> None:
    path = parse(raw)
    assume(not isinstance(path, PathRefused))
    assert str(path).startswith("/")
    assert "\\" not in str(path)
    assert ".." not in str(path).split("/")


@pytest.mark.parametrize(
    ("raw", "once", "twice"), [("a\\.\\b", "/a/./b", "/a/b"), ("a\\\\b", "/a//b", "/a/b"), ("", "/.", "/")]
)
def test_a_path_is_to_be_parsed_exactly_once(raw: str, once: str, twice: str) -> None:
    """The backend's rule is not idempotent, so neither is ours."""
    assert parse(raw) == once
    assert parse(once) == twice


@given(ARGUMENTS)
def test_a_path_without_backslashes_is_parsed_to_itself_from_the_second_time_on(raw: str) -> None:
    once = parse(raw)
    assume("\\" not in raw and once != "/." and not isinstance(once, PathRefused))
    assert parse(once) == once


@given(PATHS)
def test_the_place_of_a_path_is_its_own_place(path: str) -> None:
    assert place_of(place_of(path)) == place_of(path)


@given(PATHS, st.sampled_from(["/", "//", "/./"]))
def test_a_path_with_more_slashes_has_the_same_place(path: str, more: str) -> None:
    assert place_of(path.replace("/", more)) == place_of(path)


@given(PATHS, PATHS, PATHS)
def test_what_is_removed_with_a_directory_is_removed_with_the_one_above(inner: str, outer: str, top: str) -> None:
    assert is_removed_by(f"{outer}/{inner}", outer) or outer.endswith("/")
    if is_removed_by(inner, outer) and is_removed_by(outer, top):
        assert is_removed_by(inner, top)


@given(PATHS)
def test_all_is_removed_with_the_root(path: str) -> None:
    assert is_removed_by(path, "/")
