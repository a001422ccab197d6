import importlib
import pickle
import tomllib
from pathlib import Path

import pytest

import eqty_lineage.deepagents
from eqty_lineage.deepagents import public
from support.sdk import run_in_process
from support.synthetic import synthetic

PUBLIC = {
    "DEFAULT_CONTENT_POLICY",
    "AssetSink",
    "AsyncTaskExtractor",
    "ConfigurationError",
    "EqtyCallbackHandler",
    "EqtyDeepAgentsHandler",
    "MemoryExtractor",
    "PathExtractor",
    "SkillExtractor",
    "StateExtractor",
    "TodoListExtractor",
    "UNCLAIMED",
    "VirtualFileExtractor",
    "NotExpandableError",
    "Recovered",
    "eqty_tool",
    "expand",
    "recover",
}


def test_the_public_names() -> None:
    names = eqty_lineage.deepagents.__all__
    assert len(names) == len(set(names))
    assert set(names) == PUBLIC
    assert sorted(names) == sorted(public.__all__)
    assert [name for name in names if not hasattr(eqty_lineage.deepagents, name)] == []


def test_what_the_base_package_exports_is_the_same_object_here() -> None:
    base = importlib.import_module("eqty_lineage.langchain")
    shared = PUBLIC.intersection(base.__all__)
    assert "EqtyCallbackHandler" in shared
    assert [n for n in shared if getattr(eqty_lineage.deepagents, n) is not getattr(base, n)] == []


def loaded_by(program: str, folder: Path) -> set[str]:
    """The top-level modules in a process that ran a program; of a namespace, its first two parts."""
    done = run_in_process(f"{program}\nimport sys; print('loaded', *sys.modules)", folder=folder)
    assert done.returncode == 0, done.stderr
    names = done.stdout.rpartition("loaded")[2].split()
    return {".".join(name.split(".")[: 2 if name.startswith("eqty_lineage.") else 1]) for name in names}


def test_the_handler_imports_no_agent_framework(tmp_path: Path) -> None:
    loaded = loaded_by("from eqty_lineage.deepagents import EqtyDeepAgentsHandler", tmp_path)
    assert "langchain_core" in loaded
    assert loaded.isdisjoint({"deepagents", "langchain", "langgraph"})


RECORDING = {"langchain_core", "langchain", "langgraph", "deepagents", "eqty_sdk", "eqty_lineage.langchain"}
PRINTING = {"click", "rich"}
ONLY_WHERE_NEEDED = {"blake3", "prov"}


def test_the_package_itself_imports_nothing_until_a_name_is_asked_for(tmp_path: Path) -> None:
    assert loaded_by("import eqty_lineage.deepagents", tmp_path).isdisjoint(RECORDING | PRINTING)


def test_the_reader_imports_no_recording_side(tmp_path: Path) -> None:
    program = "from eqty_lineage.deepagents.reading import read"
    assert loaded_by(program, tmp_path).isdisjoint(RECORDING | PRINTING | ONLY_WHERE_NEEDED)


def test_reading_everything_in_a_manifest_imports_no_recording_side(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(synthetic(40))
    program = """
from eqty_lineage.deepagents.reading import read
run = read("manifest.json")
assert run.steps and run.files and run.plan and run.agents and run.lanes and run.roots and run.entities
assert not run.gaps and run.recording.statements
assert [run.detail(step) for step in run.steps]
"""
    assert loaded_by(program, tmp_path).isdisjoint(RECORDING | PRINTING | ONLY_WHERE_NEEDED)


def test_every_public_name_can_be_imported_by_a_star(tmp_path: Path) -> None:
    program = "from eqty_lineage.deepagents import *\nprint(*sorted(globals()))"
    done = run_in_process(program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= PUBLIC


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Handler'"):
        _ = eqty_lineage.deepagents.Handler
    with pytest.raises(ImportError, match="cannot import name 'Handler'"):
        exec("from eqty_lineage.deepagents import Handler")  # noqa: S102 - a static import would not run


def test_the_public_names_are_listed_before_any_is_asked_for(tmp_path: Path) -> None:
    done = run_in_process("import eqty_lineage.deepagents as ours; print(*dir(ours))", folder=tmp_path)
    assert set(done.stdout.split()) >= PUBLIC


def test_public_classes_are_pickled_by_name() -> None:
    for name in ("VirtualFileExtractor", "Recovered", "ConfigurationError"):
        one = getattr(eqty_lineage.deepagents, name)
        assert pickle.loads(pickle.dumps(one)) is one  # noqa: S301 - our own


def test_the_runtime_dependencies(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(project["dependencies"]) == [
        "eqty-lineage-langchain>=0.2.5,<0.3",
        "eqty-sdk>=2.4.2",
        "langchain-core>=0.3",
    ]


def test_what_is_optional_is_an_extra_and_the_development_environment_has_it(root: Path) -> None:
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["reading"] == ["blake3>=1"]
    assert extras["prov"] == ["prov>=3.2,<4"]
    assert {*extras["reading"], *extras["prov"]} <= set(extras["dev"])
    # An installer that looked the project's own name up on an index would find somebody else's distribution.
    assert not [line for lines in extras.values() for line in lines if line.startswith("eqty-lineage-deepagents")]


def test_the_namespace_stays_shared(root: Path) -> None:
    namespace = root / "src" / "eqty_lineage"
    assert {entry.name for entry in namespace.iterdir()} - {"__pycache__"} == {"deepagents"}
    assert (namespace / "deepagents" / "py.typed").is_file()
