"""The notebook kernels that Jupyter would offer, in the order in which it looks for them."""

import glob
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping

from holter.doctor.machine import Kernel


def read_kernels(environ: Mapping[str, str], prefix: str = sys.prefix) -> Iterator[Kernel]:
    """Of several with one name the first, as Jupyter takes it; only those of Python."""
    seen = set()
    for folder in _folders(environ, prefix):
        for spec in sorted(glob.glob(f"{glob.escape(folder)}/kernels/*/kernel.json")):
            place = os.path.dirname(spec)
            name = os.path.basename(place).lower()
            if name not in seen and (kernel := _read(name, place, prefix)) is not None:
                seen.add(name)
                yield kernel


def _folders(environ: Mapping[str, str], prefix: str) -> list[str]:
    given = [each for each in environ.get("JUPYTER_PATH", "").split(":") if each]
    home = environ.get("JUPYTER_DATA_DIR") or os.path.join(
        environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME", "/"), ".local", "share"), "jupyter"
    )
    own = os.path.join(prefix, "share", "jupyter")
    is_virtual = prefix != sys.base_prefix or os.path.exists(os.path.join(prefix, "conda-meta"))
    ordered = [own, home] if is_virtual else [home, own]
    return [*given, *ordered, "/usr/local/share/jupyter", "/usr/share/jupyter"]


def _read(name: str, place: str, prefix: str) -> Kernel | None:
    try:
        with open(os.path.join(place, "kernel.json"), encoding="utf-8") as file:
            spec = json.load(file)
        command = str(spec["argv"][0])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
    if str(spec.get("language", "")).lower() != "python":
        return None
    if not os.path.isabs(command):
        # Jupyter takes the server's own interpreter for these.
        is_own = command in ("python", "python3", os.path.basename(sys.executable))
        found = sys.executable if is_own else shutil.which(command)
        if found is None:
            return Kernel(name=name, folder=place, executable=command, is_there=False)
        command = found
    if not os.access(command, os.X_OK):
        return Kernel(name=name, folder=place, executable=command, is_there=False)
    # Not the real path: a link in an environment's `bin` is what tells the environment.
    kernel_prefix = os.path.dirname(os.path.dirname(os.path.abspath(command)))
    return Kernel(
        name=name,
        folder=place,
        executable=command,
        prefix=kernel_prefix,
        has_ipykernel=_has_ipykernel(kernel_prefix) if "ipykernel_launcher" in map(str, spec["argv"]) else None,
    )


def _has_ipykernel(prefix: str) -> bool | None:
    """None where its packages can't be found, as with a system's own Python."""
    places = glob.glob(f"{glob.escape(prefix)}/lib/python3*/site-packages")
    if not any(os.path.exists(os.path.join(prefix, mark)) for mark in ("pyvenv.cfg", "conda-meta")) or not places:
        return None
    return any(os.path.isdir(os.path.join(place, "ipykernel")) for place in places)
