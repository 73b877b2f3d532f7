"""Values of one step as one row: other trackers keep each by itself."""

from typing import Any

from holter.importing.imported_run import ImportedRun


class Gathered:
    """Holds the row that is not whole yet; `write` at the end writes it."""

    def __init__(self, run: ImportedRun) -> None:
        self._run = run
        self._values: dict[str, Any] = {}
        self._step = self._at_ns = 0

    def add(self, key: str, value: Any, *, step: int, at_ns: int) -> None:  # noqa: ANN401  whatever `log()` takes
        """Take a value; the row that it does not belong to is written."""
        if step != self._step or key in self._values:
            self.write()
        self._step, self._at_ns = step, at_ns
        self._values[key] = value

    def write(self) -> None:
        """Write what there is."""
        if self._values:
            self._run.log(self._values, self._step, self._at_ns)
            self._values = {}
