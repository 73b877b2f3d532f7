"""One process: how it ended and when, what it says of others, and what it is called."""

import signal

from holter.diagnosis import words
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.texts import is_own_raise, type_names, whole_text
from holter.model.evidence import End
from holter.model.records import Raised

BY_MULTIPROCESSING, BY_SRUN = "multiprocessing", "srun"
"""Who read a status; srun tells it in words."""
SHELL_SIGNALS = 128
TELLING = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGKILL})
"""Nobody leaves with 128 and one of these by chance; but a program may hand on a request as 128 + 15 by itself."""
WITHOUT_CLIENT = ("command", "watched", "child")
"""Roles of processes in which nothing of ours need have run."""
PIPE_ERRORS = frozenset({"EOFError", "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError"})
_WAITS = frozenset({"Empty", "Full"})
_WAITING_CODE = ("/multiprocessing/", "/concurrent/futures/", "/queue.py")


def ended_well(end: End) -> bool:
    """It lives, left with 0, or said that it was done. An exit that nobody read counts as well where it said so."""
    if end.is_alive:
        return True
    if end.finished is not None and end.finished.how in ("finish", "context", "replaced"):
        return not end.finished.exit_code
    if end.status is None:
        return end.finished is not None and end.raised is None and not end.finished.exit_code
    return end.status == 0


def left_with(end: End) -> int | None:
    """Its exit code, as somebody read it or as it said itself; None where a signal ended it or nobody knows."""
    if end.code is not None or end.signal is not None:
        return end.code
    return end.finished.exit_code if end.finished is not None else None


def is_python(end: End) -> bool:
    """Whether an interpreter of Python is what was started, and no shell or launcher around one."""
    return end.name.strip("[]").partition(" ")[0].rpartition("/")[2].startswith("python")


def died_ns(end: End) -> int:
    """When it died. Where nobody saw that, it was after the last row, and not before the last signal arrived."""
    if end.status is not None:
        return end.at_ns
    return max([end.at_ns, *(each.at_ns for each in end.signals), *([end.raised.at_ns] if end.raised else [])])


def decided_ns(end: End) -> int:
    """When its end was decided: it may take a while to leave."""
    if end.raised is not None:
        return end.raised.at_ns
    return end.finished.at_ns if end.finished is not None else end.at_ns


def lost_a_peer(end: End) -> bool:
    """It died because another process stopped answering, by its own words."""
    return end.raised is not None and says(whole_text(end.raised), "peer-lost")


def lost_a_child(end: End) -> bool:
    """It died because a worker or command that it had started did, by its own words or by a pipe that broke."""
    error = end.raised
    if error is None or _is_unreadable(error):
        return False
    is_pipe = bool(type_names(error) & PIPE_ERRORS) and "/multiprocessing/" in error.traceback
    return is_pipe or says(whole_text(error), "child-lost")


def _is_unreadable(error: Raised) -> bool:
    """A pool gives up, too, where what a worker sent can't be read; then it says why, and the worker was well."""
    read = [error.traceback, *(each.message for each in error.causes if each.type.endswith("_RemoteTraceback"))]
    is_broken = error.type.endswith("BrokenProcessPool")
    return is_broken and any("result_reader.recv()" in text and not says(text, "pipe-broken") for text in read)


def waited_in_vain(end: End) -> bool:
    """It gave up waiting for another rank, by its own words."""
    return end.raised is not None and says(whole_text(end.raised), "collective-timeout")


def has_waited(end: End) -> bool:
    """It gave up waiting for a result, by what the library says through which it waited."""
    if end.raised is None or is_own_raise(end.raised):
        return False
    names = type_names(end.raised)
    is_in_a_queue = "TimeoutError" in names and any(part in end.raised.traceback for part in _WAITING_CODE)
    return bool(names & _WAITS) or is_in_a_queue


def chose(end: End) -> bool:
    """It left by a `raise`, `assert` or exit of its own: it may have looked at others first."""
    return end.raised is None or is_own_raise(end.raised)


def call(end: End) -> str:
    """`rank 1`, `worker 812 (Process-3)`, `process 812`."""
    if end.role == "child":
        what = "worker" if end.source == BY_MULTIPROCESSING or "work" in end.name.lower() else "child"
        return f"{what} {end.pid} ({words.quote(end.name, 60)})" if end.name else f"{what} process {end.pid}"
    return f"rank {end.rank}" if end.rank is not None else f"process {end.pid}"


def how_it_went(end: End) -> str:
    """`was ended by SIGKILL`, `exited with exit code 3`, or that nobody saw; to follow its name."""
    if end.signal is not None:
        return f"was ended by {words.signal(end.signal)}"
    return f"exited with exit code {end.code}" if end.code is not None else "is gone, nobody saw how"


def at_step(end: End) -> str:
    """`, at step 41`, or nothing where it logged none."""
    return f", at step {end.last_step:,}" if end.last_step is not None else ""
