"""The fixtures of every suite that runs agents."""

import logging
from collections.abc import Iterator

import pytest

from support.agents import errors_of_callbacks
from support.sdk import initialise


@pytest.fixture(scope="session", autouse=True)
def _sdk(tmp_path_factory: pytest.TempPathFactory) -> None:
    initialise(tmp_path_factory.mktemp("store"))


@pytest.fixture(autouse=True)
def _quiet_callbacks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No callback may raise, whatever a scenario does: LangChain would log it and drop what was to be recorded."""
    caplog.set_level(logging.INFO)
    yield
    records = [record for phase in ("setup", "call") for record in caplog.get_records(phase)]
    assert not errors_of_callbacks(record.getMessage() for record in records)
