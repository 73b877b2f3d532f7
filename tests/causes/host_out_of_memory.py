"""What is, and what is not, `host-out-of-memory`."""

from holter.model.evidence import Holder, KernelLog, Memory, MemoryLevel, OomKill
from tests.causes.example import Example
from tests.causes.specimens import END_NS, PID, before, evidence, signalled

_GIB = 2**30

_FULL = Memory(
    sampled_ns=before(0.5),
    levels=(MemoryLevel(level=0, kills=1),),
    total_bytes=64.0 * _GIB,
    available_bytes=0.2 * _GIB,
    host_kills=1,
    own_bytes=20.0 * _GIB,
    holders=(
        Holder(pid=77, name="jupyter-lab", rss_bytes=40 * _GIB),
        Holder(pid=PID, name="python", rss_bytes=20 * _GIB, is_ours=True),
    ),
)

_REPORT = OomKill(at_ns=END_NS, pid=PID, name="python", constraint="CONSTRAINT_NONE", anon_bytes=20 * _GIB)

_ROOMY = Memory(levels=(MemoryLevel(level=0, kills=0),), host_kills=1, available_bytes=50e9, total_bytes=64e9)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_FULL), fires=True),
    Example(evidence(signalled(9), kernel_log=KernelLog(kills=(_REPORT,))), fires=True),
    Example(evidence(signalled(9), memory=Memory(host_kills=1, available_bytes=1e8, total_bytes=64e9)), fires=True),
    # Something else was killed for memory in the same second, in a cgroup of its own.
    Example(evidence(signalled(9), memory=_ROOMY), fires=False),
    Example(evidence(signalled(9), memory=Memory(host_kills=0, available_bytes=1e8, total_bytes=64e9)), fires=False),
    Example(evidence(signalled(11), memory=_FULL), fires=False),
]
