"""What is, and what is not, `gpu-out-of-memory`."""

from holter.model.evidence import Holder, Surroundings
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, gone, said

_TORCH = (
    "CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1.00 GiB is"
    " free. Process 400 has 110.60 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and"
    " 8.20 GiB is reserved by PyTorch but unallocated."
)

_JAX = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes with allocator GPU_0_bfc on device 0"
)

_TF = "OOM when allocating tensor with shape[64,4096,4096] on /job:localhost/replica:0/task:0/device:GPU:0"

_CPU = "OOM when allocating tensor with shape[64,4096,4096] on /job:localhost/replica:0/task:0/device:CPU:0"

_HOLDERS = (Holder(pid=400, name="python serve.py", rss_bytes=118_000_000_000, gpu=True),)

EXAMPLES = [
    # Nobody read its exit code, and it had said with which one it left.
    Example(
        evidence(
            gone(finished=Finished(at_ns=before(0.1), how="atexit", exit_code=1)),
            said=(said("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),),
        ),
        fires=True,
    ),
    Example(
        evidence(
            failed("torch.OutOfMemoryError", _TORCH), config={"batch_size": 256}, facts={"packages": {"torch": "2"}}
        ),
        fires=True,
    ),
    Example(
        evidence(failed("torch.OutOfMemoryError", _TORCH), surroundings=Surroundings(gpu_holders=_HOLDERS)), fires=True
    ),
    Example(evidence(failed("jaxlib._jax.JaxRuntimeError", _JAX), facts={"packages": {"jax": "0.11"}}), fires=True),
    Example(
        evidence(failed("tensorflow.ResourceExhaustedError", _TF), facts={"packages": {"tensorflow": "2.20"}}),
        fires=True,
    ),
    Example(evidence(failed("RuntimeError", "CUDA error: out of memory")), fires=True),
    Example(evidence(failed("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x")), fires=True),
    Example(
        evidence(failed("RuntimeError", "CUDA out of memory", statement='raise RuntimeError("CUDA out of memory")')),
        fires=False,
    ),
    Example(evidence(failed("tensorflow.ResourceExhaustedError", _CPU)), fires=False),
    Example(
        evidence(exited(1), said=(said("CUDA out of memory, trying a smaller batch", before_s=3000),)), fires=False
    ),
    Example(evidence(exited(0), said=(said("CUDA out of memory", before_s=1),)), fires=False),
    Example(evidence(failed("MemoryError", "")), fires=False),
]
