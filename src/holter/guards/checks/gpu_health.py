"""A GPU is too hot, slowed down, makes memory errors or is gone.

Warns of 87 °C, of clocks that the driver keeps low for half a minute because of heat or a power brake (a power cap
alone is normal), of uncorrected memory errors, and of a GPU that the driver has lost.
"""

from collections.abc import Iterator

from holter.guards.lasting import Lasting
from holter.guards.limits import Limits
from holter.guards.pools import GPUS
from holter.guards.seen import Caution, Seen

REASONS = {0x8: "the hardware slows it down", 0x20: "heat", 0x40: "heat (hardware)", 0x80: "the power supply's brake"}
COOL = ("look at the machine's cooling; a lower power limit (nvidia-smi -pl) costs less than throttling",)
BROKEN = ("save a checkpoint and move to another machine; tell whoever runs this one",)


class Check:
    """Follows each GPU."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lasting = Lasting()
        self._errors: dict[int, float] = {}

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What is wrong with any GPU now."""
        for index in GPUS:
            name = f"system/gpu/{index}"
            if f"{name}/temperature_celsius" not in seen.row:
                return
            if seen.last(f"{name}/tree_memory_bytes") != 0:
                yield from self._look_at(index, seen)

    def _look_at(self, index: int, seen: Seen) -> Iterator[Caution]:
        name, gpu = f"system/gpu/{index}", f"GPU {index}"
        if seen.last(f"{name}/is_lost") == 1:
            yield Caution(subject=f"{gpu} lost", text=f"the driver has lost {gpu}", advice=BROKEN)
        errors = seen.last(f"{name}/ecc_uncorrected")
        before = self._errors.setdefault(index, errors)
        if errors > before:
            text = f"{gpu} had {errors - before:.0f} uncorrected memory errors since the run began"
            yield Caution(subject=f"{gpu} memory", text=text, advice=BROKEN)
        celsius = seen.last(f"{name}/temperature_celsius")
        is_hot = celsius >= self._limits.gpu_hot_celsius
        if self._lasting.hold(f"{gpu} hot", seen.now_s, is_so=is_hot) >= self._limits.gpu_throttled_s:
            yield Caution(subject=f"{gpu} heat", text=f"{gpu} is at {celsius:.0f} °C", advice=COOL)
        bits = seen.last(f"{name}/clocks_event_reasons")
        found = [word for bit, word in REASONS.items() if bits == bits and int(bits) & bit]
        if self._lasting.hold(f"{gpu} slow", seen.now_s, is_so=bool(found)) >= self._limits.gpu_throttled_s:
            yield Caution(subject=f"{gpu} clocks", text=f"{gpu} runs slower: {', '.join(found)}", advice=COOL)


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
