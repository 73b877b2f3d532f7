"""Reads YAML and remembers in which line each value stands."""

from typing import Any

from holter.errors import UsageError

Path = tuple[str | int, ...]


def read_yaml(text: str, *, name: str) -> tuple[Any, dict[Path, int]]:
    """The content, and the line of each of its values. Raises UsageError where it is no YAML."""
    try:
        import yaml
    except ImportError as error:
        raise UsageError("sweeps need Optuna: `pip install 'holter[sweeps]'`") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{name} can't be read as YAML: {' '.join(str(error).split())}") from error
    lines: dict[Path, int] = {}
    if root is not None:
        _note(root, (), lines)
    return found, lines


def _note(node: Any, path: Path, lines: dict[Path, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if node.id == "mapping":
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _note(value, (*path, key.value), lines)
    elif node.id == "sequence":
        for place, value in enumerate(node.value):
            _note(value, (*path, place), lines)
