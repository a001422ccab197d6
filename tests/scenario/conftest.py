from collections.abc import Iterator

import pytest

from support.fixtures import quiet_callbacks, sdk
from support.sdk import signing

__all__ = ["quiet_callbacks", "sdk", "signed"]


@pytest.fixture
def signed() -> Iterator[None]:
    with signing():
        yield
