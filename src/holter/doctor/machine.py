"""All that the checks may look at. None, NaN and empty mean that nobody could look, never that something is wrong."""

import msgspec

from holter.model.quota import Quota

VARIABLES = (
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER KMP_DUPLICATE_LIB_OK LD_LIBRARY_PATH LD_PRELOAD OMP_NUM_THREADS"
    " PYTHONNOUSERSITE PYTHONPATH TMPDIR"
).split()
"""Those that the checks look at."""
Ulimits = dict[str, tuple[int | None, int | None]]


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds memory of a GPU; what may not be read of it is empty."""

    pid: int
    used_bytes: int | None = None
    user: str = ""
    command: str = ""
    is_ours: bool = False


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU in the order of `nvidia-smi`."""

    name: str = ""
    uuid: str = ""
    capability: tuple[int, int] | None = None
    memory_total_bytes: int = 0
    memory_used_bytes: int = 0
    holders: tuple[Holder, ...] = ()
    compute_mode: int = 0
    """0 lets everybody in, 2 nobody, 3 one process at a time."""
    uncorrected_errors: int | None = None
    needs_reset: bool = False
    """Rows of its memory wait to be replaced, or could not be."""


class Gpus(msgspec.Struct, frozen=True, kw_only=True):
    """What NVIDIA's library says."""

    driver: str = ""
    devices: tuple[Gpu, ...] = ()
    trouble: str = ""
    """Why it says nothing although there is a driver."""
    loaded_driver: str = ""
    """The driver that Linux has loaded."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine as its own."""

    linux: str = ""
    glibc: str = ""
    cpus: int = 0
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_total_bytes: int = 0
    swap_free_bytes: int = 0
    overcommit: int | None = None
    commit_limit_bytes: int | None = None
    committed_bytes: int | None = None
    now_s: float = 0.0
    newest_file_s: float = 0.0
    """When the youngest file of the environment was written, by its own time stamp."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the process may take; None without a limit."""

    memory_bytes: int | None = None
    """Of the cgroup and those above it, the lowest."""
    memory_used_bytes: int | None = None
    """What is in use of that, without what Linux could drop."""
    cpus: float | None = None
    processes: int | None = None
    processes_used: int | None = None
    ulimits: Ulimits = {}
    open_files: float = 0.0


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that a training writes to."""

    purpose: str
    path: str
    trouble: str = ""
    """Why it can't be written to."""
    file_system: str = ""
    total_bytes: int = 0
    free_bytes: int = 0
    inodes: int = 0
    free_inodes: int = 0
    quotas: tuple[Quota, ...] = ()
    """What this user may keep there."""


class SharedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """`/dev/shm`."""

    total_bytes: int = 0
    free_bytes: int = 0
    left_bytes: int = 0
    """In files of processes that are gone."""
    left_files: int = 0


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """An installed package, as one of its folders says."""

    name: str
    version: str
    folder: str
    installer: str = ""
    needs: tuple[str, ...] = ()
    glibc: str = ""
    """The oldest C library that it was built for, such as 2.28; empty where it does not matter."""


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """A shared library; `version` as its file's name has it."""

    name: str
    path: str
    version: str = ""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter and what it can import."""

    executable: str = ""
    prefix: str = ""
    python: str = ""
    variables: dict[str, str] = {}
    packages: tuple[Package, ...] = ()
    """In the order of `sys.path`: the first of a name is the one that is imported."""
    conda: dict[str, str] = {}
    user_folder: str = ""
    """Of packages for all environments of the user (`~/.local`), where it is on the path."""
    torch_cuda: str | None = None
    """The CUDA that torch was built for; None where it is not installed or is built without."""
    has_cpu_torch: bool = False
    shadows: tuple[str, ...] = ()
    """Files of the working directory that are imported in place of an installed or standard module."""
    openmp: tuple[Library, ...] = ()
    """The OpenMP runtimes that are loaded, or would be."""
    overriding: tuple[Library, ...] = ()
    """Libraries in `LD_LIBRARY_PATH` that are loaded in place of others."""
    libstdcxx: str = ""
    """The version of the system's own C++ library."""
    missing_preloads: tuple[str, ...] = ()

    def version_of(self, name: str) -> str:
        """Of the package that is imported; empty where there is none."""
        return next((each.version for each in self.packages if each.name == name), "")


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook kernel that Jupyter offers from here; of several with one name only the first."""

    name: str
    folder: str
    executable: str = ""
    is_there: bool = True
    """Its interpreter can be started."""
    prefix: str = ""
    has_ipykernel: bool | None = None


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """Something that worker processes are to get, as somebody tried to pickle it."""

    name: str
    method: str = ""
    """How workers are started: `fork`, `spawn`, `forkserver`."""
    workers: int = 1
    trouble: str = ""
    pickled_bytes: int = 0
    is_cut: bool = False
    """It is larger than that: nobody went on."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    host: Host = Host()
    limits: Limits = Limits()
    gpus: Gpus = Gpus()
    environment: Environment = Environment()
    places: tuple[Place, ...] = ()
    shared_memory: SharedMemory | None = None
    kernels: tuple[Kernel, ...] = ()
    workers: tuple[Worker, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a program says of itself when it asks."""

    pid: int
    path: tuple[str, ...] = ()
    """Its `sys.path`."""
    script_folder: str = ""
    variables: dict[str, str] = {}
    checkpoints: tuple[str, ...] = ()
    """Directories for checkpoints; none: the working directory."""
    runs: str = ""
    workers: tuple[Worker, ...] = ()
