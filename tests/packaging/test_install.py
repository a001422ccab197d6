"""The built wheel and the editable checkout, each in an environment of its own beside the base package."""

import json
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.installs

REPORT = """
import json
import eqty_lineage, eqty_lineage.deepagents as ours, eqty_lineage.langchain as base
print(json.dumps({
    "namespace": getattr(eqty_lineage, "__file__", None),
    "ours": ours.__file__,
    "base": base.__file__,
    "subclass": issubclass(ours.EqtyDeepAgentsHandler, base.EqtyCallbackHandler),
}))
"""


def test_the_wheel_holds_our_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(metadata).decode())
    home = metadata.removesuffix("METADATA")
    assert [name for name in names if not name.startswith(("eqty_lineage/deepagents/", home))] == []
    assert "eqty_lineage/deepagents/__init__.py" in names
    assert "eqty_lineage/deepagents/py.typed" in names
    assert f"{home}licenses/LICENSE" in names
    assert headers["License-Expression"] == "Apache-2.0"
    assert headers["Requires-Python"] == ">=3.11"
    required = [line for line in headers.get_all("Requires-Dist") if "extra ==" not in line]
    assert {line.split("<")[0].split(">")[0].strip() for line in required} == {
        "eqty-lineage-langchain",
        "eqty-sdk",
        "langchain-core",
    }


def test_the_wheel_works_beside_the_base_package(
    wheel: Path, install: Callable[..., Path], run: Callable[..., str]
) -> None:
    python = install(str(wheel))
    report = json.loads(run(python, "-I", "-c", REPORT))
    assert report["namespace"] is None
    assert report["subclass"]
    assert Path(report["ours"]).parent.parent == Path(report["base"]).parent.parent
    run(python, "-m", "pip", "check")


def test_the_editable_install_works_beside_the_base_package(
    root: Path, install: Callable[..., Path], run: Callable[..., str]
) -> None:
    python = install("--editable", str(root))
    report = json.loads(run(python, "-I", "-c", REPORT))
    assert report["namespace"] is None
    assert report["subclass"]
    assert Path(report["ours"]).is_relative_to(root / "src")
    assert not Path(report["base"]).is_relative_to(root)
