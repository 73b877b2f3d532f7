"""Runs programs of the system that may take their time, or not be there at all."""

import os
import subprocess

MOST_OUTPUT = 4 << 20


def ask(command: list[str], within_s: float) -> str | None:
    """Return what a command prints, or None where it is missing, fails, or takes too long. Blocks so long."""
    environment = {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0"}
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=within_s,
            check=True,
            env=environment,
            close_fds=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout[-MOST_OUTPUT:].decode(errors="replace")
