"""Starts a sidecar that is nobody's child, in a session of its own."""

import contextlib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

import msgspec

from holter.model.cutting import as_utf8
from holter.model.witnesses import SIDECAR, witnesses_without
from holter.wire.way_back import FIRST_CONSOLE_FD, PIDFD_FD, SOCKET_FD, Watch, encode

if TYPE_CHECKING:
    import _socket

# The shell leaves at once, so that the sidecar is nobody's child: a program that waits for all its children
# must not wait for us.
_DETACH = '"$@" &'
_COMMAND = "HOLTER_SIDECAR_OF"
_KEY = "HOLTER_API_KEY"
_MOST_COMMAND = 32 << 10
_own_faults: dict[int, int] = {}
"""By process: the page faults of the shells that started our sidecars; Linux counts them as its children."""
_SCHEDULERS = ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PBS_JOBID", "LSB_JOBID")


def spawn_sidecar(
    message: Watch, *, pidfd: int | None = None, console_fds: Sequence[int] = (), command: Sequence[str] = ()
) -> "_socket.socket | None":
    """Start a sidecar; returns our end of the way back, None where tests do without one. Raises OSError.

    Args:
        message: what to watch first.
        pidfd: of the watched process, where the caller has one to keep; negative for none.
        console_fds: the shared memory and the envelopes of a launcher; the caller closes its own.
        command: what the watched process was started as, where that is not this one.
    """
    if SIDECAR in witnesses_without():
        return None
    ours, theirs = sockets().socketpair()
    own_pidfd = open_pidfd(message.pid) if pidfd is None else -1
    given = {SOCKET_FD: theirs.fileno(), PIDFD_FD: own_pidfd if pidfd is None else pidfd}
    try:
        _spawn(message, {**given, **dict(enumerate(console_fds, FIRST_CONSOLE_FD))}, command)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        if own_pidfd >= 0:
            os.close(own_pidfd)
    return cast("_socket.socket", ours)


def _spawn(message: Watch, wanted: dict[int, int], command: Sequence[str]) -> None:
    import fcntl

    # Copies above all targets, so that none overwrites the source of another; and no higher, for there may be few.
    above = max(wanted) + 1
    sources = {target: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for target, fd in wanted.items() if fd >= 0}
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        actions: list[tuple[int, int, int]] = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in sources.items()]
        sidecar = [sys.executable, "-P", "-m", "holter.sidecar", encode(_without_key(message)).decode()]
        shell = ["/bin/sh", "-c", _DETACH, "sh", *sidecar]
        own = sys.orig_argv if message.pid == os.getpid() else []
        environment = sidecar_environment(message.pid, command or own)
        if message.upload is not None:
            environment[_KEY] = message.upload.key
        pid = os.posix_spawn("/bin/sh", shell, environment, file_actions=actions, setsid=True, setsigmask=())
    finally:
        for fd in (*sources.values(), null):
            os.close(fd)
    with contextlib.suppress(ChildProcessError):  # the program reaps all its children by itself
        usage = os.wait4(pid, 0)[2]
        _own_faults[os.getpid()] = _own_faults.get(os.getpid(), 0) + usage.ru_minflt


def sockets() -> ModuleType:
    """The module `socket` where the program has loaded it, and may have changed it; else what lies beneath it.

    To load it takes three of the forty milliseconds that `init()` may take.
    """
    return sys.modules.get("socket") or importlib.import_module("_socket")


def most_child_bytes() -> int:
    """The most memory that a child had which this process has waited for; 0 where that was none but our own."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_maxrss * 1024 if usage.ru_minflt > _own_faults.get(os.getpid(), 0) else 0


def open_pidfd(pid: int) -> int:
    """A pidfd of a process, negative on a kernel before 5.3 and in a sandbox that forbids it."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def linger_s() -> float:
    """How long a sidecar may wait for another run: shorter where a scheduler waits for it."""
    return 5.0 if any(name in os.environ for name in _SCHEDULERS) else 60.0


def told_command(environ: Mapping[str, str], pid: int) -> list[str] | None:
    """In a sidecar: the command line of the process that started it, None for any other process.

    It may be gone before somebody can look at it. Unlike arguments, variables are not for everybody to see.
    """
    teller, _, command = environ.get(_COMMAND, "").partition(" ")
    return msgspec.json.decode(command, type=list[str]) if teller == str(pid) else None


def with_told_key(message: Watch, environ: Mapping[str, str]) -> Watch:
    """In a sidecar: the message as it was before its key was taken out for the command line."""
    if message.upload is None:
        return message
    upload = msgspec.structs.replace(message.upload, key=environ.get(_KEY, ""))
    return msgspec.structs.replace(message, upload=upload)


def _without_key(message: Watch) -> Watch:
    if message.upload is None:
        return message
    return msgspec.structs.replace(message, upload=msgspec.structs.replace(message.upload, key=""))


def without_command(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as the process that started the sidecar has it."""
    return {name: value for name, value in environ.items() if name != _COMMAND}


def _as_variable(command: Sequence[str]) -> str:
    text = msgspec.json.encode(list(map(as_utf8, command)))
    return text.decode() if len(text) <= _MOST_COMMAND else "[]"


def sidecar_environment(pid: int, command: Sequence[str]) -> dict[str, str]:
    """The environment of a sidecar."""
    return {**way_to_package(os.environ), _COMMAND: f"{pid} {_as_variable(command)}"}


def way_to_package(environ: Mapping[str, str]) -> dict[str, str]:
    """The program's environment, with the way to this package where it is not installed but found by sys.path."""
    environment = dict(environ)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not package.endswith(("site-packages", "dist-packages")):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH", ""))))
    return environment
