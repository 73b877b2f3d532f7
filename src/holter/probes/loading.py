"""Opens every source in the folder `live`."""

import importlib

from holter.lean import modules_in
from holter.probes import live
from holter.probes.probe import Probe, Target


class Unopened:
    """Stands in for a source that failed to open, so that it is reported like any probe that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def sample(self, target: Target) -> dict[str, float | int]:
        """Raise what opening raised."""
        raise self._error

    def close(self) -> None:
        """Do nothing."""


def load_probes() -> dict[str, Probe]:
    """Return an open probe by name for each source that this machine has; the caller closes them."""
    opened = {name: _open(name) for name in modules_in(live)}
    return {name: probe for name, probe in opened.items() if probe is not None}


def _open(name: str) -> Probe | None:
    try:
        probe: Probe | None = importlib.import_module(f"{live.__name__}.{name}").open_probe()
    except Exception as error:  # noqa: BLE001  one source that fails to open must not cost the others
        return Unopened(error)
    return probe
