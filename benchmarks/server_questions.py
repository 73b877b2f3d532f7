"""What one question costs a server: CPU time of all its processes, warm, over HTTP, one question after the other."""

import time
from pathlib import Path

from benchmarks.asked_server import AskedServer, Question
from benchmarks.figures import median
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui
from holter.storage.opening import Storage, open_storage

ROUNDS = 5
ROUND_CPU_S, ROUND_S = 0.3, 10.0
"""A round goes on until it has cost so much, which a clock of 10 ms can tell, or taken so long."""

SETTLES_WITHIN_S, LOOK_EVERY_S, IDLE_SHARE = 60.0, 2.0, 0.15


def open_index(home: Path) -> Storage:
    """The index of a data directory that has nothing else: then nobody takes it for that of runs which are gone."""
    home.mkdir(parents=True)
    return open_storage(f"sqlite:{home / 'index'}")


def serve(home: Path, storage: Storage) -> Ui:
    """`holter ui` on such an index; whoever calls closes it."""
    storage.series.sync()
    storage.close()
    server = Ui(home)
    try:
        _let_settle(server)
    except BaseException:
        server.close()
        raise
    return server


def _let_settle(server: AskedServer) -> None:
    """What it does once, when it starts, is no part of any answer."""
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while time.monotonic() < deadline:
        before_s = server.cpu_s()
        time.sleep(LOOK_EVERY_S)
        if server.cpu_s() - before_s < IDLE_SHARE * LOOK_EVERY_S:
            return


def cost_ms(server: AskedServer, question: Question, *, plan: Plan) -> float:
    """The median over some rounds; the first answer, which also loads code and caches, does not count."""
    server.ask(question)
    return median([_round_ms(server, question) for _ in range(plan.pick(ROUNDS, 1))])


def _round_ms(server: AskedServer, question: Question) -> float:
    cpu_s, began, count = server.cpu_s(), time.monotonic(), 0
    while server.cpu_s() - cpu_s < ROUND_CPU_S and time.monotonic() - began < ROUND_S:
        server.ask(question)
        count += 1
    return (server.cpu_s() - cpu_s) / count * 1e3
