"""A chart of a million points and a list of 1,000 runs: holter beside MLflow, Aim and trackio.

All have the same points, written by their own libraries (`benchmarks/peer_fill.py`): one series of 1,000,000 points,
and 1,000 runs of 50 series with 20 steps, of which those of validation have every fifth. Each server runs as it comes
(MLflow on SQLite, with one worker, without its jobs) and is asked over HTTP what its own page asks: the series in 1,000
points, and all runs with the last values of all series. trackio knows no last values: what its page asks is all points,
64 runs at a time. Answers are taken uncompressed. The trackers take turns; what counts is the CPU time of the server
with all of its processes, one question at a time, warm. A ratio is the median over the rounds, against the cheapest of
the others in that round; of two ways to the same answer the cheaper one counts.
"""

import contextlib
import time
from collections.abc import Callable

import msgspec

from benchmarks.asked_server import AskedServer, Question
from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.peer_fill import key_names
from benchmarks.peer_servers import PEERS, Company, DataSet, Way
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui, record_runs, run_id
from benchmarks.trials import in_turn

POINTS = 1000
AT_MOST = 0.1
ROUNDS = 5
ROUND_CPU_S, ROUND_S = 0.3, 10.0
"""A round goes on until it has cost so much, which a clock of 10 ms can tell, or taken so long."""
OURS = "holter"
TASKS = {"chart": "1 M points for a chart", "list": "1,000 runs with last values"}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of one way found, for each time."""

    cpu_ms: float
    wall_ms: float
    kilobytes: float


def measure(plan: Plan) -> Measured:
    long = DataSet(project="long", runs=1, keys=1, points=plan.pick(1_000_000, 20_000))
    many = DataSet(project="many", runs=plan.pick(1000, 10), keys=50, points=20)
    company = Company(PEERS, plan.scratch / "peers", is_alone=plan.is_alone)
    try:
        company.begin_to_fill(long, many)
        home = plan.scratch / "ours"
        for data in (long, many):
            record_runs(home, data)
        peers = company.serve()
        with contextlib.closing(Ui(home)) as ui:
            ui.wait_until_it_has(long, many)
            ways = {OURS: _our_ways(long, many)}
            for peer in peers:
                ways[peer.name] = {
                    "chart": peer.chart(company.left_behind(peer, long), POINTS),
                    "list": peer.listing(company.left_behind(peer, many)),
                }
            servers = {OURS: ui, **company.servers}
            found = {
                task: _take_turns(servers, {name: each[task] for name, each in ways.items()}, plan) for task in TASKS
            }
    finally:
        company.close()
    labels = {OURS: OURS, **company.labels()}
    return Measured(
        figures=[_figure(task, found[task]) for task in TASKS],
        tables=[_table(task, found[task], labels) for task in TASKS],
        notes=company.notes,
        raw={task: msgspec.to_builtins(each) for task, each in found.items()},
    )


def _our_ways(long: DataSet, many: DataSet) -> dict[str, list[Way]]:
    chart = {"runs": [run_id(long, 0)], "keys": key_names(long.keys), "buckets": POINTS}
    return {
        "chart": [[Question(path=f"{API}/series", body=chart)]],
        "list": [[Question(path=f"{API}/runs?project={many.project}&limit={many.runs}&columns=summary")]],
    }


def _take_turns(
    servers: dict[str, AskedServer], ways: dict[str, list[Way]], plan: Plan
) -> dict[str, list[list[Asked]]]:
    """For each tracker and each of its ways, the rounds."""
    for name, each in ways.items():
        for way in each:
            _go(servers[name], way)  # the first answer also loads code and caches
    found: dict[str, list[list[Asked]]] = {name: [[] for _ in each] for name, each in ways.items()}
    for name in in_turn(list(ways), plan.pick(ROUNDS, 1)):
        for number, way in enumerate(ways[name]):
            found[name][number].append(_go_for_a_while(servers[name], way))
    return found


def _go(server: AskedServer, way: Way) -> int:
    """How many bytes the answers had."""
    return sum(len(server.ask(question)) for question in way)


def _go_for_a_while(server: AskedServer, way: Way) -> Asked:
    cpu_s, began, count, size = server.cpu_s(), time.monotonic(), 0, 0
    while server.cpu_s() - cpu_s < ROUND_CPU_S and time.monotonic() - began < ROUND_S:
        size = _go(server, way)
        count += 1
    return Asked(
        cpu_ms=(server.cpu_s() - cpu_s) / count * 1e3,
        wall_ms=(time.monotonic() - began) / count * 1e3,
        kilobytes=size / 1e3,
    )


def _middle(rounds: list[Asked], of: Callable[[Asked], float]) -> float:
    return median([of(each) for each in rounds])


def _cpu_ms(each: Asked) -> float:
    return each.cpu_ms


def _figure(task: str, found: dict[str, list[list[Asked]]]) -> Figure:
    others = [rounds for name, each in found.items() if name != OURS for rounds in each]
    name = f"{TASKS[task]}, CPU of the server / that of the best other"
    if not others:
        return Figure(name=name, measured=None, unit="×", at_most=AT_MOST)
    ratios = [
        ours.cpu_ms / min(rounds[number].cpu_ms for rounds in others) for number, ours in enumerate(found[OURS][0])
    ]
    return Figure(name=name, measured=median(ratios), unit="×", at_most=AT_MOST)


def _table(task: str, found: dict[str, list[list[Asked]]], labels: dict[str, str]) -> Table:
    rows = []
    for name, ways in found.items():
        rounds = min(ways, key=lambda each: _middle(each, _cpu_ms))
        cells = [
            (_middle(rounds, _cpu_ms), "ms"),
            (_middle(rounds, lambda each: each.wall_ms), "ms"),
            (_middle(rounds, lambda each: each.kilobytes), "kB"),
        ]
        rows.append([labels[name], *(show(*cell) for cell in cells)])
    return Table(TASKS[task], ["", "CPU", "wall", "answer"], rows)
