"""Starts threads of ours that take no signal away from the program."""

import signal
import threading

# A fault of the thread itself: blocked, it would end the process without a word.
_OWN_FAULTS = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGTRAP,
    signal.SIGSYS,
}


def start_quietly(thread: threading.Thread) -> None:
    """Start it with all signals blocked. Raises RuntimeError where no thread can be had.

    A program may block a signal in all its threads and wait for it; Linux would give it to the one thread that
    does not, ours, and end the program. And a signal that interrupts a call must interrupt the program's.
    """
    if not hasattr(signal, "pthread_sigmask"):
        thread.start()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _OWN_FAULTS)
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
