"""What is, and what is not, `memory-taken-by-others`."""

import msgspec

from holter.model.evidence import Holder, Memory, MemoryLevel
from tests.causes.example import Example
from tests.causes.specimens import evidence, failed, signalled


def _memory(ours: float, theirs: float, available: float) -> Memory:
    holders = (
        Holder(pid=900, name="java", rss_bytes=int(theirs)),
        Holder(pid=812, name="python", rss_bytes=int(ours), is_ours=True),
    )
    return Memory(total_bytes=64e9, available_bytes=available, swap_free_bytes=0, own_bytes=ours, holders=holders)


_FULL = (MemoryLevel(level=0, path="/job_7", limit_bytes=8e9, usage_bytes=8e9, kills=1, kills_lately=1),)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_memory(9e9, 52e9, 3e8)), fires=True),
    Example(evidence(signalled(9), memory=_memory(60e9, 1e9, 3e8)), fires=False),
    # The run's own cgroup was full, and the large process was not in it.
    Example(
        evidence(signalled(9), memory=msgspec.structs.replace(_memory(6e9, 52e9, 40e9), levels=_FULL)), fires=False
    ),
    # There was room: whatever killed it, memory did not.
    Example(evidence(failed("ValueError", "bad label"), memory=_memory(1e9, 20e9, 40e9)), fires=False),
]
