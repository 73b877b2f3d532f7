"""What is, and what is not, `killed`."""

import signal

from holter.model.evidence import KernelLog, Memory, MemoryLevel, OomKill
from tests.causes.example import Example
from tests.causes.specimens import END_NS, PID, before, caught, evidence, exited, gone, signalled

_UNMOVED = Memory(
    levels=(MemoryLevel(level=0, path="/job_7", limit_bytes=8e9, usage_bytes=7.84e9, kills=0),), host_kills=1
)

_MOVED = Memory(levels=(MemoryLevel(level=0, limit_bytes=8e9, kills=1),), own_bytes=7.8e9)

_OUTLIVED = Memory(levels=(MemoryLevel(level=0, limit_bytes=8e9, kills=1, kills_lately=0),), own_bytes=7.8e9)

_SIBLING = OomKill(at_ns=before(2), pid=4242, name="python", constraint="CONSTRAINT_MEMCG")

_OURS = OomKill(at_ns=END_NS, pid=PID, name="python", constraint="CONSTRAINT_MEMCG")

_ASKED_FIRST = caught(15, before_s=5, sender_pid=77, is_handled=True)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_UNMOVED), fires=True),
    Example(evidence(signalled(9, signals=(_ASKED_FIRST,)), memory=_UNMOVED), fires=True),
    Example(evidence(gone(has_signal_witness=True), memory=_UNMOVED), fires=True),
    Example(evidence(signalled(11, signals=(caught(11, sender_pid=77, sender="bash: bash"),))), fires=True),
    Example(evidence(signalled(9), memory=_OUTLIVED, kernel_log=KernelLog(kills=(_SIBLING,))), fires=True),
    Example(evidence(signalled(signal.SIGXFSZ)), fires=True),
    Example(evidence(signalled(9), memory=_MOVED), fires=False),
    Example(evidence(signalled(9), kernel_log=KernelLog(kills=(_OURS,))), fires=False),
    Example(evidence(signalled(11, signals=(caught(11, code=1),))), fires=False),
    Example(evidence(exited(137)), fires=False),
    Example(evidence(gone()), fires=False),
    Example(evidence(signalled(15, signals=(caught(15, sender_pid=77),))), fires=False),
]
