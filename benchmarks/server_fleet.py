"""Many live runs over the wire: 10 rows/s × 8 keys each, 20 listeners, a server that begins with 1,024 files.

Synthetic senders in a process of their own log, beat and send as sidecars do, at the pace that the server asks for;
each has a journal of its program and one of its sidecar. 1,000 of them for ten minutes, then 3,000 for three: whether
any looks dead, what the server needs, how soon the table answers meanwhile, and how far the index is behind. Then
messages of 50 rows × 8 keys as fast as they are taken, until every row is in the table: the server's CPU time for each.
`--runs` and `--seconds` take another size; a machine with other work makes answers late, but no run dead.
"""

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.figures import Figure, Measured
from benchmarks.fleet import Told
from benchmarks.plan import Plan
from benchmarks.processes import snapshot
from benchmarks.server_process import ServerProcess
from holter.errors import Refused, Unreachable

RUNS, FOR_S = 1000, 600.0
MORE_RUNS, MORE_FOR_S = 3000, 180.0
LISTENERS = 20
FILES = 1024
AT_ONCE, SENDERS, MESSAGES = 50, 200, 25
KEYS = 8
"""Of the server: one alone may not ask as often as all of them do at once."""
LOOK_EVERY_S = 0.5
COUNT_EVERY = 10
PAGE = 50
INDEXED_WITHIN_S = 300.0


class Seen(msgspec.Struct, kw_only=True):
    """What somebody saw who looked at the server all the time."""

    told: Told
    dead: int
    late: int
    behind_s: float
    table_ms: list[float]
    cores: float
    peak_mb: float
    indexed: int
    trouble: int
    """Questions that were not answered."""


def measure(plan: Plan) -> Measured:
    if plan.runs is not None:
        seen = watch(plan.scratch / "fleet", runs=plan.runs, seconds=plan.seconds or FOR_S)
        return Measured(figures=_figures(plan.runs, seen), notes=[_told(plan.runs, seen)])
    runs, more = plan.pick(RUNS, 20), plan.pick(MORE_RUNS, 40)
    some = watch(plan.scratch / "fleet", runs=runs, seconds=plan.seconds or plan.pick(FOR_S, 6.0))
    many = watch(plan.scratch / "more", runs=more, seconds=plan.seconds or plan.pick(MORE_FOR_S, 6.0))
    senders, messages = plan.pick(SENDERS, 10), plan.pick(MESSAGES, 5)
    cpu_s = take_in(plan.scratch / "messages", senders=senders, messages=messages)
    per_message_ms = cpu_s / (senders * messages) * 1e3
    name = f"CPU for a message of {AT_ONCE} rows × 8 keys"
    return Measured(
        figures=[
            *_figures(runs, some),
            *_figures(more, many),
            Figure(name=name, measured=per_message_ms, unit="ms", at_most=1.0),
        ],
        notes=[_told(runs, some), _told(more, many), f"{1e3 / per_message_ms:,.0f} such messages in a CPU second."],
    )


def watch(scratch: Path, *, runs: int, seconds: float) -> Seen:
    """Let so many runs send for so long, and look at them as a page does."""
    scratch.mkdir()
    server = ServerProcess(scratch / "server", files=FILES)
    server.start()
    try:
        before = snapshot(server.pid)
        fleet = _fleet(server, [server.key], runs=runs, seconds=seconds, listeners=LISTENERS)
        seen = Seen(
            told=Told(), dead=0, late=0, behind_s=0.0, table_ms=[], cores=0.0, peak_mb=0.0, indexed=0, trouble=0
        )
        while fleet.poll() is None:
            try:
                _look(server, seen)
            except (Refused, Unreachable):
                seen.trouble += 1
            time.sleep(LOOK_EVERY_S)
        after = snapshot(server.pid)
        seen.told = _result(fleet)
        seen.indexed = sum(each["rows"] for each in server.get("/runs", limit=10_000)["runs"])
    finally:
        server.close()
    seen.cores = (after.cpu_s - before.cpu_s) / (after.at_s - before.at_s)
    seen.peak_mb = after.peak_mb
    return seen


def take_in(scratch: Path, *, senders: int, messages: int) -> float:
    """The server's CPU seconds for so many messages of each, until every row is in the table."""
    scratch.mkdir()
    server = ServerProcess(scratch / "server")
    server.start()
    try:
        keys = [_key(server, number) for number in range(KEYS)]
        before = snapshot(server.pid)
        fleet = _fleet(server, keys, runs=senders, at_once=AT_ONCE, messages=messages)
        _result(fleet)
        deadline = time.monotonic() + INDEXED_WITHIN_S
        rows = senders * messages * AT_ONCE
        while sum(each["rows"] for each in server.get("/runs", limit=10_000)["runs"]) < rows:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not every row was indexed within {INDEXED_WITHIN_S:g} s")
            time.sleep(0.5)
        return snapshot(server.pid).cpu_s - before.cpu_s
    finally:
        server.close()


def _look(server: ServerProcess, seen: Seen) -> None:
    connection = server.connect()
    try:
        began = time.perf_counter()
        connection.ask("GET", "/runs", query={"limit": PAGE})
        seen.table_ms.append((time.perf_counter() - began) * 1e3)
        seen.behind_s = max(seen.behind_s, connection.ask("GET", "/info").json(dict)["behind_s"])
        if len(seen.table_ms) % COUNT_EVERY == 0:
            table = connection.ask("GET", "/runs", query={"limit": 10_000}).json(dict)["runs"]
            seen.dead = max(seen.dead, sum(each["state"] != "running" for each in table))
            seen.late = max(seen.late, sum(each["is_stale"] for each in table))
    finally:
        connection.close()


def _figures(runs: int, seen: Seen) -> list[Figure]:
    told, p95 = seen.told, float(np.percentile(seen.table_ms, 95)) if seen.table_ms else None
    is_usual = runs <= RUNS
    return [
        Figure(name=f"{runs} runs: shown as dead", measured=seen.dead, at_most=0),
        Figure(name=f"{runs} runs: refused for good", measured=told.refused, at_most=0),
        Figure(name=f"{runs} runs: cores of the server", measured=seen.cores, at_most=1.0 if is_usual else None),
        Figure(name=f"{runs} runs: most memory", measured=seen.peak_mb, unit="MB", at_most=400 if is_usual else None),
        Figure(name=f"{runs} runs: table, p95", measured=p95, unit="ms", at_most=100 if is_usual else None),
        Figure(name=f"{runs} runs: longest lag of the index", measured=seen.behind_s, unit="s"),
        Figure(name=f"{runs} runs: with a late heartbeat", measured=seen.late),
        Figure(name=f"{runs} runs: longest pace", measured=told.longest_pace_s, unit="s"),
        Figure(name=f"{runs} runs: slowest answer to a sender", measured=told.slowest_s, unit="s"),
    ]


def _told(runs: int, seen: Seen) -> str:
    told = seen.told
    return (
        f"{runs} runs: {told.messages:,} messages, {told.put_off} put off, {told.broken} broken;"
        f" {told.logged:,} rows logged, {told.rows:,} acknowledged, {seen.indexed:,} in the table right then;"
        f" {seen.trouble} of {len(seen.table_ms) + seen.trouble} looks at the table failed."
    )


def _fleet(server: ServerProcess, keys: list[str], **sizes: float) -> "subprocess.Popen[bytes]":
    named = [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
    command = [sys.executable, str(Path(__file__).with_name("fleet.py")), str(server.port), *keys, *named]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def _result(fleet: "subprocess.Popen[bytes]") -> Told:
    output, _ = fleet.communicate()
    if fleet.returncode:
        raise RuntimeError(f"the senders ended with {fleet.returncode}")
    return msgspec.json.decode(output, type=Told)


def _key(server: ServerProcess, number: int) -> str:
    connection = server.connect()
    try:
        asked = msgspec.json.encode({"name": f"sender {number}", "scope": "write"})
        return str(connection.ask("POST", "/tokens", data=asked).json(dict)["key"])
    finally:
        connection.close()
