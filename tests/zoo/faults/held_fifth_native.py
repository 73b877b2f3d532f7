"""Native code that faults in Python's own libraries, destructors, tools and notebooks, and ends that look like it."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, TORCH, failing, written
from tests.zoo.faults.held_fresh_native import ABORTED, ARITHMETIC, BUS, OVERFLOW, SEGMENTATION, built, dying
from tests.zoo.faults.memory import TAKE, limit
from tests.zoo.faults.native import tool

ILLEGAL = "illegal-instruction"

LONG_LIST = """
struct Node { Node *next; ~Node() { delete next; } };
extern "C" void work() {
    Node *head = nullptr;
    for (int i = 0; i < 4000000; i++) head = new Node{head};
    delete head;
}
"""

LENGTH = """
#include <vector>
extern "C" void work(long tokens) { std::vector<float> cache; cache.resize(tokens - 100); }
"""

VARIANT = """
#include <map>
#include <string>
extern "C" int work() { std::map<std::string, int> vocabulary{{"the", 1}}; return vocabulary.at("<unk>"); }
"""

REALLOC = """
#include <cstdlib>
extern "C" void work() { char *buffer = (char *)malloc(64); realloc(buffer + 16, 128); }
"""

# Writes one element more than it has room for, which the next call of the heap notices.
TOP = "int main(void) { char *row = malloc(24); memset(row, 255, 64); return malloc(5000) == malloc(6000); }"

CHECK = r"""
#include <cstdio>
#include <cstdlib>
extern "C" void work() {
    fprintf(stderr, "2026-03-01 02:11:08.119 F tensorflow/core/framework/tensor_shape.cc:46] Check failed: "
                    "NDIMS == dims() (2 vs. 1)Asking for tensor of 2 dimensions from a tensor of 1 dimensions\n");
    abort();
}
"""

# Prints what a fault would print and goes on, as a library does that recovers from it.
RECOVERS = r"""
#include <csetjmp>
#include <csignal>
#include <cstdio>
static sigjmp_buf back;
static void hear(int) {
    fprintf(stderr, "caught SIGSEGV in jit, falling back to the interpreter\n");
    siglongjmp(back, 1);
}
extern "C" int work() {
    signal(SIGSEGV, hear);
    if (!sigsetjmp(back, 1)) { volatile int *code = nullptr; return *code; }
    signal(SIGSEGV, SIG_DFL);
    return 0;
}
"""

NOTEBOOK = """
import sys
import nbclient, nbformat
cells = [nbformat.v4.new_code_cell(text) for text in {cells!r}]
notebook = nbformat.v4.new_notebook(cells=cells)
notebook.metadata.kernelspec = {{"name": "python3", "display_name": "Python 3", "language": "python"}}
nbformat.write(notebook, "training.ipynb")
{run}
"""
PAPERMILL = 'import papermill\npapermill.execute_notebook("training.ipynb", "out.ipynb", progress_bar=False)\n'
NBCLIENT = "nbclient.NotebookClient(notebook, timeout=60).execute()\n"


def notebook(name: str, cell: str, *, run: str = PAPERMILL, **more: Any) -> Fault:
    """A notebook that another program runs; it is the kernel that trains and dies."""
    cells = [
        "import ctypes, os, sys, time\nfrom training import begin, log",
        "begin()\nlog(loss=0.5)",
        cell,
        "log(loss=0.1)",
    ]
    usual = {"ends": (1,), "state": "crashed", "run_state": "failed", "takes_s": 60.0}
    return Fault(name=name, program=NOTEBOOK.format(cells=cells, run=run), **{**usual, **more})


FAULTS = [
    dying(
        "looks at an array through strides that lead elsewhere",
        """
        import numpy
        begin()
        log(loss=0.5)
        windows = numpy.lib.stride_tricks.as_strided(numpy.zeros(8), shape=(64,), strides=(1 << 32,))
        print(windows.sum())
        """,
        number=signal.SIGSEGV,
        cause=SEGMENTATION,
    ),
    dying(
        "chains its data sets again and again",
        """
        import itertools
        begin()
        samples = iter([1])
        for _ in range(400_000):
            samples = itertools.chain(samples, [1])
        log(first=next(samples))
        """,
        number=signal.SIGSEGV,
        cause=OVERFLOW,
        needs=("python3.11",),
    ),
    dying(
        "reads weights by map from a file that became shorter, with torch",
        """
        import torch
        open("weights.bin", "wb").write(bytes(8 << 20))
        begin()
        weights = torch.from_file("weights.bin", shared=True, size=2 << 20)
        os.truncate("weights.bin", 4096)
        log(mean=weights.mean().item())
        """,
        number=signal.SIGBUS,
        cause=BUS,
        needs=TORCH,
    ),
    dying(
        "writes behind a block that Python's own allocator watches",
        """
        begin()
        log(loss=0.5)
        block = ctypes.pythonapi.PyMem_Malloc
        block.restype = ctypes.c_void_p
        address = block(ctypes.c_size_t(32))
        ctypes.memset(address, 1, 40)
        ctypes.pythonapi.PyMem_Free(ctypes.c_void_p(address))
        """,
        number=signal.SIGABRT,
        cause=ABORTED,
        place=Place(environ=(("PYTHONMALLOC", "debug"),)),
    ),
    dying(
        "calls the interpreter without its lock, which it notices",
        "begin()\nlog(loss=0.5)\nctypes.CDLL(None).PyThreadState_Get()\n",
        number=signal.SIGABRT,
        cause=ABORTED,
    ),
    dying(
        "tells the interpreter of an error that cannot go on",
        """
        begin()
        log(loss=0.5)
        ctypes.pythonapi.Py_FatalError(b"out of memory in tokenizer cache: refusing to go on")
        """,
        number=signal.SIGABRT,
        cause=ABORTED,
    ),
    built(
        "destroys a list of millions, each of which destroys the next", LONG_LIST, number=signal.SIGSEGV, cause=OVERFLOW
    ),
    built("asks for less than nothing in C++", LENGTH, number=signal.SIGABRT, cause=ABORTED),
    built("looks up a word that its vocabulary in C++ does not have", VARIANT, number=signal.SIGABRT, cause=ABORTED),
    built("makes a buffer longer from its middle", REALLOC, number=signal.SIGABRT, cause=ABORTED),
    tool("runs a tool that writes over what the heap keeps behind a row", TOP, cause=ABORTED),
    built("gives a tensor of the wrong rank to a library that checks", CHECK, number=signal.SIGABRT, cause=ABORTED),
    # Its handler speaks of a fault that it got over; what ends it comes later.
    built(
        "recovers from a fault in its compiler and divides by zero",
        RECOVERS,
        number=signal.SIGFPE,
        cause=ARITHMETIC,
        call="import faulty\nbegin()\nload().work()\nfor step in range(30):\n    log(loss=0.5); time.sleep(0.02)\n"
        "faulty.divide_by_zero()",
        needs=("g++", "x86-64"),
    ),
    written(
        "faults while somebody traces it",
        "begin()\nlog(loss=0.5)\nctypes.string_at(8)\n",
        cause=SEGMENTATION,
        command=("strace", "-f", "-e", "trace=none", "-o", "trace.txt", PYTHON, SCRIPT),
        ends=(-signal.SIGSEGV,),
        state="crashed",
        needs=("strace",),
    ),
    tool(
        "runs a tool that divides by the number of its files",
        "int main(int n, char **v) { return 7 / (n - 1); }",
        cause=ARITHMETIC,
    ),
    tool(
        "runs a tool that reads an index which is empty",
        '#include <fcntl.h>\n#include <unistd.h>\nint main(void) { int f = open("index", O_RDWR | O_CREAT, 0600);'
        " return *(char *)mmap(0, 4096, PROT_READ, MAP_SHARED, f, 0); }",
        cause=BUS,
    ),
    failing(
        "awaits a tool in its event loop, which faults",
        """
        async def main():
            fault = "import ctypes; ctypes.string_at(0)"
            tool = await asyncio.create_subprocess_exec(sys.executable, "-c", fault)
            if await tool.wait():
                raise RuntimeError("feature extraction failed")
        begin()
        asyncio.run(main())
        """,
        cause=SEGMENTATION,
    ),
    failing(
        "has a process in which the interpreter gives up",
        """
        def work():
            ctypes.pythonapi.Py_FatalError(b"gc refcount corruption")
        begin()
        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
        assert worker.exitcode == 0, "evaluation did not come back"
        """,
        cause=ABORTED,
    ),
    # It only passes on what a tool printed about another program.
    failing(
        "reads of a fault in the log of a tool and leaves with 3",
        """
        begin()
        print("Segmentation fault (core dumped)\\nbuild of optional extension failed, see config.log", file=sys.stderr)
        for step in range(20):
            log(loss=0.5); time.sleep(0.01)
        print("error: target accuracy was not reached")
        sys.exit(3)
        """,
        cause=LEFT,
        code=3,
    ),
    notebook("is a notebook of papermill that faults", "ctypes.string_at(0)", cause=SEGMENTATION),
    notebook("is a notebook that aborts in a cell", "os.abort()", run=NBCLIENT, cause=ABORTED),
    notebook("is a notebook of papermill that takes all memory", TAKE, cause="cgroup-out-of-memory", place=limit(420)),
    notebook("is a notebook whose cell leaves hard with 3", "os._exit(3)", run=NBCLIENT, cause=LEFT, state="failed"),
]
