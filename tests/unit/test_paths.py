import pytest

from eqty_lineage.deepagents.filesystem.paths import PathRefused, is_removed_by, parse, place_of


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("report.md", "/report.md"),
        ("/report.md", "/report.md"),
        ("a/", "/a"),
        ("/./a//b/", "/a/b"),
        ("", "/."),
        (".", "/."),
        ("/.", "/"),
        ("foo..bar", "/foo..bar"),
        ("/~/x", "/~/x"),
        ("/C:/x", "/C:/x"),
        (" a\n", "/ a\n"),
        ("a\\b", "/a/b"),
    ],
)
def test_a_path_is_named_as_the_backend_names_it(raw: str, path: str) -> None:
    assert parse(raw) == path


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("//x", "/x"),
        ("a\\\\b", "a\\b"),
        ("a\\.\\b", "a\\b"),
        ("/A", "/a"),
        ("/é", "/e\u0301"),
        ("/a ", "/a"),
    ],
)
def test_paths_that_the_state_backend_keeps_apart_are_kept_apart(one: str, other: str) -> None:
    assert parse(one) != parse(other)


@pytest.mark.parametrize(
    ("raw", "refusal"),
    [
        ("../a", PathRefused.TRAVERSAL),
        ("/a/../b", PathRefused.TRAVERSAL),
        ("a\\..\\b", PathRefused.TRAVERSAL),
        ("~", PathRefused.HOME),
        ("~a/b", PathRefused.HOME),
        ("C:/x", PathRefused.DRIVE),
        ("c:x", PathRefused.DRIVE),
        (None, PathRefused.NOT_TEXT),
        (1, PathRefused.NOT_TEXT),
        (["/a"], PathRefused.NOT_TEXT),
    ],
)
def test_an_argument_that_never_reaches_a_backend_is_refused_for_a_reason(raw: object, refusal: PathRefused) -> None:
    assert parse(raw) is refusal


@pytest.mark.parametrize("path", ["/d", "/d/a", "/d/a/b"])
@pytest.mark.parametrize("deleted", ["/d", "/d/", "/", "//"])
def test_a_delete_removes_the_path_and_all_below_it(path: str, deleted: str) -> None:
    assert is_removed_by(path, deleted)


@pytest.mark.parametrize("path", ["/", "/da", "//d", "/c/d", "d"])
def test_a_delete_removes_nothing_else(path: str) -> None:
    assert not is_removed_by(path, "/d")


@pytest.mark.parametrize("path", ["//a/b", "/a//b", "/a/./b", "/a/b/", "/./a/b", "/A/b"])
def test_spellings_that_some_backend_takes_for_one_file_share_a_place(path: str) -> None:
    assert place_of(path) == place_of("/a/b") == "/a/b"


@pytest.mark.parametrize("path", ["/", "//", "/.", ""])
def test_all_spellings_of_the_root_share_a_place(path: str) -> None:
    assert place_of(path) == "/"


def test_compositions_of_one_character_share_a_place() -> None:
    assert place_of("/e\u0301") == place_of("/é")


@pytest.mark.parametrize("path", ["/a", "/a/b/c", "/a b", "/a..b", "/ab"])
def test_other_files_do_not_share_a_place(path: str) -> None:
    assert place_of(path) != place_of("/a/b")
