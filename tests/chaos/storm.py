"""Three servers on one storage, what is done to them, and what must be there afterwards."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx

from holter.wire.binary_columns import decode_tables
from tests.chaos.runs import LiveRun
from tests.clickhouse.cluster import free_port
from tests.e2e.balancer import Balancer
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served

# The engines that tests have, too.
HOLTER = "import sys, tests; from holter.cli.main import main; sys.exit(main())"
ANSWERS_WITHIN_S = CHECKED_WITHIN_S = 120.0


class Storm:
    """Owns the servers' processes and the way to them."""

    def __init__(self, directory: Path, *places: str, count: int = 3) -> None:
        self._directory, self._places = directory, places
        self._ports = [free_port() for _ in range(count)]
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()
        self._is_leaving = threading.Event()
        self.slowest_s = 0.0
        """How long it took at most until a page was answered again."""
        self.begin(0)
        self.key = Served(self._processes[0], self._output(0)).key
        for number in range(1, count):
            self.begin(number)
        self.served = [Served(self._processes[each], self._output(each), key=self.key) for each in range(count)]
        self.balancer = Balancer(*(each.address for each in self.served))
        self._care = threading.Thread(target=self._look_after, daemon=True)
        self._care.start()

    def begin(self, number: int) -> None:
        """Start one that does not run."""
        with self._lock:
            self._begin(number)

    def _begin(self, number: int) -> None:
        arguments = ["server", "--data", str(self._directory / f"data{number}"), "--port", str(self._ports[number])]
        with self._output(number).open("a") as file:
            self._processes[number] = subprocess.Popen(
                [sys.executable, "-c", HOLTER, *arguments, *self._places],
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def kill(self, number: int) -> None:
        """At once."""
        with self._lock:
            process = self._processes.pop(number)
        process.kill()
        process.wait()

    def _look_after(self) -> None:
        """As systemd does: a server that ended by itself, as a part was away when it began, begins again."""
        while not self._is_leaving.wait(0.5):
            with self._lock:
                ended = [number for number, process in self._processes.items() if process.poll() is not None]
                for number in ended:
                    self._begin(number)

    def strike(self, name: str, *acts: Callable[[], None]) -> None:
        """Something happens, then a page is answered; something else does, then it is again."""
        for act in acts:
            act()
            began = time.monotonic()
            wait_until(self.answers, within_s=ANSWERS_WITHIN_S)
            took_s = time.monotonic() - began
            self.slowest_s = max(self.slowest_s, took_s)
            print(f"{name}: answered after {took_s:.1f} s", flush=True)

    def answers(self) -> bool:
        """Whether somebody who looks at the table sees it, by whatever server."""
        headers = {"authorization": f"Bearer {self.key}"}
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get(f"{self.balancer.url}/api/v1/runs", headers=headers, timeout=20)
            return answer.status_code == 200
        return False

    def close(self) -> None:
        """Leave nothing."""
        self._is_leaving.set()
        self._care.join()
        self.balancer.close()
        for each in self.served:
            each.http.close()
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _output(self, number: int) -> Path:
        return self._directory / f"server{number}.out"


@contextlib.contextmanager
def blowing(directory: Path, *places: str) -> Iterator[Storm]:
    """Servers for the length of the block."""
    storm = Storm(directory, *places)
    try:
        yield storm
    finally:
        storm.close()


def check_all(storm: Storm, runs: Sequence[LiveRun]) -> None:
    """Each server has all of each run, once: points, lines, files, and how it ended."""
    for served in storm.served:
        for run in runs:
            try:
                wait_until(lambda: not difference(served, run), within_s=CHECKED_WITHIN_S)  # noqa: B023
            except AssertionError as error:
                raise AssertionError(f"{served.address}: {difference(served, run)}") from error


def difference(served: Served, run: LiveRun) -> str:
    """What a server says of a run that is not so; empty where there is nothing."""
    try:
        return _difference(served, run)
    except httpx.HTTPError as error:
        return f"{error}; {served.output.read_text()[-2000:]}"


def _difference(served: Served, run: LiveRun) -> str:
    answer = served.http.get(f"/runs/{run.id}")
    if answer.status_code != 200:
        return f"{run.id}: {answer.text}"
    row = answer.json()
    wanted = ("failed" if run.exit_code else "finished", run.step, run.step - 1)
    if (found := (row["state"], row["rows"], row["last_step"])) != wanted:
        return f"{run.id}: {found} instead of {wanted}"
    answer = served.http.get(f"/runs/{run.id}/points", params={"key": "loss"})
    if answer.status_code != 200:
        return f"{run.id}: {answer.text}"
    [(_, columns)] = decode_tables(answer.content)
    if columns["step"].tolist() != list(range(run.step)) or columns["value"].tolist() != run.values:
        return f"{run.id}: {len(columns['step'])} points instead of {run.step}"
    lines = served.get(f"/runs/{run.id}/console", first=0, count=1000)["lines"]
    if [each["text"] for each in lines] != run.lines:
        return f"{run.id}: {len(lines)} lines instead of {len(run.lines)}"
    for path, data in run.files.items():
        if served.http.get(f"/runs/{run.id}/files/{path}").content != data:
            return f"{run.id}: {path} is another"
    return ""
