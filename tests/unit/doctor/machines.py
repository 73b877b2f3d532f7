"""A healthy machine of two GPUs, as facts: seeded faults change one of them."""

from holter.doctor.amounts import GIB
from holter.doctor.machine import (
    Environment,
    Gpu,
    Gpus,
    Host,
    Limits,
    Machine,
    Package,
    Place,
    SharedMemory,
)

SITE = "/env/lib/python3.11/site-packages"


def package(name: str, version: str, **others: str) -> Package:
    return Package(name=name, version=version, folder=others.pop("folder", SITE), **others)  # type: ignore[arg-type]  # texts only


def gpu(number: int = 0, **others: object) -> Gpu:
    fields: dict[str, object] = {
        "name": "NVIDIA H200",
        "uuid": f"GPU-{number}1111111-2222",
        "capability": (9, 0),
        "memory_total_bytes": 140 * GIB,
        "memory_used_bytes": GIB,
    }
    return Gpu(**{**fields, **others})  # type: ignore[arg-type]  # what the tests change


def environment(**others: object) -> Environment:
    packages = (
        Package(name="torch", version="2.8.0", folder=SITE, needs=("nvidia-cudnn-cu12==9.10.2.21",)),
        package("torchvision", "0.23.0"),
        package("nvidia-cudnn-cu12", "9.10.2.21"),
        package("nvidia-nccl-cu12", "2.27.3"),
        package("numpy", "2.2.0", glibc="2.17"),
    )
    fields: dict[str, object] = {
        "executable": "/env/bin/python",
        "prefix": "/env",
        "python": "3.11.9",
        "packages": packages,
        "torch_cuda": "12.8",
        "libstdcxx": "6.0.33",
    }
    return Environment(**{**fields, **others})  # type: ignore[arg-type]  # what the tests change


def place(purpose: str = "checkpoints", **others: object) -> Place:
    fields: dict[str, object] = {
        "purpose": purpose,
        "path": "/data/checkpoints",
        "file_system": "ext4",
        "total_bytes": 1000 * GIB,
        "free_bytes": 500 * GIB,
        "inodes": 10**8,
        "free_inodes": 10**7,
    }
    return Place(**{**fields, **others})  # type: ignore[arg-type]  # what the tests change


HOST = Host(
    linux="6.8.0",
    glibc="2.39",
    cpus=64,
    memory_total_bytes=512 * GIB,
    memory_available_bytes=400 * GIB,
    swap_total_bytes=8 * GIB,
    swap_free_bytes=8 * GIB,
    overcommit=0,
    now_s=1.8e9,
    newest_file_s=1.79e9,
)
ULIMITS = {
    "open_files": (1024, 524288),
    "processes": (None, None),
    "address_space": (None, None),
    "file_size": (None, None),
    "cpu_time": (None, None),
    "stack_size": (8 << 20, None),
}
HEALTHY = Machine(
    host=HOST,
    limits=Limits(memory_bytes=256 * GIB, memory_used_bytes=20 * GIB, ulimits=dict(ULIMITS)),
    gpus=Gpus(driver="580.65.06", loaded_driver="580.65.06", devices=(gpu(0), gpu(1))),
    environment=environment(),
    places=(place(), place("runs"), place("temporary files")),
    shared_memory=SharedMemory(total_bytes=256 * GIB, free_bytes=250 * GIB),
)
