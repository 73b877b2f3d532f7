"""Looks at the host once a second through all probes, whatever happens to one of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from holter.probes.loading import load_probes
from holter.probes.probe import NAN, Probe, Target
from holter.probes.tree import FindTree, open_tree

if TYPE_CHECKING:
    from holter.model.quota import Quota
    from holter.probes.live.process import Reading


class Sampler:
    """Owns the probes; used by one thread, closed by whoever made it."""

    def __init__(self, probes: Mapping[str, Probe], find_tree: FindTree) -> None:
        self.failures: dict[str, str] = {}
        """The first failure of each probe by its name; a probe that failed is tried again at the next tick."""
        self.tree: tuple[int, ...] = ()
        """The processes of the last sample: the roots and all their descendants."""
        self._probes = probes
        self._find_tree = find_tree
        self._keys: dict[str, dict[str, str]] = {}

    @property
    def readings(self) -> "Mapping[int, Reading]":
        """Each process of the last sample by itself; empty where there is no /proc."""
        return getattr(self._probes.get("process"), "readings", {})

    @property
    def quotas(self) -> "Mapping[str, tuple[Quota, ...]]":
        """Of each place of the last sample that has one."""
        return getattr(self._probes.get("disk"), "quotas", {})

    def sample(self, roots: Sequence[int], directory: str) -> dict[str, float | int]:
        """Return the values of all probes by key, such as `system/host/cpu_percent`; never raises.

        The keys of a probe that fails stay, with NaN, so that the key set is the same at every tick.
        """
        self.tree = self._tree(roots)
        target = Target(roots=tuple(roots), tree=self.tree, directory=directory)
        row: dict[str, float | int] = {}
        for name, probe in self._probes.items():
            row.update(self._sample_one(name, probe, target=target))
        return row

    def close(self) -> None:
        """Close all probes; idempotent."""
        for name, probe in self._probes.items():
            try:
                probe.close()
            except Exception as error:  # noqa: BLE001  the other probes are still to be closed
                self._remember(name, error)

    def _tree(self, roots: Sequence[int]) -> tuple[int, ...]:
        try:
            return self._find_tree(roots)
        except Exception as error:  # noqa: BLE001  the roots alone are better than nothing
            self._remember("tree", error)
            return tuple(roots)

    def _sample_one(self, name: str, probe: Probe, *, target: Target) -> dict[str, float | int]:
        keys = self._keys.setdefault(name, {})
        try:
            values = probe.sample(target)
        except Exception as error:  # noqa: BLE001  this is the place where a probe's failure stops
            self._remember(name, error)
            return dict.fromkeys(keys.values(), NAN)
        if keys.keys() != values.keys():
            keys = self._keys[name] = {key: f"system/{key}" for key in values}
        return {keys[key]: value for key, value in values.items()}

    def _remember(self, name: str, error: Exception) -> None:
        self.failures.setdefault(name, f"{type(error).__name__}: {error}")


def open_sampler() -> Sampler:
    """Return a sampler over every source that this machine has; the caller closes it."""
    return Sampler(load_probes(), open_tree())
