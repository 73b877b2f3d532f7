"""Other trackers with a server: installed apart, given the same points as holter, started as they come.

A new one is an entry of PEERS, and a function in `peer_fill.py`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.asked_server import AskedServer, Question, free_port
from benchmarks.trials import ROOT, environment

DIRECTORY = ROOT / ".venv-peer-servers"
FILLS_WITHIN_S = 1800.0
QUIET = {
    "NO_PROXY": "127.0.0.1,localhost",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # more processes, which have nothing to do with runs
}
SHOW_TRACKIO = "import sys, trackio; trackio.show(open_browser=False, block_thread=True, server_port=int(sys.argv[1]))"
RUNS_AT_ONCE = 64
"""So many trackio takes in one question."""

Way = list[Question]
"""Questions that together lead to an answer."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """A project of so many runs with so many series of so many points each."""

    project: str
    runs: int
    keys: int
    points: int


class NotInstalled(Exception):
    """The tracker is not there and could not be fetched; the text says why."""


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A tracker of others, and what its server is asked for a chart of one series and for a list of runs."""

    name: str
    ready_path: str
    command: Callable[[Path, str], list[str]]
    """For a data directory and a port; the first word is a command of its environment."""
    chart: Callable[[dict[str, Any], int], list[Way]]
    """One series in so many points, given what its fill left behind: all ways that there are."""
    listing: Callable[[dict[str, Any]], list[Way]]
    """All runs with the last values of all series, likewise."""

    def python(self) -> Path:
        """Of an environment of its own; made when it is first needed. Raises NotInstalled."""
        home = DIRECTORY / self.name
        python, ready = home / "bin" / "python", home / ".ready"
        if not ready.exists():
            print(f"installing {self.name} into {home.relative_to(ROOT)}", file=sys.stderr, flush=True)
            pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--quiet", self.name]
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
                subprocess.run(pip, check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise NotInstalled(f"{self.name} could not be installed, and is left out: {error}") from error
            ready.touch()
        return python

    def version(self) -> str:
        code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
        command = [str(self.python()), "-c", code, self.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def fill(self, directory: Path, *data: DataSet) -> subprocess.Popen[str]:
        """Begin to write the points, in a process group of its own."""
        fill = f"{self.python()} -m benchmarks.peer_fill {self.name} {directory}"
        commands = [f"{fill} {each.project} {each.runs} {each.keys} {each.points}" for each in data]
        return subprocess.Popen(
            ["sh", "-c", " && ".join(commands)],
            env=environment(directory) | QUIET,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def serve(self, directory: Path) -> AskedServer:
        """Start it and wait until it answers. Raises RuntimeError."""
        port = free_port()
        first, *rest = self.command(directory, str(port))
        command = [str(self.python().parent / first), *rest]
        served = AskedServer(command, environment(directory) | QUIET, port=port, directory=directory)
        try:
            served.wait_until_it_answers(self.ready_path)
        except RuntimeError:
            served.close()
            raise
        return served


class Company:
    """The other trackers of one measurement. One that can't be had is left out, and noted. Its maker closes it."""

    def __init__(self, wanted: Sequence[Peer], home: Path, *, is_alone: bool) -> None:
        self.servers: dict[str, AskedServer] = {}
        self.notes = ["The others were left out (--no-peers)."] if is_alone else []
        self._home = home
        self._peers: dict[str, Peer] = {}
        self._fillings: dict[str, subprocess.Popen[str]] = {}
        for peer in () if is_alone else wanted:
            try:
                peer.python()
                self._peers[peer.name] = peer
            except NotInstalled as error:
                self.notes.append(str(error))

    def begin_to_fill(self, *data: DataSet) -> None:
        """All at once, each in a process of its own."""
        for name, peer in self._peers.items():
            (self._home / name).mkdir(parents=True)
            self._fillings[name] = peer.fill(self._home / name, *data)

    def serve(self) -> list[Peer]:
        """Wait until they are filled, and start them; those that are there."""
        for name, peer in list(self._peers.items()):
            try:
                _wait_for(self._fillings[name])
                self.servers[name] = peer.serve(self._home / name)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                self.notes.append(f"{name} is left out: {error}")
                del self._peers[name]
        return list(self._peers.values())

    def left_behind(self, peer: Peer, data: DataSet) -> dict[str, Any]:
        """What the fill of a data set says of it: its project, and the ids of its runs."""
        told = json.loads((self._home / peer.name / f"{data.project}.json").read_text())
        return {"project": data.project, **told}

    def labels(self) -> dict[str, str]:
        return {name: f"{name} {peer.version()}" for name, peer in self._peers.items()}

    def close(self) -> None:
        """Idempotent."""
        for server in self.servers.values():
            server.close()
        for filling in self._fillings.values():
            if filling.poll() is None:
                os.killpg(filling.pid, signal.SIGKILL)
                filling.communicate()


def _wait_for(filling: subprocess.Popen[str]) -> None:
    _, said = filling.communicate(timeout=FILLS_WITHIN_S)
    if filling.returncode != 0:
        raise RuntimeError(f"its data could not be written: {said[-2000:]}")


def _mlflow(directory: Path, port: str) -> list[str]:
    # One worker, so that what is asked again is asked of the same one.
    place = ["--backend-store-uri", f"sqlite:///{directory}/mlflow.db", "--workers", "1"]
    return ["mlflow", "server", *place, "--host", "127.0.0.1", "--port", port]


def _mlflow_chart(data: dict[str, Any], points: int) -> list[Way]:
    query = f"run_ids={data['ids'][0]}&metric_key=loss&max_results={points}"
    return [[Question(path=f"/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{query}")]]


def _mlflow_list(data: dict[str, Any]) -> list[Way]:
    body = {"experiment_ids": [data["experiment"]], "max_results": len(data["ids"])}
    return [[Question(path="/ajax-api/2.0/mlflow/runs/search", body=body)]]


def _aim(directory: Path, port: str) -> list[str]:
    return ["aim", "up", "--repo", str(directory), "--host", "127.0.0.1", "--port", port]


def _aim_chart(data: dict[str, Any], points: int) -> list[Way]:
    query = f"q=run.experiment=='{data['project']}'+and+metric.name=='loss'&p={points}&report_progress=false"
    return [[Question(path=f"/api/runs/search/metric/?{query}")]]


def _aim_list(data: dict[str, Any]) -> list[Way]:
    query = f"q=run.experiment=='{data['project']}'&limit={len(data['ids'])}&exclude_params=true&report_progress=false"
    return [[Question(path=f"/api/runs/search/run/?{query}")]]


def _trackio(directory: Path, port: str) -> list[str]:
    return ["python", "-c", SHOW_TRACKIO, port]


def _trackio_chart(data: dict[str, Any], points: int) -> list[Way]:
    run = {"run": "run-00000", "run_id": data["ids"][0]}
    batch = {"project": data["project"], "runs": [run], "max_points": points, "scalar_only": True}
    values = {"project": data["project"], **run, "metric_name": "loss", "max_points": points}
    return [[Question(path="/api/get_logs_batch", body=batch)], [Question(path="/api/get_metric_values", body=values)]]


def _trackio_list(data: dict[str, Any]) -> list[Way]:
    # Nothing of it knows last values, and the last row of a run has only those that were logged with it.
    runs = [{"run_id": each} for each in data["ids"]]
    batches = [runs[start : start + RUNS_AT_ONCE] for start in range(0, len(runs), RUNS_AT_ONCE)]
    asked = [{"project": data["project"], "runs": batch, "scalar_only": True} for batch in batches]
    names = Question(path="/api/get_runs_for_project", body={"project": data["project"]})
    return [[names, *(Question(path="/api/get_logs_batch", body=body) for body in asked)]]


MLFLOW = Peer(name="mlflow", ready_path="/health", command=_mlflow, chart=_mlflow_chart, listing=_mlflow_list)
AIM = Peer(name="aim", ready_path="/api/projects/", command=_aim, chart=_aim_chart, listing=_aim_list)
TRACKIO = Peer(name="trackio", ready_path="/version", command=_trackio, chart=_trackio_chart, listing=_trackio_list)
PEERS = (MLFLOW, AIM, TRACKIO)
