"""The table of runs: filter, sort and a page of 50 out of 10,000 and 100,000 runs with 50 values each.

`holter ui` is asked over HTTP, with the number of all runs that fit. What counts is the CPU time of the server for one
answer, warm: the median of five rounds, each of as many answers as cost 0.3 s.
"""

import contextlib
import json
from urllib.parse import urlencode

from benchmarks.asked_server import Question
from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui
from benchmarks.server_data import make_rows
from benchmarks.server_questions import cost_ms, open_index, serve

WHERE, SORT = "state = crashed and config.lr > 1e-4", "-summary.loss"
RARE = "config.c3 > 2.5 and config.c4 < -2"


def measure(plan: Plan) -> Measured:
    figures = []
    for count, bar in ((plan.pick(10_000, 200), 10.0), (plan.pick(100_000, 400), 60.0)):
        home = plan.scratch / f"table{count}"
        storage = open_index(home)
        for start in range(0, count, 2000):
            storage.runs.put(make_rows(min(2000, count - start), 50, start=start))
        with contextlib.closing(serve(home, storage)) as server:
            figures += [
                _figure(server, f"a page of {count:,} runs", where=WHERE, bar=bar, plan=plan),
                _figure(server, f"a rare one of {count:,} runs", where=RARE, bar=bar, plan=plan),
            ]
    return Measured(figures=figures, notes=[f"`{WHERE}` sorted by `{SORT}`; a rare one: `{RARE}`."])


def _figure(server: Ui, name: str, *, where: str, bar: float, plan: Plan) -> Figure:
    asked = {"filter": where, "sort": SORT, "limit": 50, "columns": "config.lr,summary.loss"}
    question = Question(path=f"{API}/runs?{urlencode(asked)}")
    answer = json.loads(server.ask(question))
    if len(answer["runs"]) != min(50, answer["total"]):
        raise RuntimeError(f"{name}: {len(answer['runs'])} of {answer['total']} runs on the page")
    return Figure(name=name, measured=cost_ms(server, question, plan=plan), unit="ms", at_most=bar)
