"""The edit of a file that was never seen exactly: no version, and not invisible."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from langgraph.checkpoint.memory import InMemorySaver

from support.agents import Session, agent, asks, edit, execute, read, reasons, run, subagent, task, write
from support.lineage import Lineage, Step
from support.sandboxes import Sandbox

BEFORE = "x = 1\ny = 2\n"


@pytest.fixture
def disk(tmp_path: Path) -> FilesystemBackend:
    (tmp_path / "m.py").write_text(BEFORE)
    return FilesystemBackend(tmp_path, virtual_mode=True)


def edit_of(lineage: Lineage, step: Step) -> tuple[str, dict[str, Any]]:
    """The one edit among a step's outputs, and how it is described."""
    (found,) = [cid for cid in step.outputs if any("edit_of" in one for one in lineage.metadata[cid])]
    return found, lineage.described(found)


def documents_in(lineage: Lineage, step: Step) -> set[str]:
    return {cid for cid in step.inputs if any(one.get("assetType") == "Document" for one in lineage.metadata[cid])}


def test_it_says_what_it_replaced_and_has_the_rendering_that_was_read_as_an_input(disk: FilesystemBackend):
    session, lineage = run(
        agent(read("r", "/m.py"), edit("e", "/m.py", "x = 1", "x = 10", replace_all=True), backend=disk)
    )
    step = lineage.tool("e")
    cid, described = edit_of(lineage, step)
    assert lineage.payload(cid) == {"path": "/m.py", "old": "x = 1", "new": "x = 10", "all": True, "count": 1}
    assert (described["assetType"], described["name"], described["edit_of"]) == ("Document", "edit of /m.py", "/m.py")
    assert "file_path" not in described
    (rendering,) = lineage.renderings("/m.py")
    assert rendering in step.inputs
    assert [(use["role"], use["evidence"], use.get("version")) for use in step.fields["files"]] == [
        ("wrote", "edit", None),
        ("read", "rendering", None),
    ]
    assert lineage.versions("/m.py") == set()
    assert "NO_BASE" in reasons(session.handler)


def test_the_latest_of_several_renderings_is_its_input(disk: FilesystemBackend):
    _, lineage = run(
        agent(read("r1", "/m.py"), read("r2", "/m.py", offset=1), edit("e", "/m.py", "y = 2", "y = 3"), backend=disk)
    )
    latest = set(lineage.tool("r2").inputs) & lineage.renderings("/m.py")
    assert len(latest) == 1
    assert set(lineage.tool("e").inputs) & lineage.renderings("/m.py") == latest


def test_a_read_that_the_model_had_not_seen_is_no_input(disk: FilesystemBackend):
    both = asks(read("r", "/m.py"), edit("e", "/m.py", "x = 1", "x = 10"))
    _, lineage = run(agent(both, backend=disk))
    step = lineage.tool("e")
    edit_of(lineage, step)
    assert not set(step.inputs) & lineage.renderings("/m.py")


def test_what_another_agent_read_is_no_input(disk: FilesystemBackend):
    helper = subagent("helper", edit("e", "/m.py", "x = 1", "x = 10"))
    _, lineage = run(agent(read("r", "/m.py"), task("t", "helper"), subagents=[helper], backend=disk))
    step = lineage.tool("e")
    edit_of(lineage, step)
    assert lineage.renderings("/m.py")
    assert not set(step.inputs) & lineage.renderings("/m.py")


def test_an_unseen_file_that_was_never_read_is_edited_all_the_same(disk: FilesystemBackend):
    _, lineage = run(agent(edit("e", "/m.py", "x = 1", "x = 10"), backend=disk))
    step = lineage.tool("e")
    edit_of(lineage, step)
    assert documents_in(lineage, step) == set()


def test_two_edits_are_two_and_neither_is_a_version(disk: FilesystemBackend):
    _, lineage = run(
        agent(
            read("r", "/m.py"),
            edit("e1", "/m.py", "x = 1", "x = 10"),
            edit("e2", "/m.py", "y = 2", "y = 20"),
            backend=disk,
        )
    )
    assert edit_of(lineage, lineage.tool("e1"))[0] != edit_of(lineage, lineage.tool("e2"))[0]
    assert lineage.history("/m.py") == []


def test_a_failed_edit_is_none(disk: FilesystemBackend):
    _, lineage = run(agent(read("r", "/m.py"), edit("e", "/m.py", "z", "zz"), backend=disk))
    assert not [cid for cid, said in lineage.metadata.items() if any("edit_of" in one for one in said)]


def test_a_write_after_it_is_a_version_and_an_edit_of_that_is_reconstructed(disk: FilesystemBackend):
    _, lineage = run(
        agent(
            read("r", "/m.py"),
            edit("e1", "/m.py", "x = 1", "x = 10"),
            write("w", "/m.py", "x = 5\n"),
            edit("e2", "/m.py", "5", "6"),
            backend=disk,
        )
    )
    assert lineage.history("/m.py") == ["1 write_file", "2 edit_file <- 1"]


def test_what_was_read_before_a_write_is_no_input_of_an_edit_after_a_shell(tmp_path: Path):
    path = str(tmp_path / "m.py")
    Path(path).write_text(BEFORE)
    _, lineage = run(
        agent(
            read("r", path),
            write("w", path, "x = 5\n"),
            execute("s", "true"),
            edit("e", path, "5", "6"),
            backend=Sandbox(),
        )
    )
    step = lineage.tool("e")
    edit_of(lineage, step)
    assert not set(step.inputs) & lineage.renderings(path)


def test_an_edit_that_may_have_rewritten_line_endings_names_what_it_was_applied_to(disk: FilesystemBackend):
    _, lineage = run(agent(write("w", "/c.txt", "a\r\nb\r\n"), edit("e", "/c.txt", "b", "B"), backend=disk))
    step = lineage.tool("e")
    edit_of(lineage, step)
    (before,) = lineage.versions("/c.txt")
    assert before in step.inputs
    assert lineage.history("/c.txt") == ["1 write_file"]


def test_long_texts_of_an_edit_are_kept_apart(disk: FilesystemBackend):
    new = "x = 1\n" + "# a long comment\n" * 100
    _, lineage = run(agent(read("r", "/m.py"), edit("e", "/m.py", "x = 1\n", new), backend=disk))
    cid, _ = edit_of(lineage, lineage.tool("e"))
    assert len(lineage.blobs[cid]) < 1_000
    assert lineage.payload(cid)["new"] == new


def test_an_edit_in_another_turn_has_the_read_of_the_turn_before_that_its_prompt_shows(disk: FilesystemBackend):
    session, saver = Session(), InMemorySaver()
    session.invoke(agent(read("r", "/m.py"), backend=disk, checkpointer=saver), thread="t")
    session.invoke(agent(edit("e", "/m.py", "x = 1", "x = 10"), backend=disk, checkpointer=saver), thread="t")
    lineage = session.lineage(thread="t")
    assert set(lineage.tool("e").inputs) & lineage.renderings("/m.py")
