"""Which environments the matrix has, and how one of them is made: a virtual environment a row."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".matrix"
PINS = Path(__file__).with_name("pins.toml")
TOOLS = ("pytest>=8.2", "hypothesis")
"""What the tests themselves need."""


@dataclass(frozen=True)
class Environment:
    """One row: what is installed, and on which Python."""

    id: str
    release: str | None
    """The release of DeepAgents; ``None`` for LangGraph alone."""
    resolution: str
    python: str
    requirements: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return CACHE / self.id


class NotMadeError(Exception):
    """An environment could not be made; says why in one line."""


def environments() -> list[Environment]:
    """Return every environment, the newest release first."""
    return list(_environments(tomllib.loads(PINS.read_text(encoding="utf-8"))))


def _environments(pins: dict[str, dict[str, dict[str, str]]]) -> Iterator[Environment]:
    newest, days = pins["newest"], pins["day"]
    first, *others = pins["pythons"]["newest"]
    release = pins["newest_release"]
    yield Environment("newest", release, "newest", first, _requirements(release, newest))
    for python in others:
        yield Environment(f"newest-{python}", release, "newest", python, _requirements(release, newest))
    for release, day in reversed(days.items()):
        beside = {package: newest[package] for package in day}
        yield Environment(f"{release}-newest", release, "newest", first, _requirements(release, beside))
        yield Environment(f"{release}-day", release, "of its day", first, _requirements(release, day))
    plain = tuple(f"{package}=={version}" for package, version in pins["plain"].items())
    yield Environment("langgraph", None, "oldest", first, plain)


def _requirements(release: str, beside: dict[str, str]) -> tuple[str, ...]:
    return (f"deepagents=={release}", *(f"{package}=={version}" for package, version in beside.items()))


def chosen(wanted: list[str]) -> list[Environment]:
    """Return the environments with these ids, or of these releases; all of them if none is named.

    Raises:
        SystemExit: A name is neither.

    """
    found = environments()
    names = {one.id for one in found} | {one.release for one in found}
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise SystemExit(f"no such environment: {', '.join(unknown)}; there are {', '.join(one.id for one in found)}")
    return [one for one in found if not wanted or one.id in wanted or one.release in wanted]


def interpreter(version: str) -> str | None:
    """Return a Python of a version (``3.12``): on the PATH, or one that pyenv keeps; ``None`` if there is none."""
    kept = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"{version}.*/bin/python3")
    )
    for candidate in (f"python{version}", "python3", *map(str, kept)):
        found = _looked_at(candidate)
        if found is not None and found[0] == version:
            return found[1]
    return None


def _looked_at(candidate: str) -> tuple[str, str] | None:
    """Return the version of a Python, and where it really is: what is on the PATH may only lead to it."""
    path = shutil.which(candidate)
    if path is None:
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2], getattr(sys, '_base_executable', sys.executable))"
    run = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    version, _, executable = run.stdout.strip().partition(" ")
    return (version, executable) if run.returncode == 0 and executable else None


def make(environment: Environment, *, any_python: bool = False) -> Path:
    """Make an environment, unless it stands already, and return its Python.

    Raises:
        NotMadeError: Its Python is not on this machine, or pip could not install it.

    """
    base = interpreter(environment.python)
    if base is None and any_python and (other := _looked_at("python3")) is not None:
        base = other[1]
    if base is None:
        raise NotMadeError(f"no Python {environment.python} on this machine")
    folder, python = environment.folder, environment.folder / "bin" / "python"
    stamp = folder / "made-of"
    wanted = _made_of(environment, base)
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run([base, "-m", "venv", str(folder)], folder)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, *environment.requirements, *TOOLS, "--editable", str(ROOT)], folder)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _made_of(environment: Environment, base: str) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [project["build-system"], project["project"]["dependencies"], project["tool"]["hatch"]]
    return json.dumps([base, *environment.requirements, *TOOLS, needed])


def _run(command: list[str], folder: Path) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode:
        CACHE.mkdir(exist_ok=True)
        log = CACHE / f"{folder.name}.install.log"
        log.write_text(run.stdout + run.stderr, encoding="utf-8")
        last = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NotMadeError(f"not installed: {last} (all of it in {log.relative_to(ROOT)})")
