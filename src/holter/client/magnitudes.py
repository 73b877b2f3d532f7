"""How large the values of tensors are: counted on the device, in parts that are the same at every step.

Parts that depend on the values would have to be asked of the device first, and that waits for it.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

from holter.model.clock import Clock
from holter.model.media_records import HistogramLogged

BINS = 64
LOWEST = -40
"""The lowest part begins at 2 to the power of this, and has zero in it too; each is twice as far up as the last."""
MOST_COUNTED = 1 << 16
_DECADES = math.log10(2)


def counted(tensors: Sequence[Any]) -> Any:
    """A row for each tensor with how many of its values lie in each part; of very many values a share of them."""
    return sys.modules["torch"].stack([_counts(each) for each in tensors])


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


def _counts(tensor: Any) -> Any:
    # In the order in which it lies there, for which no copy is made.
    flat = tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True)).reshape(-1)
    # An odd distance, so that it does not always meet the same column.
    values = flat[:: -(-flat.numel() // MOST_COUNTED) | 1]
    powers = values.abs().float().log2().clamp_min(LOWEST)  # NaN and Inf lie outside, and are left out
    return sys.modules["torch"].histc(powers, bins=BINS, min=LOWEST, max=LOWEST + BINS)
