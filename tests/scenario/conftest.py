from collections.abc import Iterator

import pytest

from support.fixtures import _quiet_callbacks, _sdk  # noqa: F401 - what is imported here is a fixture here
from support.sdk import signing


@pytest.fixture
def signed() -> Iterator[None]:
    with signing():
        yield
