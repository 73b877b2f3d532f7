"""Records traces for the tests of the guards: `python -m tests.guards.record SECONDS SHAPES SEED…` (as root; minutes).

`SHAPES` are names with commas, or `all`. They run at the same time, each in a cgroup of its own; what their sidecars
sampled, and when rows came, is kept in `traces/<seed>-<shape>.json.gz`, with whether Linux ended the program. Even
seeds are for tuning, odd ones are held apart.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from holter.journal.decoding import Decoder, LoggedRow
from holter.journal.place import Place
from holter.journal.rundir import list_segments
from tests.guards.shapes import SHAPES
from tests.zoo.cgroups import make_cgroup

TRACES = Path(__file__).parent / "traces"
KEPT = ("cgroup/", "host/memory", "host/swap", "host/cpu", "host/load", "psi/", "process/", "disk/shm", "disk/run")
DROPPED = ("oom", "limit_hits", "throttled", "quota", "peak", "inodes")


def main(seconds: str, shapes: str, seeds: list[str]) -> None:
    place = tempfile.mkdtemp(prefix="traces-", dir="/var/tmp")
    started = []
    for seed in seeds:
        for shape in SHAPES if shapes == "all" else shapes.split(","):
            limit = SHAPES[shape][1]
            group = make_cgroup("memory")
            group.limit_memory(limit << 20)
            command = [sys.executable, "-m", "tests.guards.shapes", shape, seed, seconds]
            enter = f'echo $$ > {group.procs}; exec "$@"'
            program = subprocess.Popen(
                ["nice", "-n", "19", "sh", "-c", enter, "sh", *command],
                env=os.environ | {"HOLTER_DIR": place, "HOLTER_SILENT": "1"},
            )
            started.append((shape, seed, program, group))
    for shape, seed, program, group in started:
        status = program.wait()
        group.remove()
        keep(Path(place, "runs", f"{shape}-{seed}"), f"{seed}-{shape}", was_killed=status != 0)


def keep(directory: Path, name: str, *, was_killed: bool) -> None:
    ticks, rows = read_run(str(directory))
    TRACES.mkdir(exist_ok=True)
    keys = [
        key
        for key in ticks[0][1]
        if key.removeprefix("system/").startswith(KEPT) and not any(d in key for d in DROPPED)
    ]
    columns: dict[str, Any] = {key: [tidy(values.get(key)) for _, values in ticks] for key in keys}
    constant = {key: column[0] for key, column in columns.items() if len(set(map(str, column))) == 1}
    body = {
        "was_killed": was_killed,
        "at_s": [round(at_ns / 1e9 - ticks[0][0] / 1e9, 1) for at_ns, _ in ticks],
        "rows_s": [round(at_ns / 1e9 - ticks[0][0] / 1e9, 2) for at_ns in rows],
        "constant": constant,
        "columns": {key: column for key, column in columns.items() if key not in constant},
    }
    with gzip.GzipFile(TRACES / f"{name}.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(body, separators=(",", ":")).encode())
    print(name, len(ticks), "ticks", "killed" if was_killed else "")


def read_run(directory: str) -> tuple[list[tuple[int, dict[str, Any]]], list[int]]:
    """The ticks of the sidecar, and when the program logged."""
    ticks: list[LoggedRow] = []
    logged: list[int] = []
    for paths in list_segments(directory).values():
        place, decoder = Place(), Decoder()
        rows = [row for piece in place.pieces(paths, is_final=True) for _, row in decoder.tell(piece).rows()]
        if any("system/host/memory_total_bytes" in row.values for row in rows[:1]):
            ticks += rows
        else:
            logged += [row.at_ns for row in rows]
    return [(row.at_ns, row.values) for row in ticks], logged


def tidy(value: float | None) -> float | None:
    """Bytes to the page, shares to the tenth."""
    if value is None or value != value:
        return None
    return round(value / 65536) * 65536 if abs(value) > 1 << 20 else round(value, 1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
