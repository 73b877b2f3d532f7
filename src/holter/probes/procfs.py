"""Reads Linux's text files cheaply and takes the numbers out of them."""

import errno
import os

import msgspec

PROC = "/proc"

# A file that answers with one of these has nothing to tell: it is gone, forbidden, or not in this kernel.
SILENT = frozenset(
    {errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM, errno.ENODEV, errno.ENOTDIR, errno.EOPNOTSUPP}
)
CHUNK_BYTES = 16384
PF_EXITING = 0x4
MOST_HELD_BACK = 24


class Stat(msgspec.Struct, frozen=True):
    """The fields of `/proc/PID/stat` that we use; times are in clock ticks."""

    state: str
    parent: int
    is_exiting: bool
    """Whether the first thread is on its way out, which may take seconds with much memory to give back."""
    reaped_faults: int
    """Minor page faults of the children it has waited for: 0 where it has waited for none."""
    major_faults: int
    """Of the process and of the children it has waited for."""
    cpu_ticks: int
    """User and system time of the process itself."""
    reaped_ticks: int
    """The same of the children it has waited for, with theirs."""
    threads: int
    started: int
    """Since boot; with the pid and the boot id it names a process for ever."""
    exit_code: int
    """A wait-status word; 0 too where the reader may not see it."""
    is_condemned: bool = False
    """SIGKILL has been sent to it, though it may not have died of it yet."""
    heeded_bits: int = 0
    stack_start: int = 0
    """Where the stack of the first thread begins; 0 where the reader may not see it."""

    @property
    def is_dead(self) -> bool:
        """Whether the whole process has ended; its first thread may be a zombie while others run on."""
        return self.state in "ZXx" and self.threads <= 1

    @property
    def heeded(self) -> tuple[int, ...]:
        """The signals, of the first 31, that have a handler or are blocked in the first thread."""
        return tuple(number for number in range(1, 32) if self.heeded_bits >> (number - 1) & 1)


def read_file(path: str) -> bytes | None:
    """Return the whole file, or None where nobody can look: gone, forbidden, not in this kernel."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise_unless_silent(error)
        return None
    try:
        return read_descriptor(fd)
    except OSError as error:
        raise_unless_silent(error)
        return None
    finally:
        os.close(fd)


def read_descriptor(fd: int) -> bytes:
    """Return everything from the descriptor's position to the end."""
    text = os.read(fd, CHUNK_BYTES)
    # Linux hands out long tables in pieces of about a page, however large the buffer is.
    while chunk := os.read(fd, CHUNK_BYTES):
        text += chunk
    return text


def read_stat(pid: int, proc: str = PROC) -> Stat | None:
    """Return the process's stat fields, or None where there is no such process to look at."""
    text = read_file(f"{proc}/{pid}/stat")
    return parse_stat(text) if text else None


def read_schedule(pid: int, proc: str = PROC) -> tuple[float, float]:
    """For how many seconds the main thread has run, and how long it waited for a core; NaN where nobody counts."""
    fields = (read_file(f"{proc}/{pid}/schedstat") or b"").split()
    return (int(fields[0]) / 1e9, int(fields[1]) / 1e9) if len(fields) == 3 else (float("nan"), float("nan"))


def parse_stat(text: bytes) -> Stat:
    """Take a `/proc/PID/stat` line apart; the command name in it may hold spaces and parentheses."""
    fields = text[text.rindex(b")") + 2 :].split()
    return Stat(
        state=fields[0].decode(),
        parent=int(fields[1]),
        is_exiting=bool(int(fields[6]) & PF_EXITING),
        reaped_faults=int(fields[8]),
        major_faults=int(fields[9]) + int(fields[10]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        started=int(fields[19]),
        exit_code=int(fields[49]),
        is_condemned=bool(int(fields[28]) >> 8 & 1),
        heeded_bits=_held_back(int(fields[29])) | int(fields[31]),
        stack_start=int(fields[25]),
    )


def _held_back(blocked: int) -> int:
    """The C library holds all signals back while it starts a process, which says nothing about the program."""
    return 0 if blocked.bit_count() > MOST_HELD_BACK else blocked


def find_number(text: bytes, label: bytes = b"") -> int | None:
    """Return the whole number behind the label of a line, or None where there is no such line or number."""
    start = 0 if text.startswith(label) else text.find(b"\n" + label) + 1
    if start == 0 and not text.startswith(label):
        return None
    words = text[start + len(label) : start + len(label) + 32].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def list_numbers(path: str) -> list[int]:
    """Return the numeric names in a directory, such as pids; empty where nobody can look."""
    try:
        return [int(name) for name in os.listdir(path) if name.isdigit()]
    except OSError as error:
        raise_unless_silent(error)
        return []


def raise_unless_silent(error: OSError) -> None:
    """Return if the error only means that there is nothing to read, else raise it."""
    if error.errno not in SILENT:
        raise error
