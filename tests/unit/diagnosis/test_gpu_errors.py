"""What PyTorch 2.11 says of CUDA's errors, word for word: the same two lines follow each of them."""

import pytest

from holter.diagnosis.ranking import diagnose
from holter.model.evidence import End, Evidence, GpuEvents
from tests.causes.specimens import before, evidence, failed, raised

EVERY = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
ORDINAL = f"CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n{EVERY}"
INITIALIZATION = (
    "CUDA error: initialization error\nSearch for `cudaErrorInitializationError' in "
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n" + EVERY
)
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    "start method"
)
ASSERT = f"CUDA error: device-side assert triggered\n{EVERY}"
ONE_GPU: dict[str, object] = {"gpus": {"devices": [{"name": "NVIDIA H200"}]}}
ERROR = "torch.AcceleratorError"


def in_a_loader(kind: str, message: str) -> End:
    """The exception of a data loader's worker as its parent raises it again."""
    told = (
        f"Caught {kind.rpartition('.')[2]} in DataLoader worker process 0.\nOriginal Traceback (most recent call last):"
        f'\n  File "/home/ada/train.py", line 13, in __getitem__\n{kind}: {message}\n'
    )
    return failed(kind, told, statement="data.reraise()")


def seen(end: End) -> Evidence:
    return evidence(end, facts=ONE_GPU, gpu=GpuEvents())


def test_a_gpu_that_is_not_there_is_the_programs_mistake_and_no_device_assert() -> None:
    found = diagnose(seen(failed(ERROR, ORDINAL)))
    assert (found.cause, found.grade) == ("uncaught-exception", "named")
    assert "the program asks for a GPU that it can't see" in found.title
    assert "1 GPU" in found.advice[0]
    assert "CUDA_VISIBLE_DEVICES" in found.advice[0]


def test_it_is_told_without_the_number_of_gpus_where_nobody_counted_them() -> None:
    found = diagnose(evidence(failed(ERROR, ORDINAL)))
    assert found.cause == "uncaught-exception"
    assert "CUDA_VISIBLE_DEVICES" in found.advice[0]


@pytest.mark.parametrize(
    "end",
    [
        failed("RuntimeError", FORKED),
        in_a_loader("RuntimeError", FORKED),
        in_a_loader(ERROR, INITIALIZATION),
        failed(ERROR, INITIALIZATION, raised=raised(ERROR, INITIALIZATION, where="child")),
    ],
)
def test_cuda_after_a_fork_is_told_as_that(end: End) -> None:
    found = diagnose(seen(end))
    assert found.cause == "uncaught-exception"
    assert "a forked worker can't use the GPU that its parent already uses" in found.title
    assert "spawn" in found.advice[0]


def test_a_gpu_that_can_not_be_initialised_in_the_program_itself_is_no_fork() -> None:
    found = diagnose(seen(failed(ERROR, INITIALIZATION)))
    assert found.cause == "uncaught-exception"
    assert "fork" not in found.title


@pytest.mark.parametrize(
    "end",
    [
        failed(ERROR, ASSERT),
        in_a_loader(ERROR, ASSERT),
        failed("RuntimeError", "CUDA device-side assertion failures were found on GPU #0!"),
        failed(ERROR, f"CUDA error: an illegal memory access was encountered\n{EVERY}"),
    ],
)
def test_a_device_assert_stays_one(end: End) -> None:
    assert diagnose(seen(end)).cause == "gpu-program-fault"


def test_a_worker_that_asks_for_a_gpu_that_is_not_there_is_told_the_same() -> None:
    died = End(
        pid=900,
        role="child",
        name="Process-1",
        source="multiprocessing",
        status=1 << 8,
        at_ns=before(1),
        raised=raised(ERROR, ORDINAL, where="child", at_ns=before(1.1)),
    )
    told = failed("RuntimeError", "worker failed with exit code 1", statement='raise RuntimeError("worker failed")')
    found = diagnose(evidence(told, children=(died,), facts=ONE_GPU, gpu=GpuEvents()))
    assert found.cause == "uncaught-exception"
    assert "the program asks for a GPU that it can't see" in found.title
