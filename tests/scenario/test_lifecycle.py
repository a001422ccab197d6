"""Constructing a handler, handing it around, and switching it off."""

import copy
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManager

from eqty_lineage.deepagents import EqtyCallbackHandler, EqtyDeepAgentsHandler
from support.agents import Session, agent, says, write
from support.sdk import run_in_process

RUN = """
import json, logging, os, sys
lines = []
class Lines(logging.Handler):
    def emit(self, record):
        lines.append([record.name, record.getMessage()])
logging.getLogger().addHandler(Lines())
from eqty_lineage.deepagents import ConfigurationError, EqtyDeepAgentsHandler
from support.agents import Session, agent, says, write
told = {}
"""
TELL = """
told["lines"] = [message for name, message in lines if name == "eqty.deepagents"]
told["folder"] = sorted(os.listdir("."))
print(json.dumps(told))
"""


def told(code: str, folder: Path, **environment: str) -> dict[str, Any]:
    done = run_in_process(RUN + code + TELL, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_without_a_signer_the_constructor_says_what_to_call_and_initialises_nothing(tmp_path: Path):
    code = """
for name, prepare in {
    "nothing": lambda: None,
    "no signer": lambda: __import__("eqty_sdk").init(custom_dir="mine"),
}.items():
    prepare()
    try:
        EqtyDeepAgentsHandler()
    except ConfigurationError as error:
        told[name] = str(error)
    told["folder after " + name] = sorted(os.listdir("."))
"""
    result = told(code, tmp_path)
    assert result["folder after nothing"] == []
    for name in ("nothing", "no signer"):
        assert "set_active_signer" in result[name]
        assert "init" in result[name]
        assert "backtrace" not in result[name].lower()


def test_switched_off_it_records_nothing_needs_nothing_and_says_so_once(tmp_path: Path):
    code = """
session_less = [EqtyDeepAgentsHandler(), EqtyDeepAgentsHandler(True)]
answer = agent(write("w", "/a.md", "a"), says("answered")).invoke(
    {"messages": [("user", "go")]}, {"callbacks": [session_less[0]]}
)
told["answer"] = answer["messages"][-1].content
told["flushed"] = [session_less[0].flush(), session_less[0].close(), len(session_less[0].gaps)]
told["contexts"] = dict(session_less[0].contexts)
"""
    result = told(code, tmp_path, EQTY_LINEAGE_DISABLED="1")
    assert result["answer"] == "answered"
    assert result["flushed"] == [True, True, 0]
    assert result["contexts"] == {}
    assert len(result["lines"]) == 1
    assert "EQTY_LINEAGE_DISABLED" in result["lines"][0]
    assert result["folder"] == []


@pytest.mark.parametrize(("stored", "lines"), [(False, 1), (True, 0)])
def test_it_says_once_when_contents_are_not_stored(*, stored: bool, lines: int, tmp_path: Path):
    code = f"""
import eqty_sdk
configuration = eqty_sdk.init(default_context=eqty_sdk.Context.new("app"), custom_dir="store")
if {stored}:
    configuration.set_store_all_blobs(True)
eqty_sdk.set_active_signer(eqty_sdk.Signer.load_or_create("app"))
for _ in range(2):
    EqtyDeepAgentsHandler()
"""
    result = told(code, tmp_path)
    assert len(result["lines"]) == lines
    assert all("set_store_all_blobs(True)" in line for line in result["lines"])


def test_what_is_queued_at_a_normal_exit_is_stored(tmp_path: Path):
    code = """
import pathlib
from support.sdk import initialise
initialise(pathlib.Path("store").resolve())
session = Session(wait=False)
session.invoke(agent(*[write(str(number), f"/{number}.md", f"text {number}") for number in range(3)]))
"""
    told(code, tmp_path)
    blobs = [path.read_bytes() for path in tmp_path.rglob("blobs/*")]
    assert b"text 2" in blobs
    assert any(b'"computation_type":"graph"' in blob for blob in blobs)


def test_the_constructor_takes_what_its_base_takes():
    assert EqtyDeepAgentsHandler(True).verbose is True  # noqa: FBT003 - the base takes it by position
    assert EqtyDeepAgentsHandler().verbose is False
    assert isinstance(EqtyDeepAgentsHandler(verbose=True, integrity_service_url=None), EqtyCallbackHandler)


def test_a_copy_of_a_handler_is_the_handler():
    handler = EqtyDeepAgentsHandler()
    assert copy.copy(handler) is handler
    assert copy.deepcopy({"callbacks": [handler]})["callbacks"][0] is handler
    manager = CallbackManager([handler])
    assert manager.copy().handlers == [handler]


def test_a_deep_copied_configuration_records_into_the_one_handler():
    session = Session()
    runnable = agent(write("w", "/a.md", "a\n")).with_config(copy.deepcopy({"callbacks": [session.handler]}))
    session.invoke(runnable, callbacks=[])
    assert session.lineage().history("/a.md") == ["1 write_file"]


def test_pickling_a_handler_says_what_to_do_instead():
    with pytest.raises(pickle.PicklingError, match="construct one in the process"):
        pickle.dumps(EqtyDeepAgentsHandler())


def test_it_neither_blocks_the_event_loop_nor_raises():
    handler = EqtyDeepAgentsHandler()
    assert not handler.run_inline
    assert not handler.raise_error


def test_a_gap_is_said_once_for_each_kind_and_counted_each_time(caplog: pytest.LogCaptureFixture):
    session = Session()
    session.invoke(agent(write("1", "/a.md", "x\ud800"), write("2", "/b.md", "y\ud800"), says()))
    warned = [
        record for record in caplog.records if record.name == "eqty.deepagents" and record.levelno == logging.WARNING
    ]
    assert len(warned) == 1
    (count,) = session.handler.gaps.counts.values()
    assert len(session.handler.gaps) == count == len(list(session.handler.gaps)) >= 2
    recorded = session.lineage().gaps()
    assert {gap["what"] for gap in recorded} == {gap.what for gap in session.handler.gaps}


def test_gaps_are_the_last_thing_a_run_records(caplog: pytest.LogCaptureFixture):
    session = Session()
    session.invoke(agent(write("1", "/a.md", "x\ud800"), says()))
    session.invoke(agent(write("2", "/b.md", "fine\n"), says()))
    lineage = session.lineage()
    assert len(lineage.assets("Dataset", name="gaps")) == 1
    (cid,) = lineage.assets("Dataset", name="gaps")
    assert lineage.payload(cid)["count"] == len(lineage.gaps())
    assert not lineage.users(cid)
    assert not lineage.producers(cid)
