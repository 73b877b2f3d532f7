"""A sidecar's life, from its first message to its end; `wire.way_back` names the descriptors that it begins with."""

import _socket
import contextlib
import gc
import os
import signal
import sys
import threading
import time

import msgspec

from holter.recording.spawning import with_told_key
from holter.sidecar.internal_log import write_down, write_down_failure
from holter.sidecar.loop import Sidecar
from holter.sidecar.sharing import hand_over, take_lead
from holter.wire.way_back import FIRST_CONSOLE_FD, PIDFD_FD, SOCKET_FD, Watch, decode_to_sidecar


def main() -> int:
    """Watch until the run has ended; the exit code is for nobody."""
    try:
        watch = decode_to_sidecar(sys.argv[1].encode())
    except (IndexError, msgspec.DecodeError):
        watch = None
    if not isinstance(watch, Watch):
        sys.stderr.write("holter: the sidecar is started by holter.init(); it takes a message, not a command line\n")
        return 2
    watch = with_told_key(watch, os.environ)
    console_fds = range(FIRST_CONSOLE_FD, FIRST_CONSOLE_FD + (1 + len(watch.pumped.streams) if watch.pumped else 0))
    _settle_in(console_fds.stop)
    link, pidfd = _inherited()
    standby = None
    if watch.pumped:
        from holter.sidecar.standby import Standby  # only a launcher needs it

        standby = Standby(watch, watch.pumped, descriptors=console_fds)
        standby.start()
    try:
        lead = take_lead(watch.directory) or hand_over(watch, link, pidfd=pidfd)
        if lead is not None:
            gc.freeze()
            gc.enable()
            Sidecar(link, pidfd).run(watch, lead)
            _tidy_up(watch.directory)
    except Exception:  # noqa: BLE001  the boundary: a later command tells what we can't
        write_down_failure(watch.directory, "the sidecar ends: ")
        if standby is not None:
            standby.wait()  # the program prints through it
        os._exit(1)  # the threads of the watch, which nobody will end now, would keep us here for ever
    return 0


def _tidy_up(directory: str) -> None:
    """A notebook's kernel leaves a record each time: those that nobody will ask for go when another one has ended."""
    from holter.catalog.old_kernels import prune_beside  # the watch begins without it

    if removed := prune_beside(directory, now=time.time()):
        write_down(directory, f"INFO records of old kernels were removed: {', '.join(removed)}")


def _settle_in(first_foreign_fd: int) -> None:
    """Hold nothing of the program's: not its directory, its terminal, its descriptors, or its signals."""
    os.chdir("/")
    os.umask(0o077)
    os.closerange(first_foreign_fd, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
    _outlive_the_hungry()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        # Whoever ends a whole group or session ends the program too; we leave when it has gone.
        signal.signal(number, signal.SIG_IGN)


def _outlive_the_hungry() -> None:
    """Where Linux frees memory under a limit that is ours too, whoever can say why must not go with the program.

    Few may ask for that; the others are small, and go last.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")


def _inherited() -> tuple[_socket.socket, int]:
    link = _socket.socket(fileno=SOCKET_FD)
    link.setblocking(False)
    os.set_inheritable(SOCKET_FD, False)
    try:
        os.set_inheritable(PIDFD_FD, False)
    except OSError:
        return link, -1  # a kernel without pidfds
    return link, PIDFD_FD


def leave(code: int) -> None:
    """End without taking the interpreter apart, once nobody prints through us any more: all files are closed."""
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.main_thread():
            thread.join()
    os._exit(code)
