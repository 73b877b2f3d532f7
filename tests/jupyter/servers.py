"""Real Jupyter servers with holter's extension, and real kernels in them."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
from jupyter_client.blocking.client import BlockingKernelClient

from tests.e2e.programs import wait_until

STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 60.0
HEARD_WITHIN_S = 6.0
MOST_QUESTIONS = 5
TOKEN = "letmein"
# Otherwise it looks every three seconds whether a kernel is alive.
RESTARTER = ["--AsyncIOLoopKernelRestarter.time_to_dead=0.3"]
# A third of the time that a server takes to start.
FRONT_ENDS = ("jupyterlab", "notebook", "notebook_shim", "jupyter_lsp")
LEFT_OUT = Path(__file__).with_name("left_out")
WITHOUT_FRONT_ENDS = [f"--ServerApp.jpserver_extensions={name}=False" for name in FRONT_ENDS]


class Kernel:
    """A kernel of a server, spoken to over its own channels."""

    def __init__(self, jupyter: "Jupyter", kernel_id: str, session: str = "") -> None:
        self.id = kernel_id
        self.jupyter = jupyter
        self.session = session
        self._client: BlockingKernelClient | None = None

    @property
    def connection_file(self) -> Path:
        return self.jupyter.runtime / f"kernel-{self.id}.json"

    @property
    def client(self) -> BlockingKernelClient:
        if self._client is None:
            wait_until(self._connect, within_s=ANSWERS_WITHIN_S)
        assert self._client is not None
        return self._client

    def _connect(self) -> bool:
        """By the connection file as it is now: a kernel that dies young is started again with other ports."""
        made = BlockingKernelClient(connection_file=str(self.connection_file))
        try:
            made.load_connection_file()
        except (OSError, ValueError):
            return False  # it is being written
        # Not its heartbeat, by which a kernel on a busy machine counts as dead after a second.
        made.start_channels(hb=False)
        if not any(_is_ready(made) for _ in range(MOST_QUESTIONS)):
            made.stop_channels()
            return False
        # The server may hear of a kernel later than we do, and nothing is said to it twice but by asking again.
        self._let_server_hear(lambda: _is_ready(made) and self.state != "starting")
        self._client = made
        return True

    def begin(self, code: str) -> None:
        """Run a cell without waiting for its end; returns once it runs, and the server knows that."""
        client = self.client
        asked = client.execute(f"print('begun')\n{code}")
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while time.monotonic() < deadline:
            message = client.get_iopub_msg(timeout=ANSWERS_WITHIN_S)
            if message["parent_header"].get("msg_id") == asked and message["msg_type"] == "stream":
                self._let_server_hear(lambda: self.state == "busy")
                return
        raise AssertionError("the kernel did not begin")

    def run(self, code: str) -> str:
        """Run a cell to its end, of which the server knows too; returns what it printed and displayed."""
        printed: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                printed.append(content["text"])
            elif message["msg_type"] == "display_data":
                printed.append(content["data"].get("text/plain", "") + "\n")

        reply = self.client.execute_interactive(code, timeout=ANSWERS_WITHIN_S, output_hook=hear)
        assert reply["content"]["status"] == "ok", reply["content"]
        self._let_server_hear(lambda: self.state == "idle")
        return "".join(printed)

    @property
    def pid(self) -> int:
        return int(self.run("import os; print(os.getpid())"))

    @property
    def state(self) -> str:
        """As the server has it."""
        return str(self.jupyter.get(f"/api/kernels/{self.id}")["execution_state"])

    def _let_server_hear(self, claim: Callable[[], bool]) -> None:
        """Wait for a time only: a server that has restarted a kernel may not hear it any more."""
        with contextlib.suppress(AssertionError):
            wait_until(claim, within_s=HEARD_WITHIN_S)

    def forget_channels(self) -> None:
        """Its process is another now."""
        if self._client is not None:
            self._client.stop_channels()
            self._client = None

    def restart(self) -> None:
        self.jupyter.post(f"/api/kernels/{self.id}/restart")
        self.forget_channels()

    def interrupt(self) -> None:
        self.jupyter.post(f"/api/kernels/{self.id}/interrupt")

    def shut_down(self) -> None:
        answer = self.jupyter.http.delete(f"/api/kernels/{self.id}")
        assert answer.status_code == 204, answer.text
        self.forget_channels()


class Jupyter:
    """A running Jupyter server."""

    def __init__(self, process: "subprocess.Popen[bytes]", home: Path, address: str) -> None:
        self.process = process
        self.home = home
        self.runtime = home / "runtime"
        self.address = address
        self.http = httpx.Client(
            base_url=address, headers={"authorization": f"token {TOKEN}"}, timeout=ANSWERS_WITHIN_S
        )
        self._kernels: list[Kernel] = []

    def get(self, path: str) -> dict[str, Any]:
        answer = self.http.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return dict(answer.json())

    def post(self, path: str, body: object = None) -> dict[str, Any]:
        answer = self.http.post(path, json=body or {})
        assert answer.status_code in (200, 201, 204), f"{path}: {answer.status_code} {answer.text}"
        return dict(answer.json()) if answer.content else {}

    def start_kernel(self) -> Kernel:
        made = Kernel(self, self.post("/api/kernels", {"name": "python3"})["id"])
        self._kernels.append(made)
        return made

    def open_notebook(self, name: str, *, spec: str = "python3") -> Kernel:
        """A kernel as a front end asks for it: with a notebook."""
        made = self.post("/api/sessions", {"path": name, "name": name, "type": "notebook", "kernel": {"name": spec}})
        self._kernels.append(Kernel(self, made["kernel"]["id"], made["id"]))
        return self._kernels[-1]

    def add_kernelspec(self, name: str, *, python: str = sys.executable, **environ: str) -> None:
        """A Python of another environment."""
        folder = self.home / "data" / "kernels" / name
        folder.mkdir(parents=True, exist_ok=True)
        argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": name, "language": "python", "env": environ}
        (folder / "kernel.json").write_text(json.dumps(spec))

    def close_notebook(self, kernel: Kernel) -> None:
        """Whoever opens it next gets a kernel of its own, also where this one is dying."""
        kernel.forget_channels()
        if self.process.poll() is None:
            self.http.delete(f"/api/sessions/{kernel.session}")

    def death(self, kernel: Kernel) -> dict[str, Any]:
        return self.get(f"/holter/kernels/{kernel.id}/death")

    def memory(self, kernel: Kernel) -> dict[str, Any]:
        return self.get(f"/holter/kernels/{kernel.id}/memory")

    def log(self) -> str:
        return (self.home / "server.log").read_text()

    def close(self) -> None:
        for kernel in self._kernels:
            kernel.forget_channels()
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def jupyter(home: Path, *, app: str = "server", arguments: Sequence[str] = (), **environ: str) -> Iterator[Jupyter]:
    """A server of its own configuration, in which `holter jupyter install --user` is run before."""
    home.mkdir(parents=True, exist_ok=True)
    root = home / "work"
    root.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        **environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [environ.get("PYTHONPATH"), str(LEFT_OUT)])),
    }
    install = [sys.executable, "-m", "holter", "jupyter", "install", "--user"]
    subprocess.run(install, env={**environment, "PYTHONPATH": ""}, check=True, capture_output=True)
    command = [sys.executable, "-m", "jupyter", app, "--no-browser", "--allow-root", "--port=0", "--ip=127.0.0.1"]
    command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}", *RESTARTER, *arguments]
    command += WITHOUT_FRONT_ENDS if app == "server" else []
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: _address(home, process.pid) or process.poll() is not None, within_s=STARTS_WITHIN_S)
        assert process.poll() is None, (home / "server.log").read_text()
        served = Jupyter(process, home, _address(home, process.pid))
        wait_until(lambda: _answers(served), within_s=STARTS_WITHIN_S)
        try:
            yield served
        finally:
            served.close()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@contextlib.contextmanager
def dying_at_start(served: Jupyter, switch: Path) -> Iterator[Path]:
    """While the file that it returns is there, kernels of the server kill themselves before they answer."""
    startup = served.home / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    script = startup / "00-die.py"
    script.write_text(f"import os\nif os.path.exists({str(switch)!r}): os.kill(os.getpid(), 9)\n")
    try:
        yield switch
    finally:
        script.unlink()


def _is_ready(client: BlockingKernelClient) -> bool:
    """It answers, and what it publishes arrives."""
    asked = client.kernel_info()
    with contextlib.suppress(queue.Empty):
        while client.get_shell_msg(timeout=1)["parent_header"].get("msg_id") != asked:
            pass
        while client.get_iopub_msg(timeout=1)["parent_header"].get("msg_id") != asked:
            pass
        return True
    return False


def _address(home: Path, pid: int) -> str:
    try:
        told = json.loads((home / "runtime" / f"jpserver-{pid}.json").read_text())
    except (OSError, ValueError):
        return ""
    return str(told["url"]).rstrip("/")


def _answers(served: Jupyter) -> bool:
    try:
        return served.http.get("/api/status").status_code == 200
    except httpx.TransportError:
        return False


def why(home: Path, run: str) -> dict[str, Any]:
    """What `holter why --json` says right now."""
    command = [sys.executable, "-m", "holter", "why", run, "--json"]
    environment = {**os.environ, "HOLTER_DIR": str(home / "holter")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))
