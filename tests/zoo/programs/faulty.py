"""Real faults of native code without a compiler: a few machine instructions, and calls of the C library."""

import ctypes
import mmap
import platform

LIBC = ctypes.CDLL(None, use_errno=True)
IS_X86 = platform.machine() == "x86_64"

# `call` to itself for ever; the other pushes its frame first.
_RECURSION = bytes.fromhex("e8fbffffff" if IS_X86 else "fd7bbfa9ffffff97")
_ILLEGAL = bytes.fromhex("0f0b" if IS_X86 else "00000000")
# xor ecx,ecx; mov eax,1; cdq; idiv ecx; ret
_DIVISION = bytes.fromhex("31c9b80100000099f7f9c3")

_kept: list[mmap.mmap] = []


def _execute(code: bytes) -> None:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    _kept.append(page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(None)(address)()


def overflow_stack() -> None:
    """Recursion without an end."""
    _execute(_RECURSION)


def execute_garbage() -> None:
    """An instruction that there is not."""
    _execute(_ILLEGAL)


def divide_by_zero() -> None:
    """Of integers, which the processor refuses; x86-64 only."""
    _execute(_DIVISION)


def read_null() -> None:
    """The most common fault of all."""
    ctypes.string_at(0)


def free_twice() -> None:
    """The C library notices and aborts."""
    LIBC.malloc.restype = ctypes.c_void_p
    LIBC.free.argtypes = [ctypes.c_void_p]
    block = LIBC.malloc(64)
    LIBC.free(block)
    LIBC.free(block)
