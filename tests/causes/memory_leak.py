"""What is, and what is not, `memory-leak`."""

from holter.model.evidence import Memory, MemoryLevel
from tests.causes.example import Example
from tests.causes.specimens import evidence, failed, signalled

_FULL = (MemoryLevel(level=0, limit_bytes=8 * 2**30, usage_bytes=7.9 * 2**30, kills=1),)

_SLOW = Memory(levels=_FULL, own_bytes=7.8 * 2**30, growth_bytes_per_s=9e6, growth_s=700)

_BURST = Memory(levels=_FULL, own_bytes=7.8 * 2**30, growth_bytes_per_s=2e9, growth_s=3)

_ROOM = Memory(
    own_bytes=2**30, growth_bytes_per_s=1e6, growth_s=900, total_bytes=64 * 2**30, available_bytes=50 * 2**30
)

EXAMPLES = [
    Example(evidence(signalled(9, last_step=4100), memory=_SLOW), fires=True),
    Example(evidence(signalled(9), memory=_SLOW, facts={"packages": {"tensorflow": "2.20"}}), fires=True),
    # One large allocation.
    Example(evidence(signalled(9), memory=_BURST), fires=False),
    # It grew, and died of something else.
    Example(evidence(failed("ValueError", "bad label"), memory=_ROOM), fires=False),
]
