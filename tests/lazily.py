"""Large libraries for the tests that use them: every process imports every file of tests, to know which there are."""

from importlib import import_module
from typing import Any


class Lazily:
    """Stands for a module, which is imported when something of it is used first."""

    def __init__(self, name: str) -> None:
        self._name = name

    # Whatever the module has.
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith(("_", "pytest")):  # pytest looks at whatever a file of tests has
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
