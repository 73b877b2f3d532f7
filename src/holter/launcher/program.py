"""Finds the command that was asked for and starts it, as a shell would."""

import errno
import os
import signal
from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn

from holter.errors import NotRunnable

NOT_FOUND, NOT_EXECUTABLE = 127, 126
# Python ignores these two for itself; an ignored signal would stay ignored in the command.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def find_program(name: str, environ: dict[str, str]) -> str:
    """The file that a shell would run. Raises NotRunnable."""
    if "/" in name:
        if not os.path.lexists(name):
            raise NotRunnable(f"there is no file {name!r} to run", NOT_FOUND)
        _check(name)
        return name
    found = ""
    for directory in os.get_exec_path(environ):
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            found = found or path
    if found:
        _check(found)
    raise NotRunnable(f"there is no command {name!r} in the directories of PATH: check its spelling", NOT_FOUND)


def spawn(
    program: str,
    command: Sequence[str],
    *,
    environ: dict[str, str],
    targets: Iterable[tuple[int, int]],
    mask: Collection[int],
) -> int:
    """Start it as our child, in our session and group, with our standard input. Returns its pid. Raises NotRunnable.

    Args:
        program: the file to run.
        command: what it is told it was called as.
        environ: its environment.
        targets: pairs of a descriptor of ours and the one that it gets for it.
        mask: the signals that it finds blocked.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, its) for ours, its in targets]
    try:
        return _spawn(program, command, environ, actions, mask)
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script without a first line that says for whom: shells run it themselves
            return _spawn("/bin/sh", ["sh", program, *command[1:]], environ, actions, mask)
        code = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
        raise NotRunnable(f"can't run {program!r}: {error.strerror}", code) from error


def replace_by(program: str, command: Sequence[str], *, environ: dict[str, str]) -> NoReturn:
    """Become the command. Raises NotRunnable."""
    for number in _PYTHON_IGNORES:
        signal.signal(number, signal.SIG_DFL)
    try:
        try:
            os.execve(program, list(command), environ)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execve("/bin/sh", ["sh", program, *command[1:]], environ)
    except OSError as error:
        raise NotRunnable(f"can't run {program!r}: {error.strerror}", NOT_EXECUTABLE) from error


def _spawn(
    program: str,
    command: Sequence[str],
    environ: dict[str, str],
    actions: list[tuple[int, int, int]],
    mask: Collection[int],
    /,
) -> int:
    return os.posix_spawn(
        program, list(command), environ, file_actions=actions, setsigmask=mask, setsigdef=_PYTHON_IGNORES
    )


def _check(path: str) -> None:
    if os.path.isdir(path):
        raise NotRunnable(f"{path!r} is a directory and can't be run", NOT_EXECUTABLE)
    if not os.access(path, os.X_OK):
        raise NotRunnable(f"{path!r} can't be run: it is not executable; `chmod +x` makes it so", NOT_EXECUTABLE)
