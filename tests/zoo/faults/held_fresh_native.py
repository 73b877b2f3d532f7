"""Native code as libraries run it: callbacks, destructors, teams of threads, strict instructions, old pointers."""

import signal
import textwrap
from typing import Any

from tests.zoo.fault import Fault, Place
from tests.zoo.faults.held_fresh_exceptions import IMPORTS, failing, written
from tests.zoo.faults.memory import TAKING, limit

SEGMENTATION, OVERFLOW, ABORTED = "segmentation-fault", "stack-overflow", "aborted"
ARITHMETIC, BUS = "arithmetic-fault", "bus-error"

BUILD = """
with open("native.cc", "w") as file:
    file.write({source!r})
subprocess.run(["g++", "-O0", "-w", "-fPIC", "-shared", "-pthread", *{options!r}, "-o", "native.so", "native.cc"],
               check=True)
def load():
    return ctypes.CDLL("./native.so")
"""


def dying(name: str, body: str, *, number: int, cause: str, **more: Any) -> Fault:
    """It ends by a fault of its own."""
    return written(name, body, cause=cause, **{"ends": (-number,), "state": "crashed", **more})


def built(name: str, source: str, *, number: int, cause: str, **more: Any) -> Fault:
    """It compiles C++ first; `call` says what it does with it."""
    call = textwrap.dedent(more.pop("call", "begin()\nlog(loss=0.5)\nload().work()"))
    program = IMPORTS + BUILD.format(source=source, options=more.pop("options", [])) + call
    usual = {"ends": (-number,), "state": "crashed", "needs": ("g++",)}
    return Fault(name=name, program=program, cause=cause, **{**usual, **more})


TEAM = """
extern "C" void work() {
    volatile int *weights = nullptr;
    #pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int row = 0; row < 64; row++)
        if (row == 50) weights[row] = row;
}
"""

DEEP_TEAM = """
static long walk(long depth) { volatile char frame[4096]; frame[0] = depth; return walk(depth + 1) + frame[0]; }
extern "C" void work() {
    #pragma omp parallel num_threads(3)
    {
        #pragma omp critical
        walk(0);
    }
}
"""

EXPRESSION = """
#include <regex>
#include <string>
extern "C" int work() {
    std::string text(1 << 20, 'a');
    return std::regex_match(text, std::regex("(a|b|c)*"));
}
"""

THREAD = """
#include <chrono>
#include <thread>
#include <vector>
extern "C" void work() {
    std::vector<int> shards(4);
    std::thread reader([&] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); shards.at(9) = 1; });
    reader.join();
}
"""

CHECK = r"""
#include <cstdio>
#include <cstdlib>
extern "C" void work(int rows, int columns) {
    if (rows != columns) {
        fprintf(stderr, "F1115 04:12:09.118 131 tensor_shape.cc:209] Check failed: rows == columns (%d vs. %d)\n"
                "*** Check failure stack trace: ***\n    @     0x7f3a1c0 (unknown)\n", rows, columns);
        abort();
    }
}
"""

# The stack is aligned for the compiler, not for this.
ALIGNED = """
extern "C" void work() {
    static char buffer[64] __attribute__((aligned(16)));
    asm volatile("movaps %%xmm0, (%0)" : : "r"(buffer + 4) : "memory");
}
"""

FAULTS = [
    dying(
        "is called back from C and follows a pointer that is not there",
        """
        begin()
        COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        def compare(a, b):
            return len(ctypes.string_at(64))
        values = (ctypes.c_int * 6)(5, 2, 9, 1, 7, 3)
        ctypes.CDLL(None).qsort(values, 6, 4, COMPARE(compare))
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
    ),
    built(
        "frees a buffer that has two owners",
        "struct Buffer { char *data = new char[256]; ~Buffer() { delete[] data; } };\n"
        'extern "C" void work() { Buffer first; Buffer second = first; }',
        number=signal.SIGABRT,
        cause=ABORTED,
    ),
    built(
        "loads a library that is not content with where it is loaded",
        "#include <cassert>\nstatic int version() { return 11; }\n"
        'static const bool ready = [] { assert(version() >= 12 && "driver too old"); return true; }();\n'
        'extern "C" void work() {}',
        number=signal.SIGABRT,
        cause=ABORTED,
    ),
    built("has a thread of C++ that asks for the tenth of four", THREAD, number=signal.SIGABRT, cause=ABORTED),
    built(
        "has a library that checks its shapes and gives up",
        CHECK,
        number=signal.SIGABRT,
        cause=ABORTED,
        call="begin()\nfor step in range(30):\n    log(loss=0.5)\nload().work(768, 1024)",
    ),
    built(
        "throws out of a function that promised not to",
        '#include <stdexcept>\nstatic void close() noexcept { throw std::logic_error("still in use"); }\n'
        'extern "C" void work() { close(); }',
        number=signal.SIGABRT,
        cause=ABORTED,
        call="begin()\nthread = threading.Thread(target=load().work)\nthread.start()\nthread.join()",
    ),
    # The processor refuses the address for what it is, and does not say which it was.
    built(
        "stores to an address that is not aligned as the instruction wants",
        ALIGNED,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
        needs=("g++", "x86-64"),
    ),
    built(
        "has a team of threads of which one writes to nowhere",
        TEAM,
        options=["-fopenmp"],
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
    ),
    built(
        "has a team of threads whose stacks are small",
        DEEP_TEAM,
        options=["-fopenmp"],
        number=signal.SIGSEGV,
        cause=OVERFLOW,
        place=Place(environ=(("OMP_STACKSIZE", "256K"),)),
    ),
    built("matches a long text with an expression that recurses", EXPRESSION, number=signal.SIGSEGV, cause=OVERFLOW),
    dying(
        "writes over the head of an object",
        """
        begin()
        weights = [1.0, 2.0, 3.0]
        ctypes.memset(id(weights) + 8, 0, 8)
        weights.append(4.0)
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
    ),
    dying(
        "lets half of a pointer through",
        """
        begin()
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        block = libc.malloc(64 << 20)
        libc.memset(ctypes.c_void_p(block & 0xFFFF_FFFF | 0x6600_0000_0000), 0, ctypes.c_size_t(64))
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
    ),
    # The child's death was tolerated, and is another matter.
    dying(
        "lost a program for memory long before it faults itself",
        f"""
        begin()
        print(subprocess.run([sys.executable, "-c", {TAKING!r}]).returncode)
        for step in range(80):
            log(loss=1 / (step + 1)); time.sleep(0.05)
        ctypes.string_at(8)
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
        place=limit(230),
    ),
    failing(
        "runs a tool that executes what no processor knows",
        """
        with open("tool.c", "w") as file:
            file.write('int main(void) { __asm__ volatile("ud2"); return 0; }')
        subprocess.run(["gcc", "-o", "tool", "tool.c"], check=True)
        begin()
        subprocess.run(["./tool"], check=True)
        """,
        cause="illegal-instruction",
        needs=("gcc", "x86-64"),
    ),
]
