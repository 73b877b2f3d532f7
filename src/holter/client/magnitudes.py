"""How large the values of tensors are: counted on the device, in parts that are the same at every step.

Parts that depend on the values would have to be asked of the device first, and that waits for it.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from holter.model.clock import Clock
from holter.model.media_records import HistogramLogged

BINS = 64
LOWEST = -40
"""The lowest part begins at 2 to the power of this, and has zero in it too; each is twice as far up as the last."""
MOST_COUNTED = 1 << 16
TINY = 6e-8
"""What is nearer to zero is nothing in half precision."""
_DECADES = math.log10(2)


class Shares(NamedTuple):
    """Some values of each of several tensors, all in a row: what a GPU takes long for are many small calls."""

    values: Any
    sizes: list[int]

    def counted(self) -> Any:
        """A row for each tensor with how many of its values lie in each part."""
        torch = sys.modules["torch"]
        powers = self.values.abs().float().log2_().clamp_min_(LOWEST)  # NaN and Inf lie outside, and are left out
        parts = powers.split(self.sizes)
        return torch.stack([torch.histc(each, bins=BINS, min=LOWEST, max=LOWEST + BINS) for each in parts])

    def underflow(self) -> Any:
        """Of each tensor the share of values that are nothing in half precision."""
        torch = sys.modules["torch"]
        parts = ((self.values != 0) & (self.values.abs() < TINY)).float().split(self.sizes)
        return torch.stack([each.mean() for each in parts])


def shares_of(tensors: Sequence[Any]) -> Shares:
    """All values of each tensor of one device and type; of very many an even share."""
    shares = [_share(each) for each in tensors]
    return Shares(sys.modules["torch"].cat(shares), [len(each) for each in shares])


def are_allowed(tensor: Any) -> bool:
    """Whether they may be counted: on a GPU torch refuses that where everything has to be deterministic."""
    return not (tensor.is_cuda and sys.modules["torch"].are_deterministic_algorithms_enabled())


def told(key: str, counts: Sequence[float], *, step: int, clock: Clock) -> HistogramLogged | None:
    """As it is kept: the powers of ten between which there is something; None where there is nothing.

    What is zero, or next to it, is left out as long as anything else is there: rows of an embedding that a batch did
    not need would be most of the picture. Where all are, the layer is dead, and that is seen.
    """
    used = [place for place, count in enumerate(counts) if count > 0]
    used = used[1:] if used[:1] == [0] and len(used) > 1 else used
    if not used:
        return None
    first, last = used[0], used[-1] + 1
    return HistogramLogged(
        at_ns=clock.now_ns(),
        step=step,
        key=key,
        counts=tuple(int(count) for count in counts[first:last]),
        low=(LOWEST + first) * _DECADES,
        high=(LOWEST + last) * _DECADES,
    )


def _share(tensor: Any) -> Any:
    # In the order in which it lies there, for which no copy is made.
    flat = tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True)).reshape(-1)
    # An odd distance, so that it does not always meet the same column.
    return flat[:: -(-flat.numel() // MOST_COUNTED) | 1]
