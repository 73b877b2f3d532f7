"""Faults of native code, as the processor, the C library, the interpreter and a compiler make them."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, TRAINING, Fault, Place


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

HEADERS = "#include <assert.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"

LIBRARY = """
import ctypes, multiprocessing, os, subprocess, sys
with open("kernels.{suffix}", "w") as file:
    file.write({source!r})
command = ["{compiler}", "-O0", "-w", "-fPIC", *{options!r}, "-o", "{target}", "kernels.{suffix}"]
subprocess.run(command, check=True)
from training import begin, log
begin()
{call}
"""
LOAD = "kernels = ctypes.CDLL('./kernels.so')\n"


def library(name: str, number: signal.Signals, source: str, *, cause: str, **more: Any) -> Fault:
    """The training calls `work` in a library of its own."""
    program = LIBRARY.format(
        source=HEADERS + source,
        suffix=more.pop("suffix", "c"),
        compiler=(compiler := more.pop("compiler", "gcc")),
        options=["-shared", "-fstack-protector-all"],
        target="kernels.so",
        call=LOAD + more.pop("call", "kernels.work()"),
    )
    usual = {"ends": (-number,), "state": "crashed", "command": TRAINING}
    needs = (compiler, *more.pop("needs", ()))
    return Fault(name=name, program=program, cause=cause, needs=needs, **{**usual, **more})


def tool(name: str, source: str, *, cause: str, **more: Any) -> Fault:
    """The training runs a program that dies."""
    program = LIBRARY.format(
        source=HEADERS + source,
        suffix="c",
        compiler="gcc",
        options=["-g"],
        target="tool",
        call="subprocess.run(['./tool'], check=True)",
    )
    return Fault(name=name, program=program, ends=(1,), state="failed", cause=cause, needs=("gcc",), **more)


WORKER = (
    "worker = multiprocessing.get_context('fork').Process(target=kernels.work)\nworker.start()\nworker.join()\n"
    "if worker.exitcode:\n    raise RuntimeError('augmentation failed')"
)


COMPILED = """
import ctypes, subprocess, sys, threading, time
with open("kernels.{suffix}", "w") as file:
    file.write({source!r})
command = ["{compiler}", "-O0", "-w", "-fPIC", "-shared", "-pthread", "-o", "kernels.so", "kernels.{suffix}"]
subprocess.run(command, check=True)
kernels = ctypes.CDLL("./kernels.so")
from training import begin, log
begin()
{call}
"""

# A thread that Python knows nothing of.
PTHREAD = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *body(void *);
void work(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    pthread_create(&thread, &attributes, body, 0);
    sleep(20);
}
"""


def compiled(name: str, number: signal.Signals, source: str, *, cause: str, **more: Any) -> Fault:
    """The training compiles its library first, and calls `work` in it."""
    compiler = more.pop("compiler", "gcc")
    suffix = "cc" if compiler == "g++" else "c"
    program = COMPILED.format(
        source=source, suffix=suffix, compiler=compiler, call=more.pop("call", "time.sleep(0.3)\nkernels.work()")
    )
    usual = {"ends": (-number,), "state": "crashed", "command": TRAINING, "needs": (compiler,)}
    return Fault(name=name, program=program, cause=cause, **{**usual, **more})


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
    library(
        "fails an assertion in C",
        signal.SIGABRT,
        "void work(void) { int shape = 3; assert(shape == 4); }",
        cause="aborted",
    ),
    library(
        "destroys the heap and frees",
        signal.SIGABRT,
        "void work(void) { char *p = malloc(100); memset(p - 16, 0x41, 16); free(p); }",
        cause="aborted",
    ),
    library(
        "writes over its stack's canary",
        signal.SIGABRT,
        "static void fill(char *p, int n) { for (int i = 0; i < n; i++) p[i] = 'A'; }\n"
        "void work(void) { char name[16]; fill(name, 64); }",
        cause="aborted",
    ),
    library(
        "throws in C++ and nobody catches",
        signal.SIGABRT,
        '#include <stdexcept>\nextern "C" void work() { throw std::runtime_error("bad tensor"); }',
        cause="aborted",
        suffix="cc",
        compiler="g++",
    ),
    Fault(
        name="calls os.abort",
        program="import os\nfrom training import begin\nbegin()\nos.abort()\n",
        ends=(-signal.SIGABRT,),
        state="crashed",
        cause="aborted",
    ),
    library(
        "runs into a trap of the compiler",
        signal.SIGILL,
        "void work(void) { __builtin_trap(); }",
        cause="illegal-instruction",
        needs=("x86-64",),
    ),
    library(
        "divides the least integer by minus one",
        signal.SIGFPE,
        "int work(void) { volatile int a = -2147483647 - 1, b = -1; return a / b; }",
        cause="arithmetic-fault",
        needs=("x86-64",),
    ),
    library(
        "jumps to an address that is not there",
        signal.SIGSEGV,
        "void work(void) { ((void (*)(void))0x414141414141)(); }",
        cause="segmentation-fault",
    ),
    library(
        "follows a pointer that no address can be",
        signal.SIGSEGV,
        "int work(void) { return *(volatile int *)0x4141414141414141; }",
        cause="segmentation-fault",
        needs=("x86-64",),
    ),
    library(
        "reads a buffer that was given back",
        signal.SIGSEGV,
        "int work(void) { char *p = mmap(0, 1 << 24, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
        " munmap(p, 1 << 24); return p[12345678]; }",
        cause="segmentation-fault",
    ),
    library(
        "faults where Python's own fault handler is on",
        signal.SIGSEGV,
        "void work(void) { *(volatile int *)8 = 1; }",
        cause="segmentation-fault",
        command=(PYTHON, "-X", "faulthandler", SCRIPT),
    ),
    library(
        "faults under a shell that goes on to fail",
        signal.SIGSEGV,
        "void work(void) { *(volatile int *)24 = 1; }",
        cause="segmentation-fault",
        command=("bash", "-c", f"{PYTHON} {SCRIPT} || exit 1"),
        ends=(1,),
        run_state="failed",
    ),
    library(
        "recurses in C on a stack of 1 MiB",
        signal.SIGSEGV,
        "long work(long n) { volatile char frame[2000]; frame[0] = n; return work(n + 1) + frame[0]; }",
        cause="stack-overflow",
        place=Place(limits=("--stack=1048576",)),
    ),
    library(
        "overflows the stack with frames of 1 MiB",
        signal.SIGSEGV,
        "long work(long n) { volatile char frame[1 << 20]; frame[0] = n; return work(n + 1) + frame[0]; }",
        cause="stack-overflow",
    ),
    library(
        "reads behind the end of a mapped file",
        signal.SIGBUS,
        "#include <fcntl.h>\n#include <unistd.h>\n"
        'int work(void) { int fd = open("weights.bin", O_RDWR | O_CREAT, 0600);'
        ' write(fd, "w", 1); char *p = mmap(0, 16384, PROT_READ, MAP_SHARED, fd, 0); return p[9000]; }',
        cause="bus-error",
    ),
    library(
        "has a process that fails an assertion in C",
        signal.SIGABRT,
        'void work(void) { assert(!"unreachable"); }',
        cause="aborted",
        call=WORKER,
        ends=(1,),
        state="failed",
    ),
    library(
        "has a process that divides by zero in C",
        signal.SIGFPE,
        "int work(void) { volatile int a = 1, b = 0; return a / b; }",
        cause="arithmetic-fault",
        call=WORKER,
        ends=(1,),
        state="failed",
        needs=("x86-64",),
    ),
    tool(
        "runs a program in C that faults",
        "int main(void) { int *labels = 0; return labels[7]; }",
        cause="segmentation-fault",
    ),
    tool("runs a program in C that aborts", "int main(void) { abort(); }", cause="aborted"),
    compiled(
        "has a thread of C whose small stack is too small",
        signal.SIGSEGV,
        PTHREAD
        + "static long deep(long n) { volatile char frame[300]; frame[0] = n; return deep(n + 1) + frame[0]; }\n"
        "static void *body(void *p) { return (void *)deep(0); }",
        cause="stack-overflow",
    ),
    compiled(
        "takes a large array from the stack",
        signal.SIGSEGV,
        "double work(void) { volatile double buffer[3 << 20]; for (int i = (3 << 20) - 1; i >= 0; i--) buffer[i] = i;"
        " return buffer[0]; }",
        cause="stack-overflow",
    ),
    compiled(
        "has a thread of C that follows a null pointer",
        signal.SIGSEGV,
        PTHREAD + "static void *body(void *p) { usleep(300000); return *(void **)p; }",
        cause="segmentation-fault",
    ),
    # All of its work is done; it is the library's own clean-up that faults.
    library(
        "comes to its end and faults in a library's last act",
        signal.SIGSEGV,
        "__attribute__((destructor)) static void close_device(void) { *(volatile int *)16 = 0; }\nvoid work(void) {}",
        cause="segmentation-fault",
    ),
    native(
        "traps floating point and divides by zero in numpy",
        signal.SIGFPE,
        cause="arithmetic-fault",
        body="import ctypes, numpy\ncounts = numpy.array([3.0, 0.0, 5.0] * 100)\n"
        "ctypes.CDLL('libm.so.6').feenableexcept(4)\nprint((1.0 / counts).sum())",
        needs=("x86-64",),
    ),
    native(
        "maps a checkpoint that it then writes anew",
        signal.SIGBUS,
        cause="bus-error",
        body="import torch\ntorch.save({'weight': torch.ones(2 << 20)}, 'last.ckpt')\n"
        "weights = torch.load('last.ckpt', mmap=True)\nopen('last.ckpt', 'wb').write(b'PK')\n"
        "print(weights['weight'].mean().item())",
        needs=("torch",),
    ),
]
