import pytest

from support.sdk import initialise


@pytest.fixture(scope="session", autouse=True)
def _sdk(tmp_path_factory: pytest.TempPathFactory) -> None:
    initialise(tmp_path_factory.mktemp("store"))
