"""Surroundings that do not fit the program: versions, symbols, packages, files that hide others."""

from typing import Any

from tests.zoo.fault import Fault

MISFIT = "environment-mismatch"

BUILD = """
import ctypes, os, subprocess, sys, sysconfig
TARGET = "_kernels" + sysconfig.get_config_var("EXT_SUFFIX")
sys.path.insert(0, ".")
def build(source, to, *options):
    with open("source.c", "w") as file:
        file.write(source)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", to, "source.c", *options], check=True)
"""

# What Cython puts into every extension: compare the size of a type with that at build time.
SIZE_CHECK = """
typedef struct { long refcount; void *type; } object;
extern object *PyImport_ImportModule(const char *), *PyObject_GetAttrString(object *, const char *);
extern long PyLong_AsLong(object *);
extern object *PyExc_ValueError;
extern object *PyErr_Format(object *, const char *, ...);
object *PyInit__kernels(void) {
    object *dtype = PyObject_GetAttrString(PyImport_ImportModule("numpy"), "dtype");
    long size = PyLong_AsLong(PyObject_GetAttrString(dtype, "__basicsize__"));
    return PyErr_Format(PyExc_ValueError, "numpy.dtype size changed, may indicate binary incompatibility. "
                        "Expected %d from C header, got %ld from PyObject", 72, size);
}
"""


def misfit(name: str, body: str, *, needs: tuple[str, ...] = ("gcc",), cause: str = MISFIT, **more: Any) -> Fault:
    """A program that fails for what surrounds it."""
    program = f"{BUILD}from training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(1,), state="failed", cause=cause, needs=needs, **more)


FAULTS = [
    misfit("loads a library of a driver that is not installed", "ctypes.CDLL('libcudnn_ops.so.9')", needs=()),
    misfit(
        "imports an extension that was built against another numpy",
        f"build({SIZE_CHECK!r}, TARGET)\nimport _kernels",
    ),
    misfit(
        "imports a package whose extension lacks a symbol, and hears of it in other words",
        "os.mkdir('fastattn')\nopen('fastattn/__init__.py', 'w').write("
        "'try:\\n    from ._kernels import forward\\n"
        'except ImportError as error:\\n    raise RuntimeError("fastattn is broken, reinstall it") from error\\n\')\n'
        "build('void _ZN3c104cuda14ExchangeDeviceEa(void);'\n"
        "      'int PyInit__kernels(void) { _ZN3c104cuda14ExchangeDeviceEa(); return 0; }', 'fastattn/' + TARGET)\n"
        "import fastattn",
    ),
    # A package that checks its neighbours' versions raises as any program does; what is wrong is the environment.
    misfit(
        "has a package that wants another version of numpy",
        "import importlib.metadata\nfound = importlib.metadata.version('numpy')\n"
        "if int(found.split('.')[0]) < 99:\n"
        "    raise ImportError(f'numpy>=99.0 is required for this module, but found numpy=={found}')",
        needs=(),
        also=("uncaught-exception",),
    ),
    # Nothing is missing: a file of the program's own hides the package, or lacks the name.
    misfit(
        "has a file that hides a package",
        "open('tokenizers.py', 'w').write('vocabulary = {}\\n')\nimport tokenizers\n"
        "tokenizers.Tokenizer.from_file('bpe.json')",
        needs=(),
        cause="uncaught-exception",
    ),
    misfit(
        "caught that a fast kernel is missing and mixes types later",
        "try:\n    ctypes.CDLL('libtriton_kernels.so.3')\nexcept OSError as error:\n    print('slow path:', error)\n"
        "for step in range(30):\n    log(loss=0.5)\nlen(7)",
        needs=(),
        cause="uncaught-exception",
    ),
]
