"""Faults of native code as a compiler makes it: in a library, in a program of its own, in C++."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, TRAINING, Fault, Place

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

FAULTS = [
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
]
