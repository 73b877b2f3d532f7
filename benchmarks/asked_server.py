"""A server of anybody's that is started, asked over HTTP, and whose CPU time is counted with all that it starts."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil

STARTS_WITHIN_S = 120.0
ANSWERS_WITHIN_S = 300.0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a server; with a body it is a POST."""

    path: str
    body: Any = None


class AskedServer:
    """A process that answers on a port, with everything that it starts. Whoever makes it closes it."""

    def __init__(self, command: list[str], environ: Mapping[str, str], *, port: int, directory: Path) -> None:
        self.port = port
        self._headers: dict[str, str] = {}
        self._output = directory / "server.out"
        with self._output.open("wb") as out:
            self._process = subprocess.Popen(
                command, cwd=directory, env=environ, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN_S)

    @property
    def said(self) -> str:
        return self._output.read_text(errors="replace")

    def wait_until_it_answers(self, path: str = "/") -> None:
        """Raises RuntimeError where it ends before, or takes too long."""
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                self.ask(Question(path=path))
                return
            except (OSError, http.client.HTTPException):
                self._connection.close()
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"it did not start: {self.said[-2000:]}")
            time.sleep(0.1)

    def present(self, key: str) -> None:
        """Ask with this key or token from now on."""
        self._headers = {"authorization": f"Bearer {key}"}

    def ask(self, question: Question) -> bytes:
        """The whole answer, uncompressed. Raises RuntimeError where it is an error."""
        try:
            return self._ask(question)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            # A server that was not asked for some seconds has closed the connection; this opens another.
            self._connection.close()
            return self._ask(question)

    def _ask(self, question: Question) -> bytes:
        body = None if question.body is None else json.dumps(question.body)
        headers = {"content-type": "application/json", "accept-encoding": "identity", **self._headers}
        self._connection.request("GET" if body is None else "POST", question.path, body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{question.path} was answered with {answer.status}: {data[:500]!r}")
        return data

    def cpu_s(self) -> float:
        """Of the process, all that it started, and what of these has ended."""
        family = [psutil.Process(self._process.pid)]
        family += family[0].children(recursive=True)
        return sum(sum(each.cpu_times()[:4]) for each in family)

    def close(self) -> None:
        """Idempotent."""
        self._connection.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
