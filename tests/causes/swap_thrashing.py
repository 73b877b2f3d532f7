"""What is, and what is not, `swap-thrashing`."""

from holter.model.evidence import Memory
from tests.causes.example import Example
from tests.causes.specimens import evidence, exited, signalled

_BUSY = Memory(
    full_pressure_percent=48,
    swap_out_bytes_per_s=80e6,
    major_faults_per_s=4000,
    swap_total_bytes=8e9,
    swap_free_bytes=1e8,
)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_BUSY), fires=True),
    # Data that is read through a memory map faults, too.
    Example(evidence(exited(1), memory=Memory(major_faults_per_s=9000, full_pressure_percent=0.3)), fires=False),
    Example(evidence(signalled(9)), fires=False),
]
