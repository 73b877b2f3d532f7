"""Which write holds where several went to one step. Pure."""

import msgspec
import numpy as np

from holter.storage.series import Floats, Ints


class Writes(msgspec.Struct, frozen=True, eq=False):
    """Writes to one or more series that share their steps; `values` has a line for each series.

    `journals` has a number for each write; `names` says which journal a number stands for.
    """

    steps: Ints
    at_ns: Ints
    offsets: Ints
    journals: Ints
    values: Floats
    names: tuple[str, ...]

    def take(self, places: "Ints | slice") -> "Writes":
        """Some of the writes, in the order of the places."""
        return Writes(
            self.steps[places],
            self.at_ns[places],
            self.offsets[places],
            self.journals[places],
            self.values[:, places],
            self.names,
        )

    def lines(self, numbers: list[int]) -> "Writes":
        """The writes to some of the series."""
        return msgspec.structs.replace(self, values=self.values[numbers])


def concatenate(parts: list[Writes]) -> Writes:
    """Writes to the same series from several sources; which numbers mean which journals may differ between them."""
    if len(parts) == 1:
        return parts[0]
    names = tuple(sorted({name for part in parts for name in part.names}))
    renumbered = [np.array([names.index(name) for name in part.names], np.int64)[part.journals] for part in parts]
    return Writes(
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.at_ns for part in parts]),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate(renumbered),
        np.concatenate([part.values for part in parts], axis=1),
        names,
    )


def settle_writes(writes: Writes) -> Writes:
    """One write for each step, in the order of steps: the last one by (time, journal, offset)."""
    steps = writes.steps
    if (steps[1:] > steps[:-1]).all():
        return writes
    order_of_names = np.argsort(np.argsort(np.array(writes.names)))
    order = np.lexsort((writes.offsets, order_of_names[writes.journals], writes.at_ns, steps))
    ordered = steps[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    return writes.take(order[is_last])
