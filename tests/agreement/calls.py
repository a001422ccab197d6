"""Calls of the file tools, as a model may make them."""

from typing import Any

from hypothesis import strategies as st

PATHS = ["/a", "//a", "/d", "/d/a", "/d//a", "/d/./a", "/d/e/b", "/p.png", "/a..b"]
"""As a backend gets to see them. Some are one file on a disk and several in a state."""

_ARGUMENTS = st.sampled_from(
    [
        "/a",
        "/a",
        "/a",
        "/a",
        "a",
        "//a",
        "/d/a",
        "/d/a",
        "d\\\\a",
        "d\\.\\a",
        "/d",
        "/d/e/b",
        "/p.png",
        "/p.png",
        "/a..b",
    ]
)

TEXTS = st.sampled_from(["a", "a\n", "ab", "a\nb", "b\na\r\n", "b\ra", "a\na", "", " ", "a\x0cb", "a\ud800", "YQ=="])

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


def calls_of(files: st.SearchStrategy[str], directories: st.SearchStrategy[str]) -> st.SearchStrategy[Call]:
    """Calls of the file tools about some ``files``; ``directories`` are deleted too."""
    writes = st.tuples(st.just("write_file"), st.fixed_dictionaries({"file_path": files, "content": TEXTS}))
    edits = st.fixed_dictionaries(
        {
            "file_path": files,
            "old_string": st.sampled_from(["a", "a", "b", "\n", ""]),
            "new_string": st.sampled_from(["", "b", "ba", "\r"]),
            "replace_all": st.booleans(),
        }
    )
    reads = st.fixed_dictionaries(
        {"file_path": files},
        optional={"offset": st.sampled_from([-1, 0, 1]), "limit": st.sampled_from([0, 1, 2, 100])},
    )
    return st.one_of(
        writes,
        writes,
        st.tuples(st.just("edit_file"), edits),
        st.tuples(st.just("delete"), st.fixed_dictionaries({"file_path": files | directories})),
        st.tuples(st.just("read_file"), reads),
    )


CALLS = calls_of(_ARGUMENTS, st.sampled_from(["/", "//", "", "//d"]))
