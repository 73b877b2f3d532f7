"""Faults of native code, as the processor, the C library and the interpreter raise them."""

import signal

from tests.zoo.fault import Fault, Place


def native(name: str, number: signal.Signals, *, cause: str, body: str, needs: tuple[str, ...] = ()) -> Fault:
    """A program that calls into `tests/zoo/programs/faulty.py`."""
    program = f"import faulty\nfrom training import begin\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(-number,), state="crashed", cause=cause, needs=needs)


IN_THREAD = """
import threading
threading.stack_size(1 << 20)
thread = threading.Thread(target=faulty.{function})
thread.start()
thread.join()
"""

DEEP_REPR = """
import sys
sys.setrecursionlimit(10**9)
nested = []
for _ in range(10**6):
    nested = [nested]
repr(nested)
"""

FAULTS = [
    native("reads from address 0", signal.SIGSEGV, cause="segmentation-fault", body="faulty.read_null()"),
    native(
        "reads from address 0 in a thread",
        signal.SIGSEGV,
        cause="segmentation-fault",
        body=IN_THREAD.format(function="read_null"),
    ),
    native(
        "writes to memory that is only for reading",
        signal.SIGSEGV,
        cause="segmentation-fault",
        body="import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)\n"
        "LIBC = ctypes.CDLL(None); LIBC.mmap.restype = ctypes.c_void_p\n"
        "place = LIBC.mmap(None, ctypes.c_size_t(4096), 1, 0x22, -1, 0)\n"
        "ctypes.memset(place, 1, 16)",
    ),
    native(
        "overflows the stack of the main thread", signal.SIGSEGV, cause="stack-overflow", body="faulty.overflow_stack()"
    ),
    native(
        "overflows the stack of another thread",
        signal.SIGSEGV,
        cause="stack-overflow",
        body=IN_THREAD.format(function="overflow_stack"),
    ),
    native(
        "overflows the stack inside the interpreter",
        signal.SIGSEGV,
        cause="stack-overflow",
        body=DEEP_REPR,
        needs=("python3.11",),
    ),
    native("calls abort", signal.SIGABRT, cause="aborted", body="faulty.LIBC.abort()"),
    native("frees memory twice", signal.SIGABRT, cause="aborted", body="faulty.free_twice()"),
    native(
        "has the interpreter give up",
        signal.SIGABRT,
        cause="aborted",
        body="import ctypes; ctypes.pythonapi.Py_FatalError(b'deallocating None')",
    ),
    native(
        "has the C++ library terminate",
        signal.SIGABRT,
        cause="aborted",
        body="import ctypes; ctypes.CDLL('libstdc++.so.6')._ZSt9terminatev()",
    ),
    native(
        "divides by zero",
        signal.SIGFPE,
        cause="arithmetic-fault",
        body="faulty.divide_by_zero()",
        needs=("x86-64",),
    ),
    native("executes garbage", signal.SIGILL, cause="illegal-instruction", body="faulty.execute_garbage()"),
    native(
        "reads a mapped file that somebody shortened",
        signal.SIGBUS,
        cause="bus-error",
        body="import mmap\n"
        "file = open('dataset.bin', 'w+b'); file.truncate(1 << 20)\n"
        "mapped = mmap.mmap(file.fileno(), 0)\n"
        "file.truncate(0)\n"
        "mapped[500_000]",
    ),
    Fault(
        name="writes through a map of a file on a full disk",
        program="""
        import numpy
        from training import begin
        begin()
        cache = numpy.memmap("disk/cache.npy", dtype="float32", mode="w+", shape=(8 << 20,))
        cache[:] = 1.0
        """,
        ends=(-signal.SIGBUS,),
        state="crashed",
        cause="disk-full",
        place=Place(disks=(("disk", "size=4m"),)),
    ),
]
