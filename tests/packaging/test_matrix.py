"""What is said of other releases: the pins name them, and the document that a run of the matrix wrote has each."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def pins(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "matrix" / "pins.toml").read_text(encoding="utf-8"))


def test_every_release_has_an_environment_of_its_day_and_one_of_today(root: Path, pins: dict[str, Any]):
    run = [sys.executable, str(root / "matrix" / "run.py"), "--list"]
    listed = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert {f"{release}-{resolution}" for release in pins["day"] for resolution in ("day", "newest")} < set(listed)
    assert {"newest", "newest-3.12", "newest-3.13", "langgraph"} < set(listed)


def test_an_environment_that_does_not_exist_is_refused(root: Path):
    run = [sys.executable, str(root / "matrix" / "run.py"), "--only", "0.0.0"]
    refused = subprocess.run(run, check=False, capture_output=True, text=True)
    assert refused.returncode
    assert "no such environment: 0.0.0" in refused.stderr


def test_the_document_has_a_row_for_each_and_a_failure_in_none(root: Path, pins: dict[str, Any]):
    text = (root / "docs" / "compatibility.md").read_text(encoding="utf-8")
    results = text.split("## Results")[1].split("##")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in results.splitlines() if "|" in line][2:]
    told = {(release, resolution): counts for release, resolution, *_, counts in rows}
    assert {(release, resolution) for release in pins["day"] for resolution in ("of its day", "newest")} < told.keys()
    assert set(told.values()) == {"0"}
    pythons = {re.match(r"\d+\.\d+", row[5])[0] for row in rows if row[0] == pins["newest_release"]}  # type: ignore[index]
    assert pythons == set(pins["pythons"]["newest"])
