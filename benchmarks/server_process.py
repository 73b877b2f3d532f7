"""A real `holter server` that can be killed and started again at the same address, and what is asked of it."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from holter.errors import Unreachable
from holter.wire.binary_columns import decode_tables
from holter.wire.connection import Connection, parse_address

STARTS_WITHIN_S = 60.0


class ServerProcess:
    """One server for one data directory. The first start makes the key; whoever makes the object closes it."""

    def __init__(self, data: Path, *, files: int = 0) -> None:
        self.data = data
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = ""
        self.process: subprocess.Popen[bytes] | None = None
        self._files = files
        """So many it may open before it raises that by itself; 0 for as many as we may."""
        self._output = data.parent / f"{data.name}.out"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._output.write_bytes(b"")
        command = [sys.executable, "-m", "holter", "server", "--data", str(self.data), "--port", str(self.port)]
        if self._files:
            command = ["sh", "-c", f'ulimit -Sn {self._files} && exec "$@"', "sh", *command]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLTER_")}
        with self._output.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"holter server did not start: {self._output.read_text()}")
            time.sleep(0.02)
        found = re.search(r"hk_\S+", self._output.read_text())
        self.key = self.key or (found[0] if found else "")

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Idempotent."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def connect(self) -> Connection:
        return Connection(parse_address(self.url), self.key, timeout_s=60)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        connection = self.connect()
        try:
            return dict(connection.ask("GET", path, query=query).json(dict))
        finally:
            connection.close()

    def points(self, run: str, key: str) -> dict[str, npt.NDArray[np.generic]]:
        """All points of a series, as columns `step`, `time` and `value`."""
        connection = self.connect()
        try:
            answer = connection.ask("GET", f"/runs/{run}/points", query={"key": key, "limit": 5_000_000})
        finally:
            connection.close()
        [(_, columns)] = decode_tables(answer.data)
        return columns

    def _answers(self) -> bool:
        try:
            self.get("/info")
        except Unreachable:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
