"""The table of runs: filter, sort and a page of 50 out of 10,000 and 100,000 runs with 50 values each."""

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.server_data import STARTED_NS, make_rows
from benchmarks.server_reads import cpu_ms
from holter.model.state import Lateness
from holter.server.query.tables import TableTexts, read_query
from holter.storage.opening import Storage, open_storage

WHERE, SORT = "state = crashed and config.lr > 1e-4", "-summary.loss"
RARE = "config.c3 > 2.5 and config.c4 < -2"
COLUMNS = ("name", "state", "config.lr", "summary.loss")


def measure(plan: Plan) -> Measured:
    figures = []
    for count, bar in ((plan.pick(10_000, 200), 10.0), (plan.pick(100_000, 400), 60.0)):
        storage = open_storage(f"sqlite:{plan.scratch / f'table{count}'}")
        for start in range(0, count, 2000):
            storage.runs.put(make_rows(min(2000, count - start), 50, start=start))
        page = TableTexts(where=WHERE, sort=SORT, columns=COLUMNS, is_counted=False)
        counted = TableTexts(where=WHERE, sort=SORT, columns=COLUMNS)
        rare = TableTexts(where=RARE, sort=SORT, columns=COLUMNS)
        figures += [
            Figure(name=f"a page of {count:,} runs", measured=_ask(storage, page), unit="ms", at_most=bar),
            Figure(name=f"with the total, {count:,} runs", measured=_ask(storage, counted), unit="ms", at_most=bar),
            Figure(name=f"a rare one of {count:,} runs", measured=_ask(storage, rare), unit="ms", at_most=bar),
        ]
        storage.close()
    return Measured(figures=figures, notes=[f"`{WHERE}` sorted by `{SORT}`; CPU time, warm, without HTTP."])


def _ask(storage: Storage, texts: TableTexts) -> float:
    now_ns = STARTED_NS + 1_000_000_000
    return cpu_ms(lambda: storage.runs.query(read_query(texts, now_ns=now_ns, lateness=Lateness())))
