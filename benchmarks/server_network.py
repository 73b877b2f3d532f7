"""Bad networks between a run and its server: an outage of a minute, and a proxy that spoils half of the requests."""

import time
from pathlib import Path

from benchmarks.chaotic_proxy import ChaoticProxy
from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.received import Compared, compare
from benchmarks.server_kills import Training
from benchmarks.server_process import ServerProcess

OUTAGE_S, CHAOS_S = 60.0, 60.0
CHAOS = 0.5


def send_over_an_outage(scratch: Path, *, outage_s: float) -> Compared:
    """Nobody answers for so long while a run is recorded and sent."""
    server, proxy, training = _begin(scratch, "cut-off", chaos=0.0)
    try:
        while not server.get("/runs")["total"]:
            time.sleep(0.1)
        proxy.is_down = True
        time.sleep(outage_s)
        proxy.is_down = False
        # No wait of the sender is longer than the outage was, nor than a minute.
        time.sleep(min(outage_s, 60.0))
        training.end()
        return compare(server, training.directory, run=training.run, key="loss")
    finally:
        _end(server, proxy, training)


def send_through_chaos(scratch: Path, *, for_s: float) -> tuple[Compared, dict[str, int]]:
    """A proxy drops, delays, repeats and truncates; returns also how often each of it happened."""
    server, proxy, training = _begin(scratch, "jostled", chaos=CHAOS)
    try:
        deadline = time.monotonic() + for_s
        # On a slow machine until each fault has happened, but not for ever.
        while time.monotonic() < deadline or (min(proxy.done.values()) < 2 and time.monotonic() < deadline + 60):
            time.sleep(0.1)
        proxy.chaos = 0.0
        training.end()
        return compare(server, training.directory, run=training.run, key="loss"), proxy.done
    finally:
        _end(server, proxy, training)


def measure(plan: Plan) -> Measured:
    outage_s, chaos_s = plan.pick(OUTAGE_S, 3.0), plan.pick(CHAOS_S, 5.0)
    over_outage = send_over_an_outage(plan.scratch / "outage", outage_s=outage_s)
    through_chaos, faults = send_through_chaos(plan.scratch / "chaos", for_s=chaos_s)
    done = ", ".join(f"{count} × {name}" for name, count in faults.items())
    return Measured(
        figures=[*_figures("outage", over_outage), *_figures("chaos", through_chaos)],
        notes=[
            f"{over_outage.points:,} points over an outage of {outage_s:g} s.",
            f"{through_chaos.points:,} points through a proxy that spoiled every second request: {done}.",
        ],
    )


def _figures(name: str, found: Compared) -> list[Figure]:
    return [
        Figure(name=f"{name}: points lost", measured=found.lost, at_most=0),
        Figure(name=f"{name}: points there twice", measured=found.doubled, at_most=0),
        Figure(name=f"{name}: runs out of order", measured=int(not found.is_in_order), at_most=0),
        Figure(name=f"{name}: runs whose bytes differ", measured=int(not found.is_same_bytes), at_most=0),
    ]


def _begin(scratch: Path, run: str, *, chaos: float) -> tuple[ServerProcess, ChaoticProxy, Training]:
    scratch.mkdir(parents=True, exist_ok=True)
    server = ServerProcess(scratch / "server")
    server.start()
    proxy = ChaoticProxy(server.port, chaos=chaos)
    return server, proxy, Training(scratch / "home", run, url=proxy.url, key=server.key)


def _end(server: ServerProcess, proxy: ChaoticProxy, training: Training) -> None:
    training.close()
    server.close()
    proxy.close()
