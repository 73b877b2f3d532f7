"""Native code that faults at the exit, in workers, between threads, and behind handlers that hand the signal on."""

import signal
from typing import Any

from tests.zoo.fault import Fault
from tests.zoo.faults.held_fresh_exceptions import failing
from tests.zoo.faults.held_fresh_native import (
    ABORTED,
    BUILD,
    BUS,
    OVERFLOW,
    SEGMENTATION,
    built,
    dying,
)
from tests.zoo.faults.native import PTHREAD, compiled, tool

ILLEGAL = "illegal-instruction"

IN_POOL = """
def work(number):
    return load().work(number)
begin()
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    for value in pool.map(work, range(4)):
        log(value=value)
"""


def in_pool(name: str, source: str, *, cause: str, options: tuple[str, ...] = (), **more: Any) -> Fault:
    """A worker of its pool calls `work` in a library, which does not come back for the last task."""
    program = BUILD.format(source=source, options=list(options)) + IN_POOL
    return failing(name, program, cause=cause, **{"needs": ("g++",), **more})


# Writes into a buffer that Python gave it, and is not told when Python takes it back.
WRITER = """
#include <pthread.h>
#include <unistd.h>
static void *body(void *p) {
    volatile char *buffer = p;
    for (;;) { for (int i = 0; i < 1 << 20; i += 64) buffer[i] = 1; usleep(1000); }
}
void start(void *buffer) { pthread_t thread; pthread_create(&thread, 0, body, buffer); }
"""

CHECKED = """
#include <vector>
extern "C" float work(int index) { std::vector<float> weights(4, 0.5f); return weights[index + 9]; }
"""

JOINED = """
#include <thread>
extern "C" void work() {
    std::thread reader([] {});
    reader.join();
    reader.join();
}
"""

FORTIFIED = """
#include <string.h>
extern "C" int work(const char *name) { char field[16]; strcpy(field, name); return field[3]; }
"""

# As the libraries do that print a stack of their own: they hand the signal to whoever comes after them.
HANDLER = r"""
#include <csignal>
#include <cstdio>
static void report(int number) {
    fprintf(stderr, "*** SIGSEGV received at time=1763216529 on cpu 3 ***\nPC: @ 0x7f21 (unknown) apply_rope()\n");
    signal(number, SIG_DFL);
    raise(number);
}
extern "C" void install() { signal(SIGSEGV, report); }
extern "C" int work() { volatile int *cache = nullptr; return cache[12]; }
"""

PARSER = r"""
#include <stdio.h>
static int parse(int depth) { volatile char token[512]; token[0] = '('; return parse(depth + 1) + token[0]; }
int main(void) { return parse(0); }
"""

OPENED = (
    "takes a buffer back that a thread of C still writes to",
    "shares a block of memory that a worker makes shorter",
    "runs a parser in C that never comes up again",
)

FAULTS = [
    compiled(
        "faults in what a library asked to be done at the exit",
        signal.SIGSEGV,
        "int close_all(int *handles) { return handles[3]; }",
        cause=SEGMENTATION,
        call="import atexit\natexit.register(kernels.close_all, None)\nfor step in range(20):\n    log(loss=0.5)",
    ),
    compiled(
        "takes a buffer back that a thread of C still writes to",
        signal.SIGSEGV,
        WRITER,
        cause=SEGMENTATION,
        call="libc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "buffer = libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x22, -1, 0)\nkernels.start(ctypes.c_void_p(buffer))\n"
        "for step in range(10):\n    log(loss=0.5); time.sleep(0.02)\n"
        "libc.munmap(ctypes.c_void_p(buffer), ctypes.c_size_t(1 << 20))\ntime.sleep(10)",
    ),
    compiled(
        "has a thread of C that calls Python without its lock",
        signal.SIGSEGV,
        "extern void *PyExc_ValueError;\nextern void PyErr_SetString(void *, const char *);\n"
        + PTHREAD
        + 'static void *body(void *p) { usleep(200000); PyErr_SetString(PyExc_ValueError, "late"); return 0; }',
        cause=SEGMENTATION,
    ),
    in_pool(
        "has a pool of which a worker frees a tensor twice",
        '#include <cstdlib>\nextern "C" int work(int n) { char *p = (char *)malloc(40); free(p);'
        " if (n == 3) free(p); return n; }",
        cause=ABORTED,
    ),
    in_pool(
        "has a pool of which a worker overflows an integer in a library that traps it",
        'extern "C" int work(int n) { volatile int tokens = 2147483646; tokens = tokens + n; return tokens; }',
        cause=ILLEGAL,
        options=("-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"),
        needs=("g++", "x86-64"),
    ),
    built(
        "asks for a weight behind the last one, which the library checks",
        CHECKED,
        options=["-D_GLIBCXX_ASSERTIONS"],
        number=signal.SIGABRT,
        cause=ABORTED,
        call="begin()\nlog(loss=0.5)\nload().work(3)",
    ),
    built("joins a thread of C++ for the second time", JOINED, number=signal.SIGABRT, cause=ABORTED),
    built(
        "copies a name into a field that is too short for it",
        FORTIFIED,
        options=["-O2", "-D_FORTIFY_SOURCE=2"],
        number=signal.SIGABRT,
        cause=ABORTED,
        call="begin()\nlog(loss=0.5)\nload().work(b'model.layers.31.self_attn.q_proj.weight')",
    ),
    # The signal that it dies of is one that it sent to itself; it would not have but for the fault.
    built(
        "faults under a handler of its library, which hands the signal on",
        HANDLER,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
        call="begin()\nkernels = load()\nkernels.install()\nlog(loss=0.5)\nkernels.work()",
    ),
    built(
        "calls a function of a library that it has closed",
        'extern "C" int work() { return 7; }',
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
        call="""
        begin()
        kernels = load()
        print(kernels.work())
        libc = ctypes.CDLL(None)
        libc.dlclose(ctypes.c_void_p(kernels._handle))
        kernels.work()
        """,
    ),
    # There is room enough; it is the block itself that became shorter.
    dying(
        "shares a block of memory that a worker makes shorter",
        """
        from multiprocessing import shared_memory
        block = shared_memory.SharedMemory(create=True, size=1 << 20)
        begin()
        pid = os.fork()
        if pid == 0:
            os.ftruncate(block._fd, 4096)
            os._exit(0)
        os.waitpid(pid, 0)
        log(loss=0.5)
        print(bytes(block.buf[800_000:800_010]))
        """,
        number=signal.SIGBUS,
        cause=BUS,
    ),
    dying(
        "compares two very deep trees without a limit of recursion",
        """
        class Node:
            def __init__(self, below):
                self.below = below
            def __eq__(self, other):
                return self.below == other.below
        def tree():
            node = None
            for _ in range(200_000):
                node = Node(node)
            return node
        left, right = tree(), tree()
        sys.setrecursionlimit(1 << 30)
        begin()
        print(left == right)
        """,
        number=signal.SIGSEGV,
        cause=OVERFLOW,
        needs=("python3.11",),
    ),
    tool("runs a parser in C that never comes up again", PARSER, cause=OVERFLOW),
]
