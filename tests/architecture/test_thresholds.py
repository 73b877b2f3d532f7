"""Numbers between 0 and 1 in the diagnosis: none is a confidence, and each has a name and a reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import holter.diagnosis

FOLDER = Path(holter.diagnosis.__file__).parent
EARNED = "earned.py"
"""The only file with confidences; `make zoo` writes it."""


def shares(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1:
            yield node


def named(tree: ast.Module) -> Iterator[ast.Constant]:
    """Those in an assignment to a constant of the module, right before the text that says why."""
    for node, after in zip(tree.body, tree.body[1:], strict=False):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(node, ast.Assign) and is_text and isinstance(node.targets[0], ast.Name):
            yield from shares(node)


def test_every_number_between_0_and_1_is_a_threshold_with_a_name_and_a_reason() -> None:
    bare = []
    for path in sorted(FOLDER.rglob("*.py")):
        tree = ast.parse(path.read_text())
        known = {id(node) for node in named(tree)}
        bare += [f"{path.name}:{node.lineno}: {node.value!r}" for node in shares(tree) if id(node) not in known]
    assert [each for each in bare if not each.startswith(EARNED)] == []
