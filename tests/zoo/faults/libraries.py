"""Native libraries that do not fit: the import itself fails."""

import signal
from typing import Any

from tests.zoo.fault import Fault


def misfit(name: str, body: str, *, needs: tuple[str, ...] = ()) -> Fault:
    """A program whose import of `_kernels` fails."""
    program = (
        "import subprocess, sysconfig\nfrom training import begin\n"
        "target = '_kernels' + sysconfig.get_config_var('EXT_SUFFIX')\n"
        "include = sysconfig.get_path('include')\n"
        f"begin()\n{body}\nimport sys\nsys.path.insert(0, '.')\nimport _kernels\n"
    )
    return Fault(name=name, program=program, ends=(1,), state="failed", cause="environment-mismatch", needs=needs)


BUILD = """
def build(source, *options, to):
    with open("source.c", "w") as file:
        file.write(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", to, "source.c", *options], check=True)
"""

MISFIT = "environment-mismatch"

KIT = """
import ctypes, os, subprocess, sys, sysconfig
TARGET = "_kernels" + sysconfig.get_config_var("EXT_SUFFIX")
sys.path.insert(0, ".")
def build(source, to, *options):
    with open("source.c", "w") as file:
        file.write(source)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", to, "source.c", *options], check=True)
"""


def built(name: str, body: str, *, needs: tuple[str, ...] = ("gcc",), cause: str = MISFIT, **more: Any) -> Fault:
    """A program that fails for what surrounds it."""
    program = f"{KIT}from training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(1,), state="failed", cause=cause, needs=needs, **more)


FAULTS = [
    Fault(
        name="imports a library of which half was copied",
        program="""
        import _ctypes, sysconfig, sys
        from training import begin
        begin()
        with open(_ctypes.__file__, "rb") as whole, open("_kernels.so", "wb") as half:
            half.write(whole.read(1000))
        sys.path.insert(0, ".")
        import _kernels
        """,
        ends=(-signal.SIGBUS,),
        state="crashed",
        cause="bus-error",
    ),
    misfit(
        "imports a library of which hardly anything was copied",
        "import _ctypes\n"
        "with open(_ctypes.__file__, 'rb') as whole, open(target, 'wb') as part:\n"
        "    part.write(whole.read(50))",
    ),
    misfit(
        "imports a library that wants a function that is not there",
        BUILD + "build('int cudaMalloc_v99(void); int PyInit__kernels(void) { return cudaMalloc_v99(); }', to=target)",
        needs=("gcc",),
    ),
    misfit(
        "imports a library that wants another library that is not there",
        BUILD + "import os\n"
        "build('int launch(void) { return 0; }', '-Wl,-soname,libcudart.so.11.0', to='libcudart.so')\n"
        "build('int launch(void); int PyInit__kernels(void) { return launch(); }', '-L.', '-lcudart', to=target)\n"
        "os.remove('libcudart.so')",
        needs=("gcc",),
    ),
    misfit(
        "imports a library for another processor",
        "import _ctypes\n"
        "code = bytearray(open(_ctypes.__file__, 'rb').read())\n"
        "code[18:20] = b'\\xf3\\x00'\n"
        "open(target, 'wb').write(code)",
    ),
    built(
        "imports an extension that was built for another version of a library",
        "open('new.map', 'w').write('KERNELS_2.0 { global: launch; };')\n"
        "open('old.map', 'w').write('KERNELS_1.0 { global: launch; };')\n"
        "launch = 'int launch(void) { return 0; }'\n"
        "build(launch, 'libfast.so', '-Wl,--version-script=new.map', '-Wl,-soname,libfast.so')\n"
        "build('int launch(void); int PyInit__kernels(void) { return launch(); }', TARGET,\n"
        "      '-L.', '-lfast', '-Wl,-rpath,' + os.getcwd())\n"
        "build(launch, 'libfast.so', '-Wl,--version-script=old.map', '-Wl,-soname,libfast.so')\n"
        "import _kernels",
    ),
    built(
        "imports an extension that was built under another name",
        "build('int PyInit_kernels_v2(void) { return 0; }', TARGET)\nimport _kernels",
    ),
]
