"""llm-wiki: a review and an update of a pulled wiki, two runs on one handler, and what is recorded of its pages."""

from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend
from deepagents.middleware.filesystem import FilesystemPermission

from eqty_lineage.deepagents import EqtyDeepAgentsHandler
from support.agents import edit, execute, read, says, script, write
from support.examples import SharedModel, Twice, attached, returned, twice
from support.lineage import Lineage
from support.sandboxes import Sandbox
from support.sdk import cid_of

REVIEW, APPLY = "Review the sources.", "Apply the plan."
SOURCE = "The moon pulls the sea.\n"
INDEX = "# Index\n\nNothing yet.\n"
PAGE = "# Tides\n\nThe moon pulls the sea (s.md).\n"
PLAN = "One page on tides.\n"


def prepare(folder: Path) -> None:
    """What is pulled, and the source that the runner stages."""
    for name in ("raw", "wiki"):
        (folder / "pulled" / name).mkdir(parents=True)
    (folder / "pulled" / "AGENTS.md").write_text("# Rules\n")
    (folder / "pulled" / "log.md").write_text("# Log\n")
    (folder / "pulled" / "wiki" / "index.md").write_text(INDEX)
    (folder / "pulled" / "raw" / "s.md").write_text(SOURCE)


def model(sandbox: str) -> SharedModel:
    return SharedModel(
        scripts={
            REVIEW: script(
                read("source", "/raw/raw/s.md"),
                read("not there", "/raw/s.md"),
                read("log", "/log.md"),
                read("rules", "/AGENTS.md"),
                write("early", "/wiki/early.md", "Too early.\n"),
                write("plan", f"{sandbox}/plan.md", PLAN),
                says("A page on tides."),
            ),
            APPLY: script(
                edit("revised", f"{sandbox}/plan.md", "One page", "A page"),
                read("source again", "/wiki/raw/s.md"),
                read("index", "/wiki/wiki/index.md"),
                write("page", "/wiki/tides.md", PAGE),
                read("same", "/raw/tides.md"),
                *(write(f"denied {path}", path, "no\n") for path in ("/raw/s.md", "/log.md", "/AGENTS.md")),
                edit("first", "/wiki/tides.md", "pulls", "moves"),
                execute("run", "echo counted"),
                edit("second", "/wiki/tides.md", "moves", "lifts"),
                says("Added a page on tides."),
            ),
        }
    )


def denied(*paths: str) -> list[FilesystemPermission]:
    return [FilesystemPermission(operations=["write"], paths=[path], mode="deny") for path in paths]


def run_agent_mode(
    folder: Path, handler: EqtyDeepAgentsHandler | None, prompt: str, permissions: list[FilesystemPermission]
) -> Any:
    workspace = FilesystemBackend(root_dir=folder / "pulled", virtual_mode=True)
    backend = CompositeBackend(
        default=Sandbox(),
        routes={"/raw/": workspace, "/wiki/": workspace, "/log.md": workspace, "/AGENTS.md": workspace},
    )
    agent = create_deep_agent(
        model=model(str(folder / "sandbox")),
        backend=backend,
        permissions=permissions,
        system_prompt="Keep the wiki.",
    )
    result = agent.invoke({"messages": [{"role": "user", "content": prompt}]}, config=attached(handler))
    if handler is not None:
        handler.context.export("manifests/llm-wiki.json")
    return result


def ingest(folder: Path, handler: EqtyDeepAgentsHandler | None) -> Any:
    def log(line: str) -> None:
        with (folder / "pulled" / "log.md").open("a") as file:
            file.write(f"- {line}\n")

    (folder / "sandbox").mkdir()
    reviewed = run_agent_mode(folder, handler, REVIEW, denied("/raw/**", "/wiki/**", "/log.md", "/AGENTS.md"))
    log(reviewed["messages"][-1].text)
    allowed = FilesystemPermission(operations=["write"], paths=["/wiki/**"], mode="allow")
    applied = run_agent_mode(folder, handler, APPLY, [*denied("/raw/**", "/AGENTS.md"), allowed, *denied("/log.md")])
    (folder / "pulled" / "wiki" / "index.md").write_text("# Index\n\n- Tides\n")
    log(applied["messages"][-1].text)
    return reviewed, applied


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    return twice(tmp_path_factory.mktemp("wiki") / "example", prepare, ingest)


@pytest.fixture(scope="module")
def lineage(ran: Twice) -> Lineage:
    return ran.lineage("manifests/llm-wiki.json", conversations=2)


def test_both_runs_end_as_they_do_without_the_handler(ran: Twice):
    assert ran.recorded == ran.plain
    assert [result["messages"][-1].text for result in ran.result] == ["A page on tides.", "Added a page on tides."]


def test_one_manifest_holds_both_runs(lineage: Lineage):
    assert len(lineage.all("LangGraph", "graph")) == 2
    assert len(lineage.assets(name="run seal")) == 2
    assert len({step.fields["root_run_id"] for step in lineage.steps}) == 2


def test_a_page_is_an_exact_version_and_so_is_an_edit_of_it_before_a_shell(lineage: Lineage, ran: Twice):
    assert lineage.tool("page").files("wrote") == {"/wiki/tides.md": cid_of(PAGE)}
    assert lineage.tool("first").files("wrote") == {"/wiki/tides.md": cid_of(PAGE.replace("pulls", "moves"))}
    assert lineage.history("/wiki/tides.md") == ["1 write_file", "2 edit_file <- 1"]
    assert set(lineage.tool("source again").outputs) & lineage.ancestors(cid_of(PAGE))
    assert ran.recorded[1]["pulled/tides.md"] == PAGE.replace("pulls", "lifts").encode()


def test_a_shell_in_the_sandbox_ends_what_was_known_of_a_routed_page(lineage: Lineage):
    assert "counted" in str(returned(lineage, "run"))
    assert lineage.tool("second").fields["status"] == "ok"
    assert [use["evidence"] for use in lineage.tool("second").fields["files"]] == ["edit"]
    assert cid_of(PAGE.replace("pulls", "lifts")) not in lineage.blobs


def test_nothing_is_taken_to_be_unchanged_between_the_runs(lineage: Lineage, ran: Twice):
    path = f"{ran.folder}/sandbox/plan.md"
    assert lineage.history(path) == ["1 write_file"]
    assert [use["evidence"] for use in lineage.tool("revised").fields["files"]] == ["edit"]


def test_sources_and_pages_that_were_there_are_renderings(lineage: Lineage):
    for call_id, path, text in (
        ("source", "/raw/raw/s.md", SOURCE),
        ("source again", "/wiki/raw/s.md", SOURCE),
        ("index", "/wiki/wiki/index.md", INDEX),
        ("same", "/raw/tides.md", PAGE),
    ):
        (rendering,) = lineage.renderings(path)
        assert lineage.tool(call_id).files("read") == {path: rendering}
        assert text.strip() in lineage.text(rendering)
        assert not lineage.versions(path)


def test_a_route_is_cut_off_and_all_routes_have_one_root(lineage: Lineage, ran: Twice):
    assert "pulled/tides.md" in ran.recorded[1]
    for call_id, missing in (("not there", "/s.md"), ("log", "/"), ("rules", "/")):
        assert lineage.tool(call_id).fields["status"] == "error"
        assert f"File '{missing}' not found" in str(returned(lineage, call_id))


def test_a_denied_write_is_an_error_and_no_version(lineage: Lineage):
    for call_id in ("early", "denied /raw/s.md", "denied /log.md", "denied /AGENTS.md"):
        step = lineage.tool(call_id)
        assert step.fields["status"] == "error"
        assert "files" not in step.fields
        assert "permission denied" in str(returned(lineage, call_id))
    assert not {"/wiki/early.md", "/raw/s.md", "/log.md", "/AGENTS.md"} & lineage.paths()


def test_what_the_runner_does_itself_is_not_recorded(lineage: Lineage, ran: Twice):
    changed = {name: ran.recorded[1][f"pulled/{name}"] for name in ("log.md", "wiki/index.md")}
    assert changed["log.md"] == b"# Log\n- A page on tides.\n- Added a page on tides.\n"
    assert changed["wiki/index.md"] == b"# Index\n\n- Tides\n"
    assert not {cid_of(data) for data in changed.values()} & set(lineage.blobs)
