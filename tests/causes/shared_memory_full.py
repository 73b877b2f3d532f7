"""What is, and what is not, `shared-memory-full`."""

from holter.model.evidence import Disk, Surroundings
from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, failed, said, signalled


def _shm(free: int) -> Surroundings:
    return Surroundings(disks=(Disk(path="/dev/shm", what="shared memory", free_bytes=free, total_bytes=2**26),))


_MAPPED = caught(
    7,
    code=2,
    address=0x7F00_0000_1000,
    stack_pointer=0x7FFD_0000,
    mapping="7f0000000000-7f0004000000 rw-s 0 00:1a 5 /dev/shm/torch_812",
)

_FILE = caught(7, code=2, address=0x7F00, stack_pointer=0x7FFD, mapping="7f00-7fff r--s 0 08:01 5 /data/train.bin")

_TORCH = "unable to allocate shared memory(shm) for file </torch_812_1>: No space left on device (28)"

_TOO_MANY = "unable to open shared memory object </torch_812_1> in read-write mode: Too many open files (24)"

EXAMPLES = [
    Example(evidence(signalled(7, signals=(_MAPPED,)), surroundings=_shm(0)), fires=True),
    Example(evidence(failed("RuntimeError", _TORCH), facts={"packages": {"torch": "2.13.0"}}), fires=True),
    Example(evidence(failed("OSError", "[Errno 28] No space left on device: '/dev/shm/psm_1'")), fires=True),
    Example(evidence(signalled(7), surroundings=_shm(4096), said=(said("Bus error"),)), fires=True),
    Example(evidence(signalled(7, signals=(_FILE,)), surroundings=_shm(2**25)), fires=False),
    Example(evidence(signalled(7, signals=(_MAPPED,)), surroundings=_shm(2**25)), fires=True),
    Example(evidence(signalled(7, signals=(caught(7, sender_pid=5),)), surroundings=_shm(0)), fires=False),
    Example(evidence(exited(1), surroundings=_shm(0)), fires=False),
    # Each tensor is a file of its own there, and those were too many.
    Example(evidence(failed("RuntimeError", _TOO_MANY)), fires=False),
]
