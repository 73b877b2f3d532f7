"""Real notebooks that leak in a cgroup of 1 GiB with `guard="interrupt"`: `python -m tests.guards.notebooks 40 4`.

As root; 40 notebooks, 4 at once. Prints a line for each: whether the kernel lives, its variables are as they were and
the checkpoint that `on_pressure` wrote can be read; the last line has how many. No test: it takes minutes.
"""

import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.e2e.kernels import Kernel, kernel_in
from tests.zoo.cgroups import make_cgroup

LIMIT = 1 << 30
WITHIN_S = 600.0
BEGIN = """
import holter, os, pickle, time
import numpy as np
run = holter.init(project="notebooks", guard="interrupt")
table, weights, held = {number: str(number) for number in range(10_000)}, np.arange(100_000), []
@holter.on_pressure
def save():
    with open("checkpoint.tmp", "wb") as file:
        pickle.dump({"weights": weights, "step": len(held)}, file)
    os.replace("checkpoint.tmp", "checkpoint")
"""
LEAK = """
while True:
    held.append(np.ones(int({mib} * 131072)))
    batch = np.ones(int({batch} * 131072))
    {log}
    time.sleep({pause})
"""
AFTER = """
with open("checkpoint", "rb") as file:
    kept = pickle.load(file)
print(len(table), table[77], int(weights.sum()), len(held) > 0, (kept["weights"] == weights).all(), kept["step"] > 0)
"""
INTACT = "10000 77 4999950000 True True True\n"


def leak(number: int) -> dict[str, Any]:
    """One notebook, to its interrupt or its death."""
    draw = random.Random(number)
    pause = draw.choice((0.05, 0.1, 0.3))
    mib_per_s = draw.uniform(3, 14)
    batch, logs = draw.choice((0, 0, 10, 40)), draw.random() < 0.8
    cell = LEAK.format(
        mib=mib_per_s * pause, batch=batch, pause=pause, log='run.log({"held": len(held)})' if logs else "pass"
    )
    group = make_cgroup("memory")
    group.limit_memory(LIMIT)
    began = time.monotonic()
    said: dict[str, Any] = {"number": number, "mib_per_s": round(mib_per_s, 1), "batch": batch, "logs": logs}
    with tempfile.TemporaryDirectory(prefix="notebook-", dir="/var/tmp", ignore_cleanup_errors=True) as place:
        try:
            with kernel_in(Path(place), HOLTER_DIR=f"{place}/holter") as kernel:
                group.procs.write_text(str(kernel.pid))
                said |= _run(kernel, cell)
                said["kills"] = group.kills
        except Exception as error:  # noqa: BLE001  a kernel that died is what is counted
            said |= {"is_well": False, "error": f"{type(error).__name__}: {error}"[:300], "kills": group.kills}
    group.remove()
    return said | {"took_s": round(time.monotonic() - began)}


def _run(kernel: Kernel, cell: str) -> dict[str, Any]:
    assert kernel.run(BEGIN).status == "ok"
    reply = kernel.client.execute_interactive(cell, timeout=WITHIN_S, output_hook=lambda message: None)
    after = kernel.run(AFTER)
    how = reply["content"].get("ename", "")
    return {"how": how, "is_well": how == "MemoryPressure" and after.stdout == INTACT, "after": after.error or ""}


def main(count: int, at_once: int) -> None:
    well = 0
    with ThreadPoolExecutor(at_once) as pool:
        for said in pool.map(leak, range(count)):
            well += said["is_well"]
            print(json.dumps(said), flush=True)
    print(f"{well} of {count}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
