"""The ways in which kernels end: those that the next one has to show, and those that are no news."""

import signal
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from tests.e2e.kernels import Kernel

OPEN = "import holter, os, time; run = holter.init(project='notebook')"
# Its last lines are what the browser may never have been sent.
BUSY = "print('ready', flush=True)\nfor step in range(10_000):\n    print('step', step)\n    time.sleep(0.05)"
STUBBORN = """print('ready', flush=True)
while True:
    try:
        time.sleep(0.05)
    except KeyboardInterrupt:
        pass"""
SEGFAULT = "import resource, ctypes; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.string_at(0)"


class Death(NamedTuple):
    die: Callable[[Kernel], None]
    state: str
    cause: str
    said: str
    """What the card has to show of the cell."""


def kill_busy(kernel: Kernel) -> None:
    kernel.begin(BUSY, until="step 3")
    kernel.kill()


def end_by(code: str) -> Callable[[Kernel], None]:
    def die(kernel: Kernel) -> None:
        kernel.client.execute(code)
        kernel.dies()

    return die


def shut_down_busy(kernel: Kernel) -> None:
    kernel.begin(BUSY)
    kernel.shut_down()


def terminate_busy(kernel: Kernel) -> None:
    kernel.begin(BUSY, until="step 3")
    subprocess.run(["sh", "-c", f"kill {kernel.pid}"], check=True)
    kernel.dies()


def terminate_as_vs_code_does(kernel: Kernel) -> None:
    kernel.kill(signal.SIGTERM)


def terminate_busy_as_vs_code_does(kernel: Kernel) -> None:
    kernel.begin(BUSY)
    terminate_as_vs_code_does(kernel)


DEATHS = {
    "kill -9": Death(kill_busy, "crashed", "killed", "| step "),
    "SIGTERM": Death(terminate_busy, "crashed", "terminated", "| step "),
    "segmentation fault": Death(end_by(SEGFAULT), "crashed", "segmentation-fault", "ctypes.string_at(0)"),
    "os._exit": Death(end_by("print('leaving'); os._exit(3)"), "failed", "nonzero-exit", "| leaving"),
    "shutdown of a busy kernel": Death(shut_down_busy, "failed", "kernel-shut-down", "| ready"),
    "VS Code ends a busy kernel": Death(terminate_busy_as_vs_code_does, "failed", "kernel-shut-down", "| ready"),
}


def restart_after_failure(kernel: Kernel) -> None:
    assert "ZeroDivisionError" in kernel.run("1 / 0").error
    kernel.restart()


ENDS_WELL: dict[str, Callable[[Kernel], None]] = {
    "restart": Kernel.restart,
    "shutdown": Kernel.shut_down,
    "exit()": end_by("exit()"),
    "restart after a cell that failed": restart_after_failure,
    "restart by VS Code": terminate_as_vs_code_does,
}
