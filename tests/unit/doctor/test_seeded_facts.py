"""Faults seeded as facts: what no test can do to the machine it runs on. The real ones are in"
" tests/e2e/test_doctor.py."""

from typing import Any

import msgspec
import pytest

from holter.doctor.amounts import GIB, MIB
from holter.doctor.finding import examine_machine
from holter.doctor.machine import Gpus, Holder, Library, Limits, Machine, SharedMemory, Worker
from holter.model.quota import Quota
from tests.unit.doctor.machines import HEALTHY, HOST, SITE, ULIMITS, environment, gpu, package, place

QUOTA = Quota(path="/data", total_bytes=50e9, free_bytes=300e6)
FILES = Quota(path="/data", group="vision", free_inodes=7)


def with_(**changes: Any) -> Machine:
    return msgspec.structs.replace(HEALTHY, **changes)


def host(**changes: Any) -> Machine:
    return with_(host=msgspec.structs.replace(HOST, **changes))


def limits(**changes: Any) -> Machine:
    return with_(limits=msgspec.structs.replace(HEALTHY.limits, **changes))


def ulimit(name: str, soft: int) -> Machine:
    return limits(ulimits={**ULIMITS, name: (soft, None)})


def gpus(*devices: Any, **others: Any) -> Gpus:
    return Gpus(**{"driver": "580.65.06", "devices": devices, **others})


def packages(*pairs: str, **others: Any) -> Machine:
    found = tuple(package(*pair.split("==")) for pair in pairs)
    return with_(environment=environment(packages=found, torch_cuda=others.pop("torch_cuda", None)), **others)


def visible(value: str, *devices: Any, **variables: str) -> Machine:
    seen = environment(variables={"CUDA_VISIBLE_DEVICES": value, **variables})
    return with_(environment=seen, gpus=gpus(*(devices or HEALTHY.gpus.devices)))


OLD_CUDNN = Library(name="libcudnn.so", path="/usr/lib/libcudnn.so.8", version="8.9.2")
OLD_STDCXX = Library(name="libstdc++.so", path="/opt/libstdc++.so.6", version="6.0.21")
TAKEN = gpu(memory_used_bytes=90 * GIB, holders=(Holder(pid=4711, command="python", user="ada", used_bytes=88 * GIB),))

SEEDED = {
    "a driver too old for torch's CUDA": (
        with_(gpus=gpus(gpu(), driver="470.57.02")),
        "known-conflict",
        "nvidia-driver 470.57.02",
    ),
    "a GPU too new for torch's CUDA": (
        with_(gpus=gpus(gpu(capability=(12, 0))), environment=environment(torch_cuda="12.1")),
        "known-conflict",
        "gpu-highest 12.0",
    ),
    "a GPU too old for torch's CUDA": (
        with_(gpus=gpus(gpu(capability=(7, 0))), environment=environment(torch_cuda="13.0")),
        "known-conflict",
        "gpu-lowest 7.0",
    ),
    "numpy 2 under an old torch": (packages("torch==2.1.2", "numpy==2.0.1"), "known-conflict", "torch 2.1.2"),
    "numpy 2 under an old TensorFlow": (packages("tensorflow==2.15.0", "numpy==2.0.1"), "known-conflict", "tensorflow"),
    "a torchvision of another torch": (packages("torch==2.4.0", "torchvision==0.18.0"), "known-conflict", "0.18.0"),
    "a jaxlib newer than jax": (packages("jax==0.4.20", "jaxlib==0.4.31"), "known-conflict", "jaxlib 0.4.31"),
    "another cuDNN than torch's": (
        with_(
            environment=environment(
                packages=(HEALTHY.environment.packages[0], package("nvidia-cudnn-cu12", "9.1.0.70"))
            )
        ),
        "pinned-library",
        "9.1.0.70",
    ),
    "a GPU that is not there": (visible("2"), "cuda-visible-devices", "'2' is none of the 2 GPUs"),
    "a GPU by a wrong name": (visible("cuda:0"), "cuda-visible-devices", "cuda:0"),
    "a GPU named twice": (visible("0,0"), "cuda-visible-devices", "twice"),
    "no GPU named": (visible(""), "cuda-visible-devices", "empty"),
    "numbers in another order": (
        visible("1", gpu(), gpu(1, name="NVIDIA T4")),
        "cuda-visible-devices",
        "of different kinds",
    ),
    "a GPU that somebody is on": (with_(gpus=gpus(TAKEN, gpu(1))), "gpu-taken", "process 4711 (python of ada)"),
    "a GPU with memory of nobody": (
        with_(gpus=gpus(gpu(memory_used_bytes=70 * GIB))),
        "gpu-taken",
        "can't be seen from here",
    ),
    "a GPU that lets nobody in": (with_(gpus=gpus(gpu(compute_mode=2))), "gpu-unusable", "prohibited"),
    "a GPU with broken memory": (with_(gpus=gpus(gpu(needs_reset=True))), "gpu-unusable", "reset"),
    "a GPU with memory errors": (with_(gpus=gpus(gpu(uncorrected_errors=3))), "gpu-unusable", "3 memory errors"),
    "a driver that was updated": (
        with_(gpus=Gpus(loaded_driver="535.54", trouble="Driver/library version mismatch")),
        "gpu-driver",
        "mismatch",
    ),
    "a torch without CUDA": (
        with_(environment=environment(torch_cuda=None, has_cpu_torch=True)),
        "cpu-torch",
        "without CUDA",
    ),
    "a limit that is nearly reached": (
        limits(memory_bytes=16 * GIB, memory_used_bytes=16 * GIB - 100 * MIB),
        "memory-limit",
        "105 MB are left",
    ),
    "a small container on a large host": (
        limits(memory_bytes=2 * GIB, memory_used_bytes=GIB),
        "memory-limit",
        "`free`, psutil",
    ),
    "a machine without memory": (host(memory_available_bytes=200 * MIB), "memory-limit", "on this machine"),
    "few cores of many": (limits(cpus=2.0), "cpu-limit", "2 of 64 cores"),
    "Docker's /dev/shm": (
        with_(shared_memory=SharedMemory(total_bytes=64 * MIB, free_bytes=64 * MIB)),
        "shared-memory",
        "67.1 MB",
    ),
    "a full /dev/shm": (
        with_(shared_memory=SharedMemory(total_bytes=8 * GIB, free_bytes=MIB, left_bytes=7 * GIB, left_files=12)),
        "shared-memory",
        "12 files are of programs that are gone",
    ),
    "few processes in a container": (limits(processes=512, processes_used=500), "ulimits", "12 more processes"),
    "swap that is used": (host(swap_free_bytes=GIB), "swap", "of swap are used"),
    "strict overcommit": (
        host(overcommit=2, commit_limit_bytes=100 * GIB, committed_bytes=98 * GIB),
        "overcommit",
        "2.1 GB are left",
    ),
    "a full disk": (with_(places=(place(free_bytes=GIB // 2),)), "disk", "537 MB are left"),
    "no more quota": (with_(places=(place(quotas=(QUOTA,)),)), "disk", "300 MB are left of your quota on /data"),
    "no more of a group's": (with_(places=(place(quotas=(FILES,)),)), "disk", "group vision on /data allows 7 more"),
    "no more inodes": (with_(places=(place(free_inodes=7),)), "disk", "7 more files"),
    "a read-only disk": (with_(places=(place(trouble="the file system is read-only"),)), "disk", "read-only"),
    "a clock in the past": (host(now_s=1.0e9), "clock", "2001-09-09"),
    "packages for a newer system": (
        with_(host=msgspec.structs.replace(HOST, glibc="2.17"), environment=environment(packages=(
            package("vllm", "0.9.0", glibc="2.31"),
        ))),
        "glibc",
        "vllm (2.31)",
    ),
    "another cuDNN in the library path": (
        with_(environment=environment(overriding=(OLD_CUDNN,))),
        "library-path",
        "nvidia-cudnn-cu12 9.10.2.21",
    ),
    "an old C++ library in the path": (
        with_(environment=environment(overriding=(OLD_STDCXX,))),
        "library-path",
        "older than the system's own (6.0.33)",
    ),
    "two OpenMP runtimes": (
        with_(environment=environment(openmp=(
            Library(name="libiomp5", path="/a/libiomp5.so"),
            Library(name="libomp", path="/b/libomp.so"),
        ))),
        "openmp",
        "/b/libomp.so",
    ),
    "workers that get too much": (
        with_(workers=(Worker(name="dataset", method="spawn", workers=32, pickled_bytes=40 * GIB),)),
        "workers",
        "32 workers get a copy each",
    ),
}  # fmt: skip


def test_a_healthy_machine_is_silent() -> None:
    assert examine_machine(HEALTHY) == []


def test_nobody_could_look_is_no_fault() -> None:
    assert examine_machine(Machine()) == []


@pytest.mark.parametrize("fault", SEEDED)
def test_a_seeded_fault_is_found_and_nothing_else(fault: str) -> None:
    machine, wanted, said = SEEDED[fault]
    found = examine_machine(machine)
    assert {each.id for each in found} == {wanted}
    assert said in " ".join(each.what for each in found)
    assert all(each.why and each.fix for each in found)


@pytest.mark.parametrize(
    ("name", "soft"),
    [("open_files", 256), ("address_space", GIB), ("file_size", GIB), ("cpu_time", 3600), ("stack_size", 65536)],
)
def test_each_ulimit_that_bites_is_found(name: str, soft: int) -> None:
    assert [each.id for each in examine_machine(ulimit(name, soft))] == ["ulimits"]


def test_gpus_that_are_not_visible_are_nobody_s_business() -> None:
    machine = visible("1", TAKEN, gpu(1))
    assert examine_machine(machine) == []


def test_a_free_gpu_is_recommended() -> None:
    [found] = examine_machine(with_(gpus=gpus(TAKEN, gpu(1))))
    assert found.fix == "CUDA_VISIBLE_DEVICES=1"


def test_own_memory_on_a_gpu_is_nobody_else_s() -> None:
    own = gpu(memory_used_bytes=90 * GIB, holders=(Holder(pid=1, used_bytes=89 * GIB, is_ours=True),))
    assert examine_machine(with_(gpus=gpus(own))) == []


def test_a_uuid_may_be_shortened_and_stands_for_one_gpu() -> None:
    assert examine_machine(visible("GPU-1111")) == []
    assert [each.id for each in examine_machine(visible("GPU-"))] == ["cuda-visible-devices"]


def test_forked_workers_get_nothing_pickled() -> None:
    worker = Worker(name="dataset", method="fork", workers=32, pickled_bytes=400 * GIB, trouble="a lambda")
    assert examine_machine(with_(workers=(worker,))) == []


def test_the_same_library_in_the_path_is_no_fault() -> None:
    same = Library(name="libcudnn.so", path=f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", version="9.10.2")
    assert examine_machine(with_(environment=environment(overriding=(same,)))) == []


def test_a_limit_without_a_known_use_is_no_fault() -> None:
    assert examine_machine(with_(limits=Limits(memory_bytes=200 * GIB))) == []
