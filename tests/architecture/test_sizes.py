"""Guards the tail: the longest file, function, parameter list and class."""

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "holter"

FILE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 6
POSITIONAL_PARAMETERS = 2
PUBLIC_METHODS = 12
INTERFACE_METHODS = 7

# `init`, `Run`, artifacts and the media have the shape that W&B's users bring along: `run.log(data, step, commit)`.
DOOR_PARAMETERS = 25
DOOR_POSITIONAL_PARAMETERS = 6
DOOR_METHODS = 20

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A function or class, with its dotted name inside its file (`Run.log`)."""

    file: str
    name: str
    node: Function | ast.ClassDef

    @property
    def place(self) -> str:
        return f"{self.file}:{self.node.lineno} {self.name}"

    @property
    def is_door(self) -> bool:
        if self.file == "agents/entry.py":
            return self.name in {"sweep", "agent"}
        names = {"init", "alert", "save", "watch", "Run", "ToolsOfRun", "DefinedRun", "ArtifactRun", "understood"}
        has_their_shape = self.name.split(".")[0] in names
        folders = ("client/media/", "wandb_door/")
        files = {"artifacts/artifact.py", "artifacts/draft.py", "integrations/sklearn_plots.py"}
        is_theirs = self.file.startswith(folders) or self.file in files
        return is_theirs or (self.file.startswith("client/") and has_their_shape)


def definitions(file: str, node: ast.AST, prefix: str = "") -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            yield Definition(file, prefix + child.name, child)
            yield from definitions(file, child, prefix=f"{prefix}{child.name}.")
        elif not isinstance(child, ast.expr):  # which holds none
            yield from definitions(file, child, prefix)


def decorators(node: Function) -> set[str]:
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}


def methods(node: ast.ClassDef) -> list[Function]:
    return [child for child in node.body if isinstance(child, Function)]


def public_methods(node: ast.ClassDef) -> set[str]:
    """Name what a caller may call; a property reads as an attribute and is none."""
    is_attribute = {"property", "cached_property", "setter", "deleter"}
    return {m.name for m in methods(node) if not m.name.startswith("_") and not decorators(m) & is_attribute}


def parameters(node: Function, *, is_method: bool) -> tuple[int, int]:
    """Count all parameters, and those that a caller may pass by position without having to.

    Names before a `/` are a signature that somebody else dictates (a hook, a signal handler) or that a hot path
    cannot afford by keyword.
    """
    spec = node.args
    bound = int(is_method and "staticmethod" not in decorators(node))
    positional = len(spec.posonlyargs) + len(spec.args) - bound
    rest = sum(extra is not None for extra in (spec.vararg, spec.kwarg))
    # What begins with an underscore has its callers in sight; special methods but the constructor are dictated.
    is_dictated = node.name.startswith("_") and node.name != "__init__"
    free = 0 if is_dictated else len(spec.args) - (0 if spec.posonlyargs else bound)
    return positional + len(spec.kwonlyargs) + rest, free


def long_functions(found: list[Definition]) -> Iterator[str]:
    for each in found:
        lines = (each.node.end_lineno or 0) - each.node.lineno + 1
        if isinstance(each.node, Function) and lines > FUNCTION_LINES:
            yield f"{each.place}: {lines} lines, at most {FUNCTION_LINES}"


def long_parameter_lists(found: list[Definition]) -> Iterator[str]:
    direct = {method for each in found if isinstance(each.node, ast.ClassDef) for method in methods(each.node)}
    for each in found:
        if not isinstance(each.node, Function):
            continue
        count, free = parameters(each.node, is_method=each.node in direct)
        limit = DOOR_PARAMETERS if each.is_door else PARAMETERS
        if count > limit:
            yield f"{each.place}: {count} parameters, at most {limit}"
        limit = DOOR_POSITIONAL_PARAMETERS if each.is_door else POSITIONAL_PARAMETERS
        if free > limit:
            yield f"{each.place}: put a * after parameter {limit}, the rest is keyword-only"


def wide_classes(found: list[Definition]) -> Iterator[str]:
    for each in found:
        if not isinstance(each.node, ast.ClassDef):
            continue
        count = len(public_methods(each.node))
        bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in each.node.bases}
        limit = DOOR_METHODS if each.is_door else INTERFACE_METHODS if bases & {"Protocol", "ABC"} else PUBLIC_METHODS
        if count > limit:
            yield f"{each.place}: {count} public methods, at most {limit}"


@functools.cache
def definitions_in_source() -> list[Definition]:
    return [
        definition
        for path in sorted(SOURCE.rglob("*.py"))
        for definition in definitions(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text()))
    ]


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > FILE_LINES} == {}


@pytest.mark.parametrize("oversized", [long_functions, long_parameter_lists, wide_classes])
def test_nothing_in_the_source_is_oversized(oversized: Callable[[list[Definition]], Iterator[str]]) -> None:
    found = list(oversized(definitions_in_source()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "complaints"),
    [
        ("def f(a, b, *, c, d, e, f): ...", 0),
        ("def f(a, b, *, c, d, e, f, g): ...", 1),
        ("def f(a, b, c): ...", 1),
        ("def hook(kind, error, trace, /): ...", 0),
        ("class A:\n def f(self, a, b, *, c): ...", 0),
        ("class A:\n def f(self, a, b, c): ...", 1),
        ("class A:\n def __exit__(self, kind, error, trace): ...", 0),
        ("def f():\n" + " 1\n" * 60, 1),
        ("class A:\n" + "".join(f" def m{n}(self): ...\n" for n in range(13)), 1),
        ("class A(Protocol):\n" + "".join(f" def m{n}(self): ...\n" for n in range(8)), 1),
        ("class A:\n" + "".join(f" @property\n def m{n}(self): ...\n" for n in range(13)), 0),
    ],
)
def test_the_measures_find_what_they_should(code: str, complaints: int) -> None:
    found = list(definitions("example.py", ast.parse(code)))
    assert len([*long_functions(found), *long_parameter_lists(found), *wide_classes(found)]) == complaints


def test_only_the_door_may_be_wide() -> None:
    door = "def init(project, name, *, " + ", ".join(f"p{n}" for n in range(23)) + "): ..."
    assert list(long_parameter_lists(list(definitions("client/init.py", ast.parse(door))))) == []
    assert len(list(long_parameter_lists(list(definitions("sidecar/init.py", ast.parse(door)))))) == 1
