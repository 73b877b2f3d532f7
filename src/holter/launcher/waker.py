"""Run as a program: continues a launcher that stopped with its command, once the command is not stopped any more.

A stopped process can't see that its command was killed, and nobody would tell its shell. Imports next to nothing, and
nothing of ours.
"""

import os
import signal
import sys
import time

LOOK_S = 0.1
# More than anybody hands on to a command.
MOST_DESCRIPTORS = 1 << 16


def wake(launcher: int, command: int) -> None:
    """Blocks until the launcher, our parent, is gone; it ends us as soon as it goes on."""
    while os.getppid() == launcher:
        if _is_stopped(launcher) and not _is_stopped(command):
            os.kill(launcher, signal.SIGCONT)
        time.sleep(LOOK_S)


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] in b"Tt"
    except OSError:
        return False


if __name__ == "__main__":
    # Whoever waits for the end of a pipe must not wait for us.
    os.closerange(3, MOST_DESCRIPTORS)
    wake(int(sys.argv[1]), int(sys.argv[2]))
