import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def run() -> Callable[..., str]:
    """Run a command without our own Python settings; what it printed, or a failure that shows it all."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., str]) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., str]) -> Callable[..., Path]:
    """Install something into a fresh environment; that environment's python."""

    def install(*arguments: str) -> Path:
        home = tmp_path_factory.mktemp("environment")
        venv.create(home, symlinks=True, with_pip=True)
        python = home / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)
        return python

    return install
