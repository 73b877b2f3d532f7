"""A ClickHouse for tests: chDB behind HTTP, in a process of its own that can be killed and come again."""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.postgres import quick_directory

PROGRAM = Path(__file__).with_name("chdb_server.py")


class ChdbServer:
    """Owns the server's process and its directory.

    Args:
        python: one that has chDB.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="holter-ch-", dir=quick_directory()))
        self.port = 0
        self._python = python
        self._numbers = itertools.count()
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Until it takes connections, where it took them before."""
        command = [
            "setpriv",
            "--pdeathsig=KILL",
            self._python,
            str(PROGRAM),
            str(self.directory / "data"),
            str(self.port),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, f"{command} ended with {self._process.wait()}"
        self.port = int(said)

    def kill(self) -> None:
        """At once."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """Leave nothing."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def new_place(self) -> str:
        """A place that nobody has used."""
        return f"clickhouse://127.0.0.1:{self.port}/place_{os.getpid()}_{next(self._numbers)}"


@contextlib.contextmanager
def running_chdb(python: str = sys.executable) -> Iterator[ChdbServer]:
    """A server for the length of the block."""
    server = ChdbServer(python)
    try:
        server.start()
        yield server
    finally:
        server.close()
