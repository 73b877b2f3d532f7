"""The source of a program: a script, a module, a `-c` text, or the code of a notebook."""

import os
import re
import stat
from collections.abc import Mapping, Sequence

import msgspec

MOST_BYTES = 1 << 20
MOST_NOTEBOOK_BYTES = 32 << 20
_PYTHON = re.compile(r"(i?python|pypy)[\d.]*")
_WITH_VALUE = "WX"
_KERNELS = ("ipykernel", "ipykernel_launcher", "colab_kernel_launcher")


class Main(msgspec.Struct, frozen=True):
    """What an interpreter was asked to run: a `file`, a `module`, or a `text`."""

    kind: str
    value: str


class Source(msgspec.Struct, frozen=True):
    """The text as it is on the disk now; cut where it is longer than a mebibyte."""

    kind: str
    """`file`, `module`, `text` or `notebook`."""
    path: str
    """Empty for a text."""
    text: bytes
    is_cut: bool = False


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []


def find_source(
    command: Sequence[str], environment: Mapping[str, str], *, cwd: str = "", main_file: str = ""
) -> Source | None:
    """Return what the process runs, or None where it is not Python's or nobody can look.

    Args:
        command: the command line, with nothing masked.
        main_file: what the process itself says its main file is; empty where it could not be asked.
    """
    if main_file:
        return read_source("file", os.path.join(cwd, main_file))
    main = parse_command(command)
    if main is None:
        return None
    if main.kind == "text":
        text = main.value.encode(errors="replace")
        return Source("text", "", text[:MOST_BYTES], len(text) > MOST_BYTES)
    if main.kind == "file":
        return read_source("file", os.path.join(cwd, main.value))
    if main.value.partition(".")[0] in _KERNELS:
        return read_source("notebook", os.path.join(cwd, environment.get("JPY_SESSION_NAME", "")))
    places = [cwd, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    return _find_module(main.value, [place for place in places if place])


def parse_command(command: Sequence[str]) -> Main | None:
    """Return what a Python interpreter's command line asks for, or None where it is none or asks for nothing."""
    if not command or not _PYTHON.fullmatch(os.path.basename(command[0])):
        return None
    rest = list(command[1:])
    while rest:
        argument = rest.pop(0)
        if argument == "-" or not argument.startswith("-"):
            return Main("file", argument) if argument != "-" else None
        if argument == "--check-hash-based-pycs":
            rest = rest[1:]
        elif found := re.match(rf"-[^-cm{_WITH_VALUE}]*([cm{_WITH_VALUE}])(.*)", argument, re.DOTALL):
            value = found[2] or (rest.pop(0) if rest else "")
            if found[1] not in _WITH_VALUE:
                return Main("text" if found[1] == "c" else "module", value)
    return None


def read_source(kind: str, path: str) -> Source | None:
    """Return a file's text, of a notebook the code of its cells; None where it is no text or can't be read."""
    is_notebook = path.endswith(".ipynb")
    found = _read(path, MOST_NOTEBOOK_BYTES if is_notebook else MOST_BYTES)
    if found is None or b"\0" in found[0][:8192]:
        return None
    text, is_cut = found
    if is_notebook:
        kind = "notebook"
        try:
            text = code_of_notebook(text)
        except msgspec.MsgspecError:
            return None
    return Source(kind, path, text[:MOST_BYTES], is_cut or len(text) > MOST_BYTES)


def code_of_notebook(text: bytes) -> bytes:
    """Return the code cells one after the other, each under a `# %%`. Raises msgspec.MsgspecError."""
    cells = msgspec.json.decode(text, type=_Notebook).cells
    sources = ["".join(cell.source) for cell in cells if cell.cell_type == "code"]
    return "\n".join(f"# %%\n{source.rstrip()}\n" for source in sources).encode(errors="replace")


def _find_module(name: str, places: Sequence[str]) -> Source | None:
    inside = name.replace(".", "/")
    for place in places:
        for file in (f"{inside}.py", f"{inside}/__main__.py"):
            if (source := read_source("module", os.path.join(place, file))) is not None:
                return source
    return None


def _read(path: str, most: int) -> tuple[bytes, bool] | None:
    """Return the beginning of a regular file and whether there is more of it."""
    try:
        # Opening a pipe must not wait for its writer.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            text = file.read(most + 1)
    except OSError:
        return None
    return text[:most], len(text) > most
