"""Where a run needed the most memory, and what watching it has cost."""

from typing import Any

from holter.guards.progress import Progress
from holter.sidecar.spending import Spending
from tests.clocks import FakeClock

MIB = 1 << 20


def test_the_peak_of_each_phase_is_kept_with_its_step_and_cell() -> None:
    kept: list[Any] = []
    clock, progress = FakeClock(), Progress()
    spending = Spending(kept.append, clock=clock)

    def tick(host: int, gpu: int = 0) -> None:
        row = {"system/process/anon_bytes": host * MIB, "system/gpu/1/tree_memory_bytes": gpu * MIB, "other": 9e15}
        spending.tick(row, progress)
        clock.advance(1)

    for host in (100, 300, 200):
        tick(host)
    progress.cell = 7
    for step in range(20):
        progress.advance(clock.monotonic_ns() / 1e9, rows=1, step=step)
        tick(400 + (step == 11), gpu=50)
    for host in (410, 410, 410, 410, 410, 410, 900):  # a validation
        tick(host)
    spending.write()

    [spent] = kept
    assert spent.wall_s == 30.0
    assert spent.cpu_s > 0
    found = {(each.memory, each.phase): (each.bytes // MIB, each.step, each.cell) for each in spent.peaks}
    assert found == {
        ("host", "start"): (300, None, None),
        ("host", "steps"): (410, 19, 7),
        ("host", "pause"): (900, 19, 7),
        ("gpu/1", "steps"): (50, 0, 7),
    }
