"""Surroundings that do not fit the program: versions, symbols, packages, files that hide others."""

from tests.zoo.faults.libraries import built

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


FAULTS = [
    built("loads a library of a driver that is not installed", "ctypes.CDLL('libcudnn_ops.so.9')", needs=()),
    built(
        "imports an extension that was built against another numpy",
        f"build({SIZE_CHECK!r}, TARGET)\nimport _kernels",
    ),
    built(
        "imports a package whose extension lacks a symbol, and hears of it in other words",
        "os.mkdir('fastattn')\nopen('fastattn/__init__.py', 'w').write("
        "'try:\\n    from ._kernels import forward\\n"
        'except ImportError as error:\\n    raise RuntimeError("fastattn is broken, reinstall it") from error\\n\')\n'
        "build('void _ZN3c104cuda14ExchangeDeviceEa(void);'\n"
        "      'int PyInit__kernels(void) { _ZN3c104cuda14ExchangeDeviceEa(); return 0; }', 'fastattn/' + TARGET)\n"
        "import fastattn",
    ),
    # A package that checks its neighbours' versions raises as any program does; what is wrong is the environment.
    built(
        "has a package that wants another version of numpy",
        "import importlib.metadata\nfound = importlib.metadata.version('numpy')\n"
        "if int(found.split('.')[0]) < 99:\n"
        "    raise ImportError(f'numpy>=99.0 is required for this module, but found numpy=={found}')",
        needs=(),
        also=("uncaught-exception",),
    ),
    # Nothing is missing: a file of the program's own hides the package, or lacks the name.
    built(
        "has a file that hides a package",
        "open('tokenizers.py', 'w').write('vocabulary = {}\\n')\nimport tokenizers\n"
        "tokenizers.Tokenizer.from_file('bpe.json')",
        needs=(),
        cause="uncaught-exception",
    ),
    built(
        "caught that a fast kernel is missing and mixes types later",
        "try:\n    ctypes.CDLL('libtriton_kernels.so.3')\nexcept OSError as error:\n    print('slow path:', error)\n"
        "for step in range(30):\n    log(loss=0.5)\nlen(7)",
        needs=(),
        cause="uncaught-exception",
    ),
]
