"""Real kernels of notebooks, as a front end talks to them."""

import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

ANSWER_WITHIN_S = 60.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Answer(msgspec.Struct):
    """What a front end was sent for one cell."""

    status: str = ""
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    results: list[dict[str, str]] = []
    displays: list[dict[str, str]] = []

    @property
    def cards(self) -> list[dict[str, str]]:
        """The deaths that it showed."""
        return [each for each in self.displays if "holter-card" in each.get("text/html", "")]

    @property
    def card(self) -> str:
        """The text of the one card."""
        [card] = self.cards
        return card["text/plain"]


class Kernel:
    """One kernel, which may be replaced by another under the same manager."""

    def __init__(self, cwd: Path, **environment: str) -> None:
        # Not by ports: what is free when it is chosen may be taken by a kernel of another test before it is used.
        self._sockets = tempfile.TemporaryDirectory(prefix="kernel-")
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/at")
        self.manager.shutdown_wait_time = 2.0
        self.log = open(cwd / "kernel.log", "ab")  # noqa: SIM115  closed with the kernel
        # Under the second one ipykernel does not listen to what other code than Python's prints.
        foreign = ("JPY_SESSION_NAME", "PYTEST_CURRENT_TEST")
        env = {name: value for name, value in os.environ.items() if name not in foreign}
        self.manager.start_kernel(
            cwd=str(cwd), env={**env, **environment}, stdout=self.log, stderr=self.log, independent=True
        )
        self.client = self._connect()
        self._is_shut_down = False

    @property
    def pid(self) -> int:
        pid = getattr(self.manager.provisioner, "pid", None)
        assert isinstance(pid, int)
        return pid

    def run(self, code: str) -> Answer:
        """Run a cell to its end."""
        answer = Answer(results=[], displays=[])

        def hear(message: dict[str, Any]) -> None:
            _take(answer, message["msg_type"], message["content"])

        reply = self.client.execute_interactive(code, output_hook=hear, timeout=ANSWER_WITHIN_S)
        answer.status = reply["content"]["status"]
        return answer

    def begin(self, code: str, *, until: str = "ready") -> None:
        """Run a cell that prints this when it has come so far, and does not end by itself."""
        # Or the kernel would drop what it is told soon after the cell was interrupted.
        self.client.execute(code, stop_on_error=False)
        deadline, heard = time.monotonic() + ANSWER_WITHIN_S, ""
        while until not in heard:
            assert time.monotonic() < deadline, heard
            message = self.client.get_iopub_msg(timeout=ANSWER_WITHIN_S)
            if message["msg_type"] == "stream":
                heard += message["content"]["text"]

    def dies(self) -> None:
        """Wait for it."""
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while self.manager.is_alive():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        self.dies()

    def restart(self) -> None:
        """As the button does."""
        self.manager.restart_kernel(now=False)
        self.client.stop_channels()
        self.client = self._connect()

    def shut_down(self) -> None:
        """As closing the notebook for good does."""
        self.manager.shutdown_kernel(now=False)
        self._is_shut_down = True

    def interrupt(self) -> None:
        """As the button does; returns when the cell has ended."""
        self.manager.interrupt_kernel()
        while self.client.get_shell_msg(timeout=ANSWER_WITHIN_S)["msg_type"] != "execute_reply":
            pass

    def close(self) -> None:
        """Whatever became of it."""
        self.client.stop_channels()
        if not self._is_shut_down:
            self.shut_down()
        self.log.close()
        self._sockets.cleanup()

    def _connect(self) -> BlockingKernelClient:
        client = self.manager.client()
        assert isinstance(client, BlockingKernelClient)
        client.start_channels()
        client.wait_for_ready(timeout=ANSWER_WITHIN_S)
        return client


@contextlib.contextmanager
def kernel_in(cwd: Path, **environment: str) -> Iterator[Kernel]:
    kernel = Kernel(cwd, **environment)
    try:
        yield kernel
    finally:
        kernel.close()


def _take(answer: Answer, kind: str, content: dict[str, Any]) -> None:
    match kind:
        case "stream" if content["name"] == "stdout":
            answer.stdout += content["text"]
        case "stream":
            answer.stderr += content["text"]
        case "execute_result":
            answer.results.append(content["data"])
        case "display_data":
            answer.displays.append(content["data"])
        case "error":
            answer.error += _COLOURS.sub("", "\n".join(content["traceback"]))
