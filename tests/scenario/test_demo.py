"""The demo's manifest says what the agent did, and says the same each time."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.manifests import Computation, Manifest, bare
from support.sdk import cid_of

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "deepagents" / "research_agent.py"
REPORT, NOTES = "/report.md", "/notes.md"

EVERY = {
    "sequence",
    "agent",
    "lane",
    "run_id",
    "parent_run_id",
    "root_run_id",
    "status",
    "started_at",
    "ended_at",
    "framework",
    "computation_type",
    "name",
}


@dataclass(frozen=True)
class Demo:
    printed: str
    manifest: Manifest


def demo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the demo in a folder, where its process finds neither keys nor settings of ours."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("EQTY_", "ANTHROPIC_"))}
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, DEMO, *arguments],
        cwd=folder,
        env={**inherited, "PYTHONPATH": path, "LANGSMITH_TRACING": "false", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Demo, Demo]:
    """Two runs at once, whose sets are ordered differently."""
    folders = {seed: tmp_path_factory.mktemp("demo") for seed in ("1", "2")}

    def run(seed: str) -> Demo:
        folder = folders[seed]
        done = demo(folder, "--output", "out/manifest.json", PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(entry.name for entry in folder.iterdir()) == ["out"]
        return Demo(done.stdout, Manifest.read(folder / "out" / "manifest.json"))

    with ThreadPoolExecutor() as pool:
        first, second = pool.map(run, folders)
    return first, second


@pytest.fixture(scope="session")
def manifest(demos: tuple[Demo, Demo]) -> Manifest:
    return demos[0].manifest


def writers(manifest: Manifest, path: str) -> list[Computation]:
    return [one for one in manifest.computations if any(use["path"] == path for use in one.files("wrote"))]


def inputs_of(computations: Iterable[Computation]) -> set[str]:
    return {cid for one in computations for cid in one.inputs}


def asked_for(manifest: Manifest, call: Computation) -> str:
    """The response that asks for a tool call, found by the call's id in its content; it must be the only one."""
    id_ = json.dumps(call.metadata["tool_call_id"])
    (response,) = [cid for cid, asset in manifest.of_type("Reasoning").items() if id_ in asset.text]
    return response


def revisions(manifest: Manifest) -> list[tuple[Computation, str]]:
    plans = manifest.of_type("Dataset", name="todo list")
    return [(one, cid) for one in manifest.computations for cid in one.outputs if cid in plans]


# --- two runs


def edges(manifest: Manifest) -> list[tuple[Any, ...]]:
    return [
        (one.name, one.type, one.metadata["agent"], sorted(one.inputs), sorted(one.outputs))
        for one in manifest.computations
    ]


def test_two_runs_have_the_same_assets(demos: tuple[Demo, Demo]) -> None:
    # but for the seals, which list the ids of statements
    first, second = (
        {cid for cid, asset in run.manifest.assets.items() if "run seal" not in asset.names} for run in demos
    )
    assert len(first) > 100
    assert first == second


def test_two_runs_have_the_same_edges_in_the_same_order(demos: tuple[Demo, Demo]) -> None:
    first, second = (edges(run.manifest) for run in demos)
    assert len(first) > 100
    assert first == second


def test_the_runs_were_two(demos: tuple[Demo, Demo]) -> None:
    first, second = ({one.metadata["root_run_id"] for one in run.manifest.computations} for run in demos)
    assert len(first) == len(second) == 1
    assert first != second


# --- soundness


def test_every_reference_leads_to_an_asset_with_type_and_content(manifest: Manifest) -> None:
    used = {cid for one in manifest.computations for cid in (*one.inputs, *one.outputs)}
    broken = {
        cid: asset
        for cid, asset in manifest.assets.items()
        if cid in used and not (asset.registered and asset.types and asset.data is not None)
    }
    assert used
    assert broken == {}


def test_every_content_has_the_cid_it_is_stored_under(manifest: Manifest) -> None:
    wrong = [cid for cid, asset in manifest.assets.items() if asset.data is None or cid_of(asset.data) != cid]
    assert wrong == []


def test_every_metadata_statement_has_its_metadata(manifest: Manifest) -> None:
    referred = {
        bare(statement["metadata"])
        for statement in manifest.statements.values()
        if statement["@type"] == "MetadataRegistration"
    }
    assert referred
    assert referred - manifest.blobs.keys() == set()


def test_every_statement_is_signed(manifest: Manifest) -> None:
    signed = {
        statement["credential"]["credentialSubject"]["id"]
        for statement in manifest.statements.values()
        if statement["@type"] == "CredentialRegistration"
    }
    unsigned = [
        id_
        for id_, statement in manifest.statements.items()
        if statement["@type"] != "CredentialRegistration" and id_ not in signed
    ]
    assert signed
    assert unsigned == []


def test_nothing_is_made_from_itself(manifest: Manifest) -> None:
    assert [one.name for one in manifest.computations if set(one.inputs) & set(one.outputs)] == []


def test_every_computation_says_what_it_was(manifest: Manifest) -> None:
    assert {one.name: EVERY - one.metadata.keys() for one in manifest.computations if EVERY - one.metadata.keys()} == {}
    assert {one.metadata["status"] for one in manifest.computations} == {"ok"}
    sequence = [one.metadata["sequence"] for one in manifest.computations]
    assert len(set(sequence)) == len(sequence)


def test_only_the_root_says_who_recorded_it(manifest: Manifest) -> None:
    (root,) = [one for one in manifest.computations if one.metadata["parent_run_id"] is None]
    assert (root.type, root.name, root.metadata["vocabulary"]) == ("graph", "research-agent", 1)
    assert root.metadata["recorder"].startswith("eqty-lineage-deepagents")
    assert [one for one in manifest.computations if {"recorder", "vocabulary"} & one.metadata.keys()] == [root]


def test_there_are_no_gaps(manifest: Manifest) -> None:
    assert manifest.of_type("Dataset", name="gaps") == {}


# --- files


def test_each_version_is_written_once(manifest: Manifest) -> None:
    wrote = [
        (one.metadata["lane"], use["path"], use["version"], use["cid"], one)
        for one in manifest.computations
        for use in one.files("wrote")
    ]
    assert len({version[:3] for version in wrote}) == len(wrote)
    assert [version for version in wrote if version[3] not in version[4].outputs] == []
    assert [version for version in wrote if cid_of(manifest.assets[version[3]].data or b"") != version[3]] == []
    assert [version for version in wrote if version[1] not in manifest.assets[version[3]].names] == []


def test_a_file_is_the_output_of_nothing_but_what_wrote_it(manifest: Manifest) -> None:
    files = {cid for cid, asset in manifest.assets.items() if any("file_path" in about for about in asset.metadata)}
    made = {(one.id, cid) for one in manifest.computations for cid in one.outputs if cid in files}
    wrote = {(one.id, use["cid"]) for one in manifest.computations for use in one.files("wrote")}
    assert made == wrote


def test_the_report_was_written_edited_spoilt_and_restored(manifest: Manifest) -> None:
    steps = writers(manifest, REPORT)
    versions = [use for one in steps for use in one.files("wrote")]
    texts = [manifest.assets[use["cid"]].text for use in versions]
    assert [one.name for one in steps] == ["write_file", "edit_file", "edit_file", "edit_file", "write_file"]
    assert [use["version"] for use in versions] == [1, 2, 3, 4, 5]
    assert "lamphouse" in texts[3]
    assert versions[4]["cid"] == versions[2]["cid"]
    assert len(set(texts)) == 4


def test_each_version_of_the_report_replaces_the_one_before(manifest: Manifest) -> None:
    steps = writers(manifest, REPORT)
    replaced = [[(use["version"], use["cid"]) for use in one.files("replaced")] for one in steps]
    written = [[(use["version"], use["cid"]) for use in one.files("wrote")] for one in steps]
    assert replaced == [[], *written[:-1]]
    assert all(use["cid"] in one.inputs for one in steps for use in one.files("replaced"))


def test_the_librarian_wrote_the_notes_and_the_main_agent_read_them(manifest: Manifest) -> None:
    (writer,) = writers(manifest, NOTES)
    (notes,) = writer.files("wrote")
    (reader,) = [one for one in manifest.named("read_file", "tool") if notes["cid"] in one.inputs]
    assert (writer.metadata["agent"], reader.metadata["agent"]) == ("librarian", "research-agent")
    assert writer.metadata["lane"] != reader.metadata["lane"] == ""


# --- what the report's last version came from


def test_behind_the_report_are_the_notes_and_the_skill_that_were_read(manifest: Manifest) -> None:
    behind = manifest.ancestry(writers(manifest, REPORT)[-1])
    (writer,) = writers(manifest, NOTES)
    assert writer in behind
    assert writer.files("wrote")[0]["cid"] in inputs_of(behind)
    read = {use["path"] for one in behind for use in one.files("read")}
    assert read == {NOTES, REPORT, "/skills/report-writing/SKILL.md"}


def test_behind_the_report_are_the_turns_that_asked_for_each_change(manifest: Manifest) -> None:
    behind = manifest.ancestry(writers(manifest, REPORT)[-1])
    changes = [one for one in behind if one.name in {"write_file", "edit_file"}]
    assert changes == [*writers(manifest, NOTES), *writers(manifest, REPORT)]
    for change in changes:
        asked = asked_for(manifest, change)
        assert asked in change.inputs
        (answer,) = manifest.producers(asked)
        assert answer in behind
        requests = [one for one in manifest.ancestry(answer) if one.type == "chat_request"]
        prompts = manifest.of_type("System_Prompt").keys() & set(requests[-1].inputs)
        assert requests[-1].metadata["run_id"] == answer.metadata["run_id"]
        assert len(prompts) == 1


def test_behind_the_report_is_what_each_agent_was_told(manifest: Manifest) -> None:
    behind = inputs_of(manifest.ancestry(writers(manifest, REPORT)[-1]))
    prompts = [asset.text for cid, asset in manifest.of_type("System_Prompt").items() if cid in behind]
    assert len(prompts) == 2
    assert any("You are a research agent." in prompt for prompt in prompts)
    assert any("You are a librarian." in prompt for prompt in prompts)


@pytest.mark.parametrize(
    "path",
    [
        REPORT,
        NOTES,
    ],
)
def test_behind_a_file_is_the_message_of_the_person_who_asked(manifest: Manifest, path: str) -> None:
    behind = inputs_of(manifest.ancestry(writers(manifest, path)[-1]))
    asked = "How did sailors tell one lighthouse from another?"
    said = {cid for cid, asset in manifest.of_type("Prompt", "Dataset").items() if asked in asset.text}
    assert said & behind


# --- plan, skill, agents, tools


def test_the_plan_revisions_form_a_chain(manifest: Manifest) -> None:
    found = revisions(manifest)
    plans = manifest.of_type("Dataset", name="todo list").keys()
    assert [one.name for one, _ in found] == ["write_todos"] * 4
    assert len({cid for _, cid in found}) == 4
    before: set[str] = set()
    for step, cid in found:
        assert plans & set(step.inputs) == before
        before = {cid}


def test_the_plan_holds_what_was_written(manifest: Manifest) -> None:
    done = [
        sum(item["status"] == "completed" for item in manifest.assets[cid].payload) for _, cid in revisions(manifest)
    ]
    assert done == [0, 1, 2, 3]


def test_the_skill_is_given_to_the_main_agents_turns_and_made_by_nothing(manifest: Manifest) -> None:
    ((skill, asset),) = manifest.of_type("Skill").items()
    assert asset.names == {"report-writing"}
    assert manifest.producers(skill) == []
    turns = [one for one in manifest.named("model") if one.metadata["agent"] == "research-agent"]
    assert len(turns) == 14
    assert [one for one in turns if skill not in one.inputs] == []
    assert {one.metadata["agent"] for one in manifest.users(skill)} == {"research-agent"}


def test_the_librarian_is_an_input_of_its_run_and_of_the_task_that_started_it(manifest: Manifest) -> None:
    (agent,) = manifest.of_type("Agent", name="librarian")
    users = manifest.users(agent)
    assert [(one.type, one.name, one.metadata["agent"]) for one in users] == [
        ("agent", "librarian", "librarian"),
        ("tool", "task", "research-agent"),
    ]
    assert users[0].metadata["parent_run_id"] == users[1].metadata["run_id"]
    assert manifest.producers(agent) == []


def test_every_tool_that_was_called_has_its_source(manifest: Manifest) -> None:
    tools = manifest.of_type("Tool")
    calls = [one for one in manifest.computations if one.type == "tool"]
    recorded = {one.name: manifest.assets[cid].text for one in calls for cid in one.inputs if cid in tools}
    assert recorded.keys() == {one.name for one in calls}
    assert {name for name, source in recorded.items() if "def " not in source} == set()
    assert (ROOT / "examples" / "deepagents" / "research_agent.py").read_text().count(recorded["search_library"]) == 1


# --- what it prints, and how it is called


def test_it_prints_the_answer_and_what_the_manifest_says(demos: tuple[Demo, Demo]) -> None:
    run = demos[0]
    printed = run.printed.splitlines()
    assert "Sailors told lighthouses apart" in run.printed
    for title in ("Files", "Plan revisions", "Agents", "Skills", "System prompts", "Computations by type", "Gaps"):
        assert title in printed
    assert printed[printed.index("Gaps") + 1].strip() == "none"
    for one in writers(run.manifest, REPORT):
        (use,) = one.files("wrote")
        row = next(line for line in printed if line.split()[:2] == [REPORT, str(use["version"])])
        assert use["cid"][-8:] in row
        assert f"{one.name}, {one.metadata['agent']}" in row
    count = str(len(run.manifest.computations))
    assert ["all", count] in [line.split() for line in printed]
    assert max(map(len, printed)) <= 100


def test_help(tmp_path: Path) -> None:
    done = demo(tmp_path, "--help")
    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--live", "--in-place", "--output", "manifests/deep-agent.json"))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        pytest.param([], "ANTHROPIC_API_KEY", id="no key"),
        pytest.param(["nobody:nothing"], "nobody:nothing", id="no such provider"),
    ],
)
def test_a_live_model_that_cannot_be_had_is_said_before_anything_is_done(
    tmp_path: Path, model: list[str], said: str
) -> None:
    done = demo(tmp_path, "--live", *model)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="session")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A live run whose provider cannot be reached, with the store in its folder."""
    folder = tmp_path_factory.mktemp("failed")
    nobody_listens = "http://127.0.0.1:9"
    return folder, demo(
        folder, "--live", "--in-place", ANTHROPIC_API_KEY="sk-nothing", ANTHROPIC_BASE_URL=nobody_listens, NO_PROXY="*"
    )


def test_a_run_that_fails_is_said_and_recorded_too(failed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = failed
    assert done.returncode == 1
    assert "the run failed" in done.stderr
    assert "Traceback" not in done.stderr
    root = Manifest.read(folder / "manifests" / "deep-agent.json").computations[-1]
    assert (root.type, root.metadata["status"]) == ("graph_error", "error")


def test_in_place_keeps_the_store(failed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = failed
    assert sorted(entry.name for entry in folder.iterdir()) == [".eqty_sdk", "manifests"]
