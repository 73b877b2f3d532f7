"""What a Jupyter server tells the kernels that it starts, and what runs inside a kernel tell the server.

The server and the kernel may have different versions of holter, or the kernel none: both sides read only what is here.
"""

import os
from collections.abc import Mapping

import msgspec

VARIABLE = "HOLTER_KERNEL"
BEFORE = "HOLTER_KERNEL_BEFORE"
PARENT = "JPY_PARENT_PID"
JOINED = "joined.jsonl"
PROJECT = "notebooks"
"""Of kernels that are recorded for their own sake: apart from the runs of people who have chosen no project."""
MOST_JOINED_BYTES = 1 << 20


class Kernel(msgspec.Struct, frozen=True):
    """The run that a Jupyter server made for a kernel."""

    run: str
    journal: str
    """Of the server's own witness, in that run."""
    server_pid: int
    directory: str


class Joined(msgspec.Struct, frozen=True):
    """Another run inside the kernel: what happens to the kernel happens to it."""

    directory: str
    journal: str


def as_variable(kernel: Kernel) -> str:
    """For the environment of the kernel."""
    return f"{kernel.run}:{kernel.journal}:{kernel.server_pid}:{kernel.directory}"


def read_kernel(environ: Mapping[str, str]) -> Kernel | None:
    """Asked in a kernel: its run. None where no server of ours started it.

    Whatever a kernel starts inherits the variable, other kernels among them: those have another parent in `PARENT`.
    """
    run, _, rest = environ.get(VARIABLE, "").partition(":")
    journal, _, rest = rest.partition(":")
    server_pid, _, directory = rest.partition(":")
    if not run or not directory or not server_pid.isdecimal() or environ.get(PARENT) != server_pid:
        return None
    return Kernel(run, journal, int(server_pid), directory)


def kernel_before(environ: Mapping[str, str]) -> str:
    """Asked in a kernel: the run of the one before it, whose end its server saw and nobody asked for; else empty."""
    return environ.get(BEFORE, "") if read_kernel(environ) is not None else ""


def server_pid(environ: Mapping[str, str]) -> int:
    """The Jupyter server, or whoever else manages kernels, where it started this very process; else 0."""
    told = environ.get(PARENT, "")
    return int(told) if told.isdecimal() and int(told) == os.getppid() else 0


def join(kernel: Kernel, *, directory: str, journal: str) -> None:
    """Have what the kernel is asked, and how it ends, written into this run's directory too. Raises OSError."""
    line = msgspec.json.encode(Joined(directory, journal)) + b"\n"
    path = os.path.join(kernel.directory, JOINED)
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def read_joined(directory: str) -> list[Joined]:
    """All that joined the kernel with this directory, in their order; lines that make no sense are left out."""
    try:
        with open(os.path.join(directory, JOINED), "rb") as file:
            lines = file.read(MOST_JOINED_BYTES).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Joined))
        except msgspec.DecodeError:
            continue
    return found
