"""Agrees with the other ranks of a process group on the step after which all of them stop."""

import sys
from typing import Any

# Ranks that wait for each other at every step are at most one step apart.
MARGIN = 2


def distributed() -> Any:
    """`torch.distributed` where a group of several ranks is there; None elsewhere. Imports nothing."""
    module = sys.modules.get("torch.distributed")
    try:
        if module is not None and module.is_available() and module.is_initialized() and module.get_world_size() > 1:
            return module
    except Exception:  # noqa: BLE001  the boundary: another release may have other insides
        return None
    return None


def has_group() -> bool:
    """Whether this process is one rank of several."""
    return distributed() is not None


class Agreement:
    """Counts how often this rank has asked; every rank has to ask once in each step.

    Whoever wishes to stop writes the number of asking at which all do so into the group's store, where the first wish
    counts; a rank that has asked less often gets there later.
    """

    def __init__(self, run: str) -> None:
        self._key = f"holter/stop/{run}"
        self._asked = 0
        self._at: int | None = None

    def ask(self, *, wished: bool) -> bool:
        """Whether all ranks stop now. Costs a round trip to the store where there is a group."""
        self._asked += 1
        module = distributed()
        if module is None:
            return wished
        if self._at is None:
            self._at = self._look(module, wished=wished)
        return self._at is not None and self._asked >= self._at

    def _look(self, module: Any, *, wished: bool) -> int | None:
        try:
            store = module.distributed_c10d._get_default_store()
            if wished:
                return int(store.compare_set(self._key, "", str(self._asked + MARGIN)))
            return int(store.get(self._key)) if store.check([self._key]) else None
        except Exception:  # noqa: BLE001  the boundary: a store that is gone agrees on nothing
            return None
