"""What the suites of all ports share."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places

RUN = "run"
# The store is the same for all examples: each makes it empty first.
PROPERTY = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class PortContract:
    """Gives each test an open storage."""

    @pytest.fixture
    def storage(self, url: Places | str) -> Iterator[Storage]:
        """Open for the length of a test."""
        opened = open_storage(url)
        yield opened
        opened.close()
