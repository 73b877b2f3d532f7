"""The shell of IPython that this program runs in, if any. Imports nothing."""

import sys
from typing import Any


def current_shell() -> Any:
    """None anywhere else than in a notebook's kernel or in IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython, "get_ipython", lambda: None)() if ipython is not None else None


def is_kernel() -> bool:
    """A notebook's, and not IPython in a terminal."""
    return getattr(current_shell(), "kernel", None) is not None
