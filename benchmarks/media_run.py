"""What media cost a training program, whether all of them survive its death, and how soon a large table is shown.

`make bench-media`; `--quick` only sees that it works.
"""

import argparse
import functools
import io
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas

import holter
from holter.api.media import ApiMedium
from holter.catalog.tables.asking import TableQuery, Tables
from holter.catalog.tables.reading import TableFile

IMAGE, SMALL = (1024, 1024, 3), (256, 256, 3)
KILLED = """
import sys, time, numpy as np, holter
run = holter.init(project="kills")
step = 0
while True:
    run.log({"img": holter.Image(np.full((128, 128, 3), step % 256, np.uint8))})
    print(step, time.time(), flush=True)
    step += 1
    time.sleep(0.01)
"""


def main() -> int:
    """Print a table of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        os.environ |= {"HOLTER_DIR": directory, "HOLTER_SILENT": "1", "HOLTER_MODE": "offline"}
        print(f"load {os.getloadavg()[0]:.1f}; medians, in the calling thread")
        costs(5 if quick else 50)
        memory(20 if quick else 1000)
        tables(10_000 if quick else 1_000_000)
        kills(2 if quick else 100)
    return 0


def costs(times: int) -> None:
    """What `log()` takes, the making of the medium included."""
    rng = np.random.default_rng(1)
    run = holter.init(project="costs")
    image = rng.integers(0, 256, IMAGE, np.uint8)
    small = [rng.integers(0, 256, SMALL, np.uint8) for _ in range(16)]
    rows = [[place, place * 0.5, f"name {place}", "x" * 20] for place in range(10_000)]
    sound = rng.random(5 * 44_100, np.float32)
    values = rng.standard_normal(1_000_000)
    calls: dict[str, tuple[Callable[[], object], float]] = {
        "image 1024²": (lambda: run.log({"a": holter.Image(image)}), 2),
        "16 images 256²": (lambda: run.log({"b": [holter.Image(each) for each in small]}), 3),
        "table of 10,000 rows": (lambda: run.log({"c": holter.Table(columns=["n", "x", "name", "t"], data=rows)}), 15),
        "5 s of sound": (lambda: run.log({"d": holter.Audio(sound, sample_rate=44_100)}), 1),
        "histogram of 1 M values": (lambda: run.log({"e": holter.Histogram(values)}), 10),
    }
    for name, (call, bar) in calls.items():
        call()
        took = [timed(call) for _ in range(times)]
        print(f"{name:32} {statistics.median(took) * 1e3:8.2f} ms   bar {bar} ms")
    run.finish()


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def memory(count: int) -> None:
    """How much the program grows while it logs images."""
    run = holter.init(project="memory")
    image = np.random.default_rng(2).integers(0, 256, IMAGE, np.uint8)
    run.log({"a": holter.Image(image)})
    before = resident()
    for _ in range(count):
        while len(list(Path(run.dir, "spool").glob("*.spool"))) > 200:
            time.sleep(0.05)  # the worker has one of two cores: what is measured is memory
        run.log({"a": holter.Image(image)})
    print(f"{'memory after ' + str(count) + ' images':32} {(resident() - before) / 1e6:+8.1f} MB   bar 64 MB")
    run.finish()


def resident() -> int:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def tables(count: int) -> None:
    """The first page of a large table, and one that is sorted, as the server makes them."""
    rng = np.random.default_rng(3)
    columns = {f"c{number}": rng.standard_normal(count) for number in range(9)}
    names = np.array([f"name {number}" for number in range(1000)])[rng.integers(0, 1000, count)]
    run = holter.init(project="tables")
    run.log({"t": holter.Table(dataframe=pandas.DataFrame({**columns, "name": names}))})
    run.finish()
    [kept] = holter.Api(directory=os.environ["HOLTER_DIR"]).run(run.id).media("t")
    data = kept.read()
    file = TableFile("parquet", len(data), lambda at, size: data[at : at + size], kept.meta["columns"])
    for name, query, bar in (
        ("first page", TableQuery(), 300),
        ("sorted", TableQuery(sort="c3"), 1000),
        ("sorted by text", TableQuery(sort="name"), 1000),
        ("with what columns hold", TableQuery(with_stats=True), 1000),
    ):
        took = [timed(functools.partial(Tables().ask, "t", [file], query)) for _ in range(3)]
        print(f"{f'table of {count:,} rows: {name}':44} {statistics.median(took) * 1e3:8.0f} ms   bar {bar} ms")


def kills(times: int) -> None:
    """Kill the program at random moments: what was logged a second before must be there, and whole."""
    from PIL import Image

    rng, due, there, broken = random.Random(4), 0, 0, 0
    for _ in range(times):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            environment = {**os.environ, "HOLTER_DIR": directory, "HOLTER_MODE": "offline"}
            program = subprocess.Popen(
                [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, env=environment, text=True
            )
            assert program.stdout is not None
            logged = [program.stdout.readline()]
            time.sleep(1.1 + rng.random())
            sidecars = [int(each) for each in pids_of(directory)] if rng.random() < 0.5 else []
            for pid in (*sidecars, program.pid):
                os.kill(pid, signal.SIGKILL)
            killed_at = time.time()
            logged += program.stdout.readlines()
            program.wait()
            steps = {int(line.split()[0]) for line in logged if float(line.split()[1]) < killed_at - 1}
            due += len(steps)
            found = {each.step: each for each in pictures(directory)}
            there += len(steps & found.keys())
            for step, each in found.items():
                pixels = np.asarray(Image.open(io.BytesIO(each.read())))
                broken += int(pixels.shape != (128, 128, 3) or not (pixels == step % 256).all())
    print(f"{times} kills: {there} of {due} images that had been logged a second before are there; {broken} broken")


def pictures(directory: str) -> list[ApiMedium]:
    """All that was logged, once whoever makes it has done so."""
    until = time.monotonic() + 60
    while True:
        [run] = holter.Api(directory=directory).runs()
        found = list(run.media("img"))
        if not list(Path(directory, "runs", run.id, "spool").glob("*.spool")) or time.monotonic() > until:
            return found
        time.sleep(0.2)


def pids_of(directory: str) -> list[str]:
    """The sidecars of a directory's runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"holter.sidecar" in command and directory.encode() in command:
                found.append(entry.name)
    return found


if __name__ == "__main__":
    sys.exit(main())
