"""Real servers on free ports, and what is asked of them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy.typing as npt

from holter.wire.binary_columns import decode_tables
from tests.e2e.programs import data_directory, wait_until

API = "/api/v1"
STARTS_WITHIN_S = 120.0


class Served:
    """A running `holter ui` or `holter server`, asked with a key or token in the header."""

    def __init__(self, process: subprocess.Popen[str], output: Path, *, key: str = "") -> None:
        self.process = process
        self.output = output
        self.home = os.environ.get("HOLTER_DIR", "")
        """Where programs record that are started in the same environment."""
        try:
            wait_until(lambda: self._address() or process.poll() is not None, within_s=STARTS_WITHIN_S)
        except AssertionError as error:
            process.kill()
            process.wait()
            raise AssertionError(f"it does not answer: {output.read_text()}") from error
        assert process.poll() is None, output.read_text()
        self.address = self._address()
        self.key = key or self._key()
        # A connection each: one that is kept may be closed by the server in the moment in which it is used again.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=self.address + API, headers=self.authorization, timeout=60, limits=limits)

    @property
    def authorization(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def state(self, run_id: str) -> str:
        """Empty until the server has heard of the run: what a run is can arrive after its first rows."""
        answer = self.http.get(f"/runs/{run_id}")
        return str(answer.json()["state"]) if answer.status_code == 200 else ""

    def post(self, path: str, body: object) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def series(self, **asked: Any) -> list[tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]]:
        answer = self.http.post("/series", json=asked)
        assert answer.status_code == 200, answer.text
        return decode_tables(answer.content)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _address(self) -> str:
        found = re.search(r"http://[\w.]+:\d+", self.output.read_text())
        return found[0] if found else ""

    def _key(self) -> str:
        text = self.output.read_text()
        found = re.search(r"token=(\w+)", text) or re.search(r"(hk_\S+)", text)
        assert found is not None, text
        return found[1]


def start_holter(*arguments: str, output: Path) -> subprocess.Popen[str]:
    with output.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "holter", *arguments], stdout=file, stderr=subprocess.STDOUT, text=True
        )


@contextlib.contextmanager
def ui(*arguments: str, output: Path | None = None) -> Iterator[Served]:
    """`holter ui` for the test's HOLTER_DIR, on any free port."""
    place = output or data_directory().parent / f"ui-{time.time_ns()}.out"
    chosen = arguments or ("--port", "0")
    served = Served(start_holter("ui", "--no-browser", *chosen, output=place), place)
    try:
        yield served
    finally:
        served.close()


@contextlib.contextmanager
def team_server(data: Path, *arguments: str, key: str = "") -> Iterator[Served]:
    """`holter server` on any free port."""
    place = data.parent / f"server-{time.time_ns()}.out"
    process = start_holter("server", "--data", str(data), "--port", "0", *arguments, output=place)
    served = Served(process, place, key=key)
    try:
        yield served
    finally:
        served.close()


def holter(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holter", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


class Stream:
    """The events of a live stream, read as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()
        self.last_id = 0

    def next(self) -> tuple[str, dict[str, Any]]:
        """The kind and the data of the next event."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and "event" in fields:
                self.last_id = int(fields["id"])
                return fields["event"], json.loads(fields["data"])
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
        raise AssertionError("the stream has ended")

    def wait_for(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """The data of the first event of a kind with these values."""
        while True:
            found, data = self.next()
            if found == kind and all(data.get(name) == value for name, value in wanted.items()):
                return data


@contextlib.contextmanager
def stream(served: Served, last_id: int | None = None, **query: str) -> Iterator[Stream]:
    headers = {} if last_id is None else {"last-event-id": str(last_id)}
    with served.http.stream("GET", "/events", params=query, headers=headers) as response:
        assert response.status_code == 200
        yield Stream(response)
