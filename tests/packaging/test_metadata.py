import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import eqty_lineage.deepagents

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
    assert [name for name in names if not hasattr(eqty_lineage.deepagents, name)] == []


def test_what_the_base_package_exports_is_the_same_object_here() -> None:
    base = importlib.import_module("eqty_lineage.langchain")
    shared = PUBLIC.intersection(base.__all__)
    assert "EqtyCallbackHandler" in shared
    assert [n for n in shared if getattr(eqty_lineage.deepagents, n) is not getattr(base, n)] == []


def test_importing_it_imports_no_agent_framework() -> None:
    program = "import sys, eqty_lineage.deepagents; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    loaded = {name.split(".")[0] for name in printed.stdout.split()}
    assert "langchain_core" in loaded
    assert loaded.isdisjoint({"deepagents", "langchain", "langgraph"})


def test_the_runtime_dependencies(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(project["dependencies"]) == [
        "eqty-lineage-langchain>=0.2.5,<0.3",
        "eqty-sdk>=2.4.2",
        "langchain-core>=0.3",
    ]


def test_the_namespace_stays_shared(root: Path) -> None:
    namespace = root / "src" / "eqty_lineage"
    assert {entry.name for entry in namespace.iterdir()} - {"__pycache__"} == {"deepagents"}
    assert (namespace / "deepagents" / "py.typed").is_file()
