"""The SDK as the tests use it: initialised once in a process, signing only where a test asks for it."""

import functools
import itertools
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import eqty_sdk
from eqty_sdk import Context, Signer, get_cid_for_bytes

from eqty_lineage.deepagents.recording import sdk

STATEMENTS = ("add_data_statement", "add_metadata_statement", "add_computation_statement")
TIMESTAMP = "EQTY_TIMESTAMP"
_seconds = itertools.count(1_700_000_000)
_signing = False


def initialise(folder: Path) -> None:
    """Initialise the SDK in ``folder``, once in this process, with a signer that stores contents."""
    if getattr(sdk.add_data_statement, "__wrapped__", None) is not None:
        return
    configuration = eqty_sdk.init(default_context=Context.new("default"), custom_dir=str(folder))
    configuration.set_store_all_blobs(True)
    eqty_sdk.set_active_signer(Signer.load_or_create("tests"))
    for name in STATEMENTS:
        setattr(sdk, name, _unsigned(getattr(sdk, name)))


def _unsigned(statement: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out the signature, which takes most of a statement's time."""

    @functools.wraps(statement)
    def made(*args: Any, **kwargs: Any) -> Any:
        return statement(*args, _skip_proof=not _signing, **kwargs)

    return made


@contextmanager
def signing() -> Iterator[None]:
    """Sign every statement made inside."""
    global _signing  # noqa: PLW0603 - statements are made on the recorder's thread
    _signing = True
    try:
        yield
    finally:
        _signing = False


def new_context(name: str = "test") -> Context:
    return Context.new(f"{name} {uuid.uuid4()}")


@contextmanager
def second() -> Iterator[None]:
    """Make all statements in one second of the past that no other test uses.

    Equal statements made within a second are one, in whatever contexts they are, so runs that follow each other fast
    would show in each other's manifests.
    """
    os.environ[TIMESTAMP] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(next(_seconds)))
    try:
        yield
    finally:
        os.environ.pop(TIMESTAMP, None)


def cid_of(content: str | bytes) -> str:
    """Return the CID of bytes, as any other tool computes it."""
    data = content.encode() if isinstance(content, str) else content
    return str(get_cid_for_bytes(data, _store=False)).removeprefix("urn:cid:")


def run_in_process(
    code: str, *arguments: str, folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own whose current folder is ``folder``."""
    tests = Path(__file__).resolve().parents[1]
    source = Path(sdk.__file__).resolve().parents[3]
    path = os.pathsep.join([str(tests), str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EQTY_")}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        env={**inherited, "PYTHONPATH": path, **(environment or {})},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
