"""Has Jupyter servers load our extension, by one file of our own in their configuration; and undoes exactly that.

No kernelspec is changed: those are shared with front ends that know nothing of holter.
"""

import importlib.util
import json
import os
import sys

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_file
from holter.jupyter import EXTENSION

FOLDER, FILE = "jupyter_server_config.d", "holter.json"
CONTENT = {"ServerApp": {"jpserver_extensions": {EXTENSION: True}}}


class Change(msgspec.Struct, frozen=True):
    """What was done to the configuration at one place."""

    path: str
    is_new: bool
    """False where it was so already."""


def install(*, is_for_user: bool) -> Change:
    """Write our file; idempotent. Raises UsageError where there is no Jupyter server, or the place can't be written.

    Args:
        is_for_user: for all Jupyter servers of this user, rather than for those of this Python.
    """
    if importlib.util.find_spec("jupyter_server") is None:
        raise UsageError(
            f"there is no Jupyter server in {sys.prefix}: install holter beside it and run this with its Python, "
            "as in `/path/of/jupyter/bin/python -m holter jupyter install`"
        )
    path = _place(is_for_user=is_for_user)
    if _read(path) == CONTENT:
        return Change(path, is_new=False)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, (json.dumps(CONTENT, indent=2) + "\n").encode())
        os.chmod(path, 0o644)  # a server of somebody else, in the same environment, reads it too
    except OSError as error:
        other = "" if is_for_user else "; `holter jupyter install --user` writes into your own configuration"
        raise UsageError(f"can't write {path}: {error.strerror or error}{other}") from error
    return Change(path, is_new=True)


def uninstall() -> list[Change]:
    """Remove our files, wherever `install` put them; idempotent. Raises UsageError where one can't be removed."""
    removed = []
    for is_for_user in (False, True):
        path = _place(is_for_user=is_for_user)
        if not os.path.lexists(path):
            continue
        try:
            os.unlink(path)
        except OSError as error:
            raise UsageError(f"can't remove {path}: {error.strerror or error}; remove it by hand") from error
        removed.append(Change(path, is_new=True))
    return removed


def _place(*, is_for_user: bool) -> str:
    """Where Jupyter looks: beside this Python, or in the user's own configuration."""
    if not is_for_user:
        return os.path.join(sys.prefix, "etc", "jupyter", FOLDER, FILE)
    chosen = os.environ.get("JUPYTER_CONFIG_DIR")
    try:
        from jupyter_core.paths import jupyter_config_dir

        return os.path.join(jupyter_config_dir(), FOLDER, FILE)
    except ImportError:  # Jupyter was removed before us
        return os.path.join(chosen or os.path.expanduser("~/.jupyter"), FOLDER, FILE)


def _read(path: str) -> object:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(1 << 16))
    except (OSError, msgspec.DecodeError):
        return None
