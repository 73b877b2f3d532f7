"""Snippets that provoke each fatal signal for real; a program pastes one after its `holter.init()`."""

import platform

import pytest

ONLY_X86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="not on this platform: the instruction is one of x86-64"
)

# Runs bytes as a function.
MACHINE_CODE = """
import ctypes, mmap
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex({code!r}))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""

TRUNCATED_MAPPING = """
import mmap, os
path = os.path.join(os.environ["HOLTER_DIR"], "mapped.bin")
with open(path, "w+b") as file:
    file.truncate(8192)
    mapped = mmap.mmap(file.fileno(), 8192)
    file.truncate(0)
mapped[5000]
"""

# One system call of this process gets SIGSYS instead of an answer.
FORBIDDEN_CALL = """
import ctypes, os
class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]
GETPPID = {"x86_64": 110, "aarch64": 173}[os.uname().machine]
code = (Instruction * 4)((0x20, 0, 0, 0), (0x15, 0, 1, GETPPID), (0x06, 0, 0, 0x00030000), (0x06, 0, 0, 0x7FFF0000))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0
os.getppid()
"""

# A function that does nothing but call itself, in machine code: no Python counts its depth.
STACK_OVERFLOW = """
import ctypes, mmap, os
code = {"x86_64": "e8fbffffff", "aarch64": "fd7bbfa9ffffff97"}[os.uname().machine]
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex(code))
overflow = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
"""

CPU_LIMIT = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (1, 10))
while True: pass
"""

FILE_LIMIT = """
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 16 << 20))
with open(os.path.join(os.environ["HOLTER_DIR"], "large.bin"), "wb") as file:
    file.seek(9 << 20)
    file.write(b"x")
    file.flush()
"""

REAL: dict[str, str] = {
    "SIGSEGV": "import ctypes; ctypes.string_at(16)",
    "SIGBUS": TRUNCATED_MAPPING,
    "SIGABRT": "import os; os.abort()",
    "SIGSYS": FORBIDDEN_CALL,
    "SIGXCPU": CPU_LIMIT,
    "SIGXFSZ": FILE_LIMIT,
    "SIGFPE": MACHINE_CODE.format(code="31c9f7f1"),
    "SIGILL": MACHINE_CODE.format(code="0f0b"),
    "SIGTRAP": MACHINE_CODE.format(code="cc"),
}
INSTRUCTIONS = ("SIGFPE", "SIGILL", "SIGTRAP")
