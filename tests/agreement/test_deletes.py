"""`paths.is_removed_by` and `paths.place_of` beside the deletes of real backends."""

import random
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend, StateBackend
from langgraph.graph import END, START, StateGraph

from agreement.real import Files, merged, task
from eqty_lineage.deepagents.filesystem import paths
from eqty_lineage.deepagents.filesystem.paths import PathRefused, is_removed_by, place_of
from support.files import CASES, generated, joined

KEYS = ["/a", "/a/b", "/a/b/c", "/ab", "//a", "//a/b", "/", "//", "/.", "/a/", "/a//b", "a", "a/b", ""]
"""As the keys of a state can be: the user's are not normalised."""


def left_by_delete(files: Files, path: str) -> Files | None:
    """What a state holds once ``path`` was deleted; ``None`` if the backend says there is no such file."""
    with task(files) as sent:
        result = StateBackend().delete(path)
    return None if result.error else merged(files, sent)


@pytest.mark.parametrize("path", ["/", "//", "/.", "/a", "/a/", "/a//", "/a/b", "/b", "//a", "a", "a/", ""])
def test_a_delete_removes_what_the_state_backend_removes(path: str) -> None:
    files = {key: {"content": ""} for key in KEYS}
    left = left_by_delete(files, path)
    removed = set() if left is None else files.keys() - left.keys()
    assert {key for key in KEYS if is_removed_by(key, path)} == removed


def test_generated_deletes_remove_what_the_state_backend_removes() -> None:
    def make(chance: random.Random) -> tuple[list[str], str]:
        pieces = ["/", "/", "a", "b", ".", "//"]
        return ["/" + joined(chance, pieces, 5) for _ in range(3)], joined(chance, pieces, 4)

    removing = 0
    for keys, path in generated(make):
        files = {key: {"content": ""} for key in keys}
        left = left_by_delete(files, path)
        removed = set() if left is None else files.keys() - left.keys()
        removing += bool(removed)
        assert {key for key in keys if is_removed_by(key, path)} == removed, (keys, path)
    assert removing > CASES / 10


def test_a_task_of_our_own_making_is_to_the_backend_as_a_node_of_a_real_graph(tmp_path: Path) -> None:
    files = {key: {"content": ""} for key in KEYS}

    def node(_state: Any) -> dict[str, Any]:
        StateBackend().delete("/a")
        StateBackend().write("/new", "text")
        return {}

    graph = StateGraph(state_schema())
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    after = graph.compile().invoke({"messages": [], "files": files})["files"]

    with task(files) as sent:
        StateBackend().delete("/a")
        StateBackend().write("/new", "text")
    assert after.keys() == merged(files, sent).keys()
    assert after["/new"]["content"] == merged(files, sent)["/new"]["content"] == "text"


def state_schema() -> Any:
    from deepagents.middleware.filesystem import FilesystemState  # noqa: PLC0415 - its annotations are for graphs

    return FilesystemState


@pytest.mark.parametrize("raw", ["/a", "//a", "a\\b", "/a\\\\b", "a\\.\\b", "/a/b", "", "//", "/.", "//a\\\\b", "a//b"])
def test_spellings_of_one_file_on_a_disk_have_one_place(tmp_path: Path, raw: str) -> None:
    disk = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    path = paths.parse(raw)
    assert not isinstance(path, PathRefused)
    assert disk._resolve_path(path) == disk._resolve_path(place_of(path))


def test_generated_spellings_of_one_file_on_a_disk_have_one_place(tmp_path: Path) -> None:
    disk = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    spellings: dict[Path, str] = {}
    for raw in generated(lambda chance: joined(chance, ["a", "b", "/", "//", "\\", "\\\\", ".", "\\.\\"], 6)):
        path = paths.parse(raw)
        if isinstance(path, PathRefused) or ".." in path:
            continue
        place = place_of(path)
        assert spellings.setdefault(disk._resolve_path(path), place) == place, raw
    assert len(spellings) > 100
