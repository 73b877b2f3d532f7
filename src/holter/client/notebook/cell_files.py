"""Which file Python takes a cell for: tracebacks and stacks name that one, and people know the number only."""

from typing import Any

MOST_EARLIER = 500


def file_of(shell: Any, source: str, *, number: int) -> dict[str, int]:
    """Of the cell that is about to run; empty where this IPython does not tell."""
    get_name = getattr(getattr(shell, "compile", None), "get_code_name", None)
    return {str(get_name(source, source, number)): number} if callable(get_name) else {}


def files_so_far(shell: Any) -> dict[str, int]:
    """Of all cells up to the one that runs, or of the last few hundred of them."""
    known = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return dict(list(known.items())[-MOST_EARLIER:]) if isinstance(known, dict) else {}
