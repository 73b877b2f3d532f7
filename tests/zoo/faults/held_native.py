"""Faults of native code where they are hard to see: threads of C, other handlers, maps that shrink."""

import os
import signal
import time
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.native import PTHREAD, compiled
from tests.zoo.scene import Scene

SEGMENTATION, OVERFLOW, ABORTED = "segmentation-fault", "stack-overflow", "aborted"
ARITHMETIC, ILLEGAL, BUS = "arithmetic-fault", "illegal-instruction", "bus-error"


def native(name: str, number: signal.Signals, *, cause: str, body: str, **more: Any) -> Fault:
    """A program that ends by a fault of its own."""
    program = (
        f"import ctypes, faulty, os, sys, threading, time\nfrom training import begin, log, mark\nbegin()\n{body}\n"
    )
    return Fault(name=name, program=program, ends=(-number,), state="crashed", cause=cause, **more)


def shorten(scene: Scene) -> None:
    """Somebody else writes the file anew."""
    scene.await_mark("mapped")
    time.sleep(0.3)
    os.truncate(scene.stage / "tokens.bin", 4096)


FAULTS = [
    compiled(
        "has a thread of C that aborts while Python waits",
        signal.SIGABRT,
        PTHREAD + "static void *body(void *p) { usleep(300000); abort(); }",
        cause=ABORTED,
    ),
    compiled(
        "calls a virtual function of what is not there yet",
        signal.SIGABRT,
        "struct Layer { Layer() { init(); } void init() { forward(); } virtual void forward() = 0; };\n"
        'struct Linear : Layer { void forward() override {} };\nextern "C" void work() { Linear layer; }',
        cause=ABORTED,
        compiler="g++",
    ),
    compiled(
        "leaves a thread of C++ that nobody joined",
        signal.SIGABRT,
        "#include <chrono>\n#include <thread>\n"
        'extern "C" void work() { std::thread reader([] { std::this_thread::sleep_for(std::chrono::seconds(5)); }); }',
        cause=ABORTED,
        compiler="g++",
    ),
    compiled(
        "takes a remainder of zero deep in a library",
        signal.SIGFPE,
        "static int shard(int sample, int shards) { return sample % shards; }\n"
        "int work(void) { return shard(12345, 0); }",
        cause=ARITHMETIC,
        needs=("gcc", "x86-64"),
    ),
    compiled(
        "writes where its own code lies",
        signal.SIGSEGV,
        "void work(void) { *(volatile char *)work = 0x90; }",
        cause=SEGMENTATION,
    ),
    compiled(
        "faults with the fault handler that it switched on itself",
        signal.SIGSEGV,
        "void work(int *p) { p[1 << 20] = 1; }",
        cause=SEGMENTATION,
        call="import faulthandler\nfaulthandler.enable(open('fault.log', 'w'))\nkernels.work(0)",
    ),
    compiled(
        "prints that it is out of memory and faults for another reason",
        signal.SIGSEGV,
        "int work(int *p) { return p[3]; }",
        cause=SEGMENTATION,
        call="held = bytearray(b'x') * (90 << 20)\nfor _ in range(40):\n    log(loss=0.2); time.sleep(0.03)\n"
        "print('MemoryError: cannot allocate 3.1 GiB, using the slow path', file=sys.stderr, flush=True)\n"
        "kernels.work(0)",
        place=Place(memory_bytes=240 * MIB),
    ),
    native(
        "pickles a chain of a million links without a limit of recursion",
        signal.SIGSEGV,
        cause=OVERFLOW,
        body="import pickle\nsys.setrecursionlimit(10**9)\nchain = None\nfor _ in range(10**6):\n    chain = (chain,)\n"
        "pickle.dumps(chain)",
        needs=("python3.11",),
    ),
    native(
        "runs what is data",
        signal.SIGSEGV,
        cause=SEGMENTATION,
        body="weights = ctypes.create_string_buffer(4096)\nctypes.CFUNCTYPE(None)(ctypes.addressof(weights))()",
    ),
    native(
        "copies to an address that it made up",
        signal.SIGSEGV,
        cause=SEGMENTATION,
        body="def copy():\n    ctypes.memmove(0x7000_0000_0000_00, b'gradients', 9)\n"
        "threads = [threading.Thread(target=copy) for _ in range(4)]\nfor thread in threads:\n    thread.start()\n"
        "time.sleep(10)",
    ),
    native(
        "gives None away more often than it got it",
        signal.SIGABRT,
        cause=ABORTED,
        body="while True:\n    ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))",
    ),
    native(
        "frees what it did not get from the heap",
        signal.SIGABRT,
        cause=ABORTED,
        body="buffer = ctypes.create_string_buffer(1 << 20)\nfaulty.LIBC.free.argtypes = [ctypes.c_void_p]\n"
        "faulty.LIBC.free(ctypes.addressof(buffer) + 4097)",
    ),
    native(
        "divides by zero in a thread while the main thread trains",
        signal.SIGFPE,
        cause=ARITHMETIC,
        body="threading.Timer(0.5, faulty.divide_by_zero).start()\nfor _ in range(200):\n"
        "    log(loss=0.1); time.sleep(0.05)",
        needs=("x86-64",),
    ),
    native(
        "executes garbage in a thread under a fault handler",
        signal.SIGILL,
        cause=ILLEGAL,
        body="threading.Timer(0.5, faulty.execute_garbage).start()\ntime.sleep(20)",
        command=(PYTHON, "-X", "faulthandler", SCRIPT),
    ),
    native(
        "reads tokens from a map that somebody else shortened",
        signal.SIGBUS,
        cause=BUS,
        body="import numpy\nnumpy.zeros(1 << 20, dtype='uint16').tofile('tokens.bin')\n"
        "tokens = numpy.memmap('tokens.bin', dtype='uint16', mode='r')\nmark('mapped')\n"
        "while True:\n    log(mean=float(tokens.mean())); time.sleep(0.05)",
        strike=shorten,
    ),
    native(
        "loads an array by map of which the rest was never downloaded",
        signal.SIGBUS,
        cause=BUS,
        body="import numpy\nnumpy.save('train.npy', numpy.zeros(1 << 20))\n"
        "samples = numpy.load('train.npy', mmap_mode='r')\nopen('train.npy', 'r+b').truncate(1 << 20)\n"
        "print(samples.sum())",
    ),
]
