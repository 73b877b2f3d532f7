"""Runs commands with and without `holter run` in front, in pipes and on a terminal."""

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.e2e.commands import COMMANDS, Command
from tests.e2e.terminals import Terminal

RUN = [sys.executable, "-m", "holter", "run"]
UNDER_HOLTER = [*RUN, "--"]
QUIET = {"HOLTER_SILENT": "1"}


def run_piped(command: Sequence[str], typed: bytes = b"", **environ: str) -> tuple[int, bytes, bytes]:
    """Exit code as a shell sees it, stdout, stderr."""
    done = subprocess.run(
        command, input=typed, capture_output=True, env={**os.environ, **QUIET, **environ}, timeout=60, check=False
    )
    return shell_code(done.returncode), done.stdout, done.stderr


def shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code


def run_on_terminal(
    command: Sequence[str], *, typed: bytes = b"", settle_s: float = 0.05, **environ: str
) -> tuple[int, bytes]:
    with Terminal(command, size=(33, 101), **environ) as terminal:
        terminal.type(typed)
        return terminal.wait(settle_s), terminal.shown


def in_pipes(name: str, prefix: Command, **environ: str) -> tuple[int, bytes, bytes]:
    """One of the programs that must not notice anything, with something to read."""
    return run_piped([*prefix, *COMMANDS[name]], b"typed\nmore", **environ)


def on_terminal(name: str, prefix: Command, **environ: str) -> tuple[int, bytes]:
    """The same with somebody who types."""
    typed = b"typed\nmore\n\x04" if "input" in name or "typed" in name else b""
    settle_s = 0.5 if "behind" in name else 0.05
    return run_on_terminal([*prefix, *COMMANDS[name]], typed=typed, settle_s=settle_s, **environ)
