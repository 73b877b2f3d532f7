"""Real programs that come to a standstill, and others that only pause: `python -m tests.guards.stalls TIMES`.

As root; all at once, for about three minutes. Prints what the stall guard said of each; the last line has how many were
named with the right kind, and how often it spoke of a validation or a checkpoint. No test: it takes minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from holter.catalog.catalog import Catalog
from tests.zoo.cgroups import ROOT, make_cgroup

BEGIN = """
import holter, multiprocessing, os, queue, signal, sys, threading, time
run = holter.init(project="stalls", name={name!r})
def steps(count, pause=0.3):
    for _ in range(count):
        run.log({{"loss": 1.0}})
        time.sleep(pause)
steps(60)
print("stands", flush=True)
"""
STALLS = {
    "deadlock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "queue": "queue.Queue().get()",
    "busy": "while True: sum(range(1000))",
    "gil": "import ctypes; ctypes.PyDLL(None).sleep(600)",
    "slow-data": """
import torch
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 100
    def __getitem__(self, at): time.sleep(600)
for _ in torch.utils.data.DataLoader(Slow(), num_workers=1): pass
""",
    "pool": """
def work(at):
    time.sleep(2)
    if at == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
multiprocessing.get_context("fork").Pool(2).map(work, range(4), chunksize=1)
""",
    "stopped": "time.sleep(600)",
    "frozen": "time.sleep(600)",
}
KIND = {"queue": "deadlock"}
PHASES = {
    "validation": "for _ in range(4): time.sleep(25); steps(20)",
    "checkpoint": "for _ in range(4): [(time.sleep(5), os.getpid()) for _ in range(8)]; steps(20)",
}
SAYS = {
    "deadlock": "waits for a lock",
    "busy": "computes without logging",
    "gil": "native code holds Python's lock",
    "slow-data": "waits for its data loader",
    "pool": "waits for a pool of which a worker is gone",
    "stopped": "was stopped by a signal",
    "frozen": "its container is frozen",
}
FOR_S = 150.0


def main(times: int) -> None:
    place = tempfile.mkdtemp(prefix="stalls-", dir="/var/tmp")
    programs = {}
    groups = []
    for number in range(times):
        for name, body in (STALLS | PHASES).items():
            code = BEGIN.format(name=f"{name}-{number}") + body
            program = subprocess.Popen(
                [sys.executable, "-c", code],
                env=os.environ | {"HOLTER_DIR": place, "HOLTER_SILENT": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            programs[f"{name}-{number}"] = program
    for name, program in programs.items():
        assert program.stdout is not None
        program.stdout.readline()
        if name.startswith("stopped"):
            program.send_signal(19)
        if name.startswith("frozen"):
            groups.append(freeze(program.pid))
    time.sleep(FOR_S)
    report(place)
    for thaw in groups:
        thaw.write_text("THAWED")
    for program in programs.values():
        program.kill()
        program.wait()


def freeze(pid: int) -> Path:
    if (ROOT / "cgroup.controllers").exists():
        group = make_cgroup("memory")
        group.procs.write_text(str(pid))
        (group.path / "cgroup.freeze").write_text("1")
        return group.path / "cgroup.freeze"
    path = ROOT / "freezer" / f"holter-{pid}"
    path.mkdir(parents=True)
    (path / "cgroup.procs").write_text(str(pid))
    (path / "freezer.state").write_text("FROZEN")
    return path / "freezer.state"


def report(place: str) -> None:
    right = false = stalls = 0
    from holter.catalog.read.warnings_of import warnings_of
    from holter.journal.digest import GrowingDigests

    for row in sorted(Catalog(place).rows(), key=lambda row: row.name):
        digests = GrowingDigests(row.directory)
        digests.update(is_final=False)
        said = [each.text for each in warnings_of(digests.digests) if each.guard == "stall"]
        fault = row.name.rpartition("-")[0]
        if fault in PHASES:
            false += len(said)
        else:
            stalls += 1
            right += any(SAYS[KIND.get(fault, fault)] in text for text in said)
        print(json.dumps({"name": row.name, "said": said}), flush=True)
    print(f"{right} of {stalls} stalls with the right kind; {false} alarms in {len(PHASES)} kinds of phases")


if __name__ == "__main__":
    main(int(sys.argv[1]))
