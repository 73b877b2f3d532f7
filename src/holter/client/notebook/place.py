"""Which notebook this is: what stays the same when its kernel is replaced by another."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

# Jupyter's own, and Colab's. VS Code sets none, but puts the path into the namespace.
_VARIABLES = ("JPY_SESSION_NAME", "COLAB_NOTEBOOK_ID")
_NAME = "__vsc_ipynb_file__"


class Place(msgspec.Struct, frozen=True):
    """A notebook by its path where a front end says it, else the directory in which the kernel was started."""

    path: str
    is_notebook: bool

    @property
    def name(self) -> str:
        """For people: the last part of the path."""
        return os.path.basename(self.path.rstrip("/")) or self.path


def find_place(shell: Any, environ: Mapping[str, str]) -> Place:
    """Never a kernel's id: that stays the same when a kernel is replaced, and changes when a server is."""
    directory = str(getattr(shell, "starting_dir", "") or "")
    named = (getattr(shell, "user_ns", None) or {}).get(_NAME)
    for found in (named, *(environ.get(name) for name in _VARIABLES)):
        if isinstance(found, str) and found:
            return Place(os.path.normpath(os.path.join(directory, found)), is_notebook=True)
    return Place(directory, is_notebook=False)
