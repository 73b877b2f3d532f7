"""A recorded kernel is as quick, as quiet and as easy to interrupt as any other, also as VS Code starts it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from holter.model.records import CellStarted
from tests.e2e.kernels import ANSWER_WITHIN_S, Kernel, kernel_in
from tests.e2e.programs import only_run, records, rows, wait_until

OPEN = "import holter, time; run = holter.init(project='notebook')"
IDLE_S = 2.5
# On a machine with many times more work than cores; else it is milliseconds.
SOON_S = 20.0


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with kernel_in(tmp_path) as kernel:
        yield kernel


def threads_of(pid: int) -> set[str]:
    return set(os.listdir(f"/proc/{pid}/task"))


def wake_ups(pid: int, thread: str) -> int:
    status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)


def test_no_thread_of_holters_wakes_while_nothing_happens(kernel: Kernel) -> None:
    kernel.run("import time, threading")
    before = threads_of(kernel.pid)
    kernel.run(OPEN)
    kernel.run("run.log({'loss': 1.0})")
    ours = threads_of(kernel.pid) - before
    assert ours  # the one that hears the sidecar
    time.sleep(IDLE_S)
    woken = {thread: wake_ups(kernel.pid, thread) for thread in ours}
    time.sleep(IDLE_S)
    assert {thread: wake_ups(kernel.pid, thread) for thread in ours} == woken


# Notes who sends something to the front end: all messages go through here, those of comms as well.
EAVESDROP = """
import sys, threading
from jupyter_client.session import Session
senders = set()
real_send = Session.send
def send(self, *args, **kwargs):
    frame, by_holter = sys._getframe(), False
    while frame is not None:
        by_holter = by_holter or "/holter/" in frame.f_code.co_filename
        frame = frame.f_back
    senders.add((threading.current_thread() is threading.main_thread(), by_holter))
    return real_send(self, *args, **kwargs)
Session.send = send
"""
FROM_A_THREAD = """
def train():
    for step in range(20_000):
        run.log({"loss": 1 / (step + 1)})
thread = threading.Thread(target=train)
thread.start()
run.log({"what": object()})
thread.join()
%holter ?
"""


def test_only_the_main_thread_has_holter_speak_to_the_front_end(kernel: Kernel) -> None:
    kernel.run(EAVESDROP)
    kernel.run(OPEN)
    assert kernel.run(FROM_A_THREAD).status == "ok"
    kernel.run("holter.finish()")
    told = kernel.run("print(sorted(senders))").stdout
    assert "(True, True)" in told  # it did speak: the last line shows what it can be told
    assert "(False, True)" not in told


FULL_SPEED = (
    "print('ready', flush=True)\nstep = 0\nwhile True:\n    run.log({'loss': 1.0, 'step': step})\n    step += 1"
)
PRINTING = "print('ready', flush=True)\nwhile True:\n    print('x' * 100)\n    time.sleep(0.001)"
ASLEEP = "print('ready', flush=True)\ntime.sleep(100)"


@pytest.mark.parametrize("code", [FULL_SPEED, PRINTING, ASLEEP], ids=["logging", "printing", "sleeping"])
def test_an_interrupt_arrives_as_without_holter(code: str, kernel: Kernel) -> None:
    handler = "import signal; print(signal.getsignal(signal.SIGINT))"
    before = kernel.run(handler).stdout
    kernel.run(OPEN)
    assert kernel.run(handler).stdout == before
    kernel.begin(code)
    start = time.monotonic()
    kernel.interrupt()
    assert time.monotonic() - start < SOON_S
    assert kernel.run("run.log({'after': 1}); print('goes on')").stdout == "goes on\n"
    [cell] = [each for each in records(only_run().row.directory) if getattr(each, "error", "")]
    assert getattr(cell, "error", "") == "KeyboardInterrupt"


def test_the_kernel_answers_while_a_cell_logs_at_full_speed(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.begin(FULL_SPEED)
    for _ in range(5):
        asked = kernel.client.session.msg("kernel_info_request")
        kernel.client.control_channel.send(asked)
        answer = kernel.client.get_control_msg(timeout=SOON_S)
        assert (answer["msg_type"], answer["content"]["status"]) == ("kernel_info_reply", "ok")
    kernel.interrupt()


def test_every_row_before_an_interrupt_is_kept(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.begin(FULL_SPEED)
    time.sleep(0.3)
    kernel.interrupt()
    logged = int(kernel.run("print(step)").stdout)
    kept = [row.values["step"] for row in rows(only_run().row.directory)]
    assert logged > 100
    assert kept[:logged] == list(range(logged))


class CodeKernel:
    """A kernel as VS Code starts it: no manager, no variables of Jupyter's, and its own first words in silence."""

    def __init__(self, cwd: Path, notebook: Path) -> None:
        file = str(cwd / f"kernel-v3{time.time_ns()}.json")
        write_connection_file(file)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("JPY_", "PYTEST_"))}
        environ |= {"VSCODE_PID": str(os.getpid()), "VSCODE_CWD": "/", "PYDEVD_USE_FRAME_EVAL": "NO"}
        command = [sys.executable, "-m", "ipykernel_launcher", f"--f={file}"]
        with (cwd / "kernel.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=cwd, env=environ, stdout=log, stderr=log)
        self.client = BlockingKernelClient(connection_file=file)
        wait_until(lambda: _is_written(file), within_s=60)
        self.client.load_connection_file()
        self.client.start_channels(hb=False)
        self.client.wait_for_ready(timeout=ANSWER_WITHIN_S)
        for words in ("%config Completer.use_jedi = False", f"__vsc_ipynb_file__ = {str(notebook)!r}"):
            self.client.execute(words, silent=True, store_history=False, reply=True, timeout=ANSWER_WITHIN_S)

    def run(self, code: str) -> str:
        """The plain text of all that the cell shows, and its error."""
        shown: list[str] = []

        def hear(message: dict[str, dict[str, object]]) -> None:
            content = message["content"]
            data = content.get("data")
            shown.append(str(data.get("text/plain") if isinstance(data, dict) else content.get("text", "")))
            shown.append(str(content.get("ename", "")))

        self.client.execute_interactive(code, output_hook=hear, timeout=ANSWER_WITHIN_S)
        return "".join(shown)

    def close(self) -> None:
        self.client.stop_channels()
        self.process.kill()
        self.process.wait()


def _is_written(file: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return bool(json.loads(Path(file).read_text()))
    return False


def test_a_kernel_of_vs_code_is_recorded_interrupted_and_explained(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    book = tmp_path / "book.ipynb"
    kernel = CodeKernel(tmp_path / "a", book)
    try:
        kernel.run(OPEN)
        kernel.client.execute("print('ready')\ntime.sleep(100)", stop_on_error=False)
        wait_until(lambda: _sources() == [OPEN, "print('ready')\ntime.sleep(100)"], within_s=ANSWER_WITHIN_S)
        os.kill(kernel.process.pid, signal.SIGINT)
        assert kernel.client.get_shell_msg(timeout=ANSWER_WITHIN_S)["content"]["ename"] == "KeyboardInterrupt"
        assert "goes on" in kernel.run("print('goes on')")
        kernel.client.execute("import os; os.kill(os.getpid(), 9)")
        kernel.process.wait(30)
    finally:
        kernel.close()
    assert len(_sources()) == 4  # what VS Code said in silence is no cell

    successor = CodeKernel(tmp_path / "b", book)
    try:
        card = successor.run(OPEN)
    finally:
        successor.close()
    assert "the notebook's previous kernel died" in card
    assert "os.kill(os.getpid(), 9)" in card


def _sources() -> list[str]:
    return [each.source for each in records(only_run().row.directory) if isinstance(each, CellStarted)]
