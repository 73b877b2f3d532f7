"""A notebook that starts at once and answers while it logs 10,000 rows/s from a thread.

A cell has started a thread that makes 10 rows of 10 numbers every millisecond; in turn, for a number of requests each,
it hands them to `run.log()` and to a function that does nothing. A front end asks for `kernel_info` every 5 ms on the
shell channel and waits for the reply. Both kinds of rounds share one kernel, so that they share the machine's moods;
p99 is over all requests of a kind. `init()` until the first `log()` returned is the median of fresh kernels.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.plan import Plan
from benchmarks.trials import environment

AT_MOST_OF_BARE = 1.2
AT_MOST_FIRST_LOG_MS = 60.0
ANSWER_WITHIN_S = 60.0
PAUSE_S = 0.005

FIRST_LOG = """
import time, holter
start = time.perf_counter()
run = holter.init(project="start")
run.log({"loss": 1.0})
1000 * (time.perf_counter() - start)
"""
START = """
import threading, time, holter
run = holter.init(project="latency")

class Loop:
    rows = 0
    is_running = True

    @staticmethod
    def bare(row): pass

    @staticmethod
    def holter(row): run.log(row)

    def __init__(self):
        self.log = self.bare
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        row = {f"metric_{number}": 0.5 for number in range(10)}
        due = time.perf_counter()
        while self.is_running:
            for _ in range(10):
                self.log(row)
            self.rows += 10
            due += 0.001
            time.sleep(max(0.0, due - time.perf_counter()))

loop = Loop()
"""


def measure(plan: Plan) -> Measured:
    first_ms = [first_log_ms(plan.scratch) for _ in range(plan.pick(11, 1))]
    found: dict[str, list[float]] = {"bare": [], "holter": []}
    rates: dict[str, list[float]] = {"bare": [], "holter": []}
    with kernel(plan.scratch) as client:
        execute(client, START)
        for _ in range(plan.pick(10, 1)):
            for way in found:
                execute(client, f"loop.log, loop.rows, began = loop.{way}, 0, time.perf_counter()")
                found[way] += [1000 * ask(client) for _ in range(plan.pick(300, 20))]
                rates[way].append(float(execute(client, "loop.rows / (time.perf_counter() - began)")))
        execute(client, "loop.is_running = False")
    high = {way: percentile(times, 99) for way, times in found.items()}
    figures = [
        Figure(
            name="kernel_info while 10,000 rows/s are logged, p99 / without holter",
            measured=high["holter"] / high["bare"],
            unit="×",
            at_most=AT_MOST_OF_BARE,
        ),
        Figure(name="rows logged in a second meanwhile", measured=statistics.median(rates["holter"])),
        Figure(
            name="init() in a kernel until the first log() returned",
            measured=statistics.median(first_ms),
            unit="ms",
            at_most=AT_MOST_FIRST_LOG_MS,
        ),
    ]
    rows = [
        [way, *(show(percentile(times, share), "ms") for share in (50, 95, 99)), show(statistics.median(rates[way]))]
        for way, times in found.items()
    ]
    table = Table("Replies of the kernel", ["", "p50", "p95", "p99", "rows/s"], rows)
    return Measured(
        figures=figures, tables=[table], raw={"replies_ms": found, "rows_per_s": rates, "first_log_ms": first_ms}
    )


def first_log_ms(directory: Path) -> float:
    with kernel(directory) as client:
        return float(execute(client, FIRST_LOG))


@contextmanager
def kernel(directory: Path) -> Iterator[BlockingKernelClient]:
    """A real kernel, and a front end's way to it."""
    manager = KernelManager(kernel_name="python3")
    with open(directory / "kernel.log", "ab") as log:
        manager.start_kernel(cwd=str(directory), env=environment(directory), stdout=log, stderr=log)
        client = manager.client()
        assert isinstance(client, BlockingKernelClient)
        client.start_channels()
        try:
            client.wait_for_ready(timeout=ANSWER_WITHIN_S)
            yield client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=False)
            manager.cleanup_resources()


def execute(client: BlockingKernelClient, code: str) -> str:
    """Run a cell; returns its value as text."""
    said: list[str] = []

    def hear(message: dict[str, dict[str, dict[str, str]]]) -> None:
        if "data" in message["content"]:
            said.append(message["content"]["data"]["text/plain"])

    reply = client.execute_interactive(code, output_hook=hear, timeout=ANSWER_WITHIN_S)
    assert reply["content"]["status"] == "ok", reply["content"]
    return said[-1] if said else ""


def ask(client: BlockingKernelClient) -> float:
    """How long the kernel takes to say who it is, in seconds."""
    time.sleep(PAUSE_S)
    start = time.perf_counter()
    asked = client.kernel_info()
    while True:
        reply = client.get_shell_msg(timeout=ANSWER_WITHIN_S)
        if reply["parent_header"].get("msg_id") == asked:
            return time.perf_counter() - start


def percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]
