"""What is, and what is not, `gpu-shared`."""

from holter.model.evidence import Holder, Surroundings
from tests.causes.example import Example
from tests.causes.specimens import evidence, failed

_OOM = failed(
    "torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB"
)

_OTHER = Holder(pid=77, name="python", rss_bytes=60 * 2**30, gpu=True)

_OWN = Holder(pid=812, name="python", rss_bytes=70 * 2**30, gpu=True, is_ours=True)

_TOLD_OOM = failed("torch.OutOfMemoryError", "CUDA out of memory. Process 400 has 110.60 GiB memory in use.")

EXAMPLES = [
    Example(evidence(_OOM, surroundings=Surroundings(gpu_holders=(_OTHER, _OWN))), fires=True),
    Example(evidence(_TOLD_OOM), fires=True),
    Example(evidence(_OOM, surroundings=Surroundings(gpu_holders=(_OWN,))), fires=False),
    Example(evidence(failed("ValueError", "bad"), surroundings=Surroundings(gpu_holders=(_OTHER,))), fires=False),
]
