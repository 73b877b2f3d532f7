"""One server for all tests that only end kernels of it."""

from collections.abc import Iterator

import pytest

from tests.jupyter.servers import Jupyter, Kernel, jupyter


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    home = tmp_path_factory.mktemp("jupyter")
    with jupyter(home, HOLTER_DIR=str(home / "holter"), HOLTER_STRICT="1") as running:
        yield running
        assert "holter: " not in running.log().replace("holter: the ends of notebooks' kernels are recorded", "")


@pytest.fixture
def kernel(served: Jupyter) -> Iterator[Kernel]:
    made = served.open_notebook("training.ipynb")
    yield made
    served.close_notebook(made)
