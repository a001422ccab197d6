"""The SDK as the tests use it: initialised once in a process, signing only where a test asks for it."""

import functools
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import eqty_sdk
from eqty_sdk import Context, Signer, get_cid_for_bytes

from eqty_lineage.deepagents.recording import sdk

STATEMENTS = ("add_data_statement", "add_metadata_statement", "add_computation_statement")
_signing = False
_names = itertools.count(1)


@functools.cache
def initialise(folder: Path) -> Context:
    """Initialise the SDK in ``folder`` with a signer that stores contents; return the default context."""
    root = Context.new("default")
    configuration = eqty_sdk.init(default_context=root, custom_dir=str(folder))
    configuration.set_store_all_blobs(True)
    eqty_sdk.set_active_signer(Signer.load_or_create("tests"))
    for name in STATEMENTS:
        setattr(sdk, name, _unsigned(getattr(sdk, name)))
    return eqty_sdk.init().get_default_context()


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
    return Context.new(f"{name} {next(_names)}")


def cid_of(content: str | bytes) -> str:
    """Return the CID of bytes, as any other tool computes it."""
    data = content.encode() if isinstance(content, str) else content
    return str(get_cid_for_bytes(data, False)).removeprefix("urn:cid:")


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
