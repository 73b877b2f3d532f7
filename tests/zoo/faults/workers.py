"""Processes that the training started: their death is the cause, what the parent raises a consequence."""

import signal
from typing import Any

from tests.zoo.fault import Fault
from tests.zoo.scene import Scene

POOL = """
import concurrent.futures, ctypes, multiprocessing, os, signal, sys, time
from training import begin, log, mark

def work(number):
    if number == 5:
        {fate}
    return number

begin()
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    for result in pool.map(work, range(8)):
        log(result=result)
"""

CHECKED = """
import ctypes, multiprocessing, os, signal, sys, time
from training import begin, log, mark

def work():
    {fate}

begin()
worker = multiprocessing.get_context("{method}").Process(target=work, name="loader-0")
worker.start()
worker.join()
if worker.exitcode:
    raise RuntimeError(f"worker {{worker.name}} (pid {{worker.pid}}) exited unexpectedly")
"""

LOADER = """
import ctypes, os, signal, time
import torch
from training import begin, log, mark

class Dataset(torch.utils.data.Dataset):
    def __len__(self):
        return 100
    def __getitem__(self, index):
        if index == 40:
            {fate}
        return torch.zeros(4)

begin()
for batch in torch.utils.data.DataLoader(Dataset(), batch_size=4, num_workers=2):
    log(size=len(batch))
"""

STAY = 'mark("worker", os.getpid()); time.sleep(30)'


def kill_worker(scene: Scene) -> None:
    scene.kill(signal.SIGKILL, scene.pid_of("worker"))


def failing(name: str, program: str, *, cause: str, **more: Any) -> Fault:
    return Fault(name=name, program=program, ends=(1,), state="failed", cause=cause, **more)


FAULTS = [
    failing(
        "has a pool of which somebody kills a worker",
        POOL.format(fate=STAY),
        cause="killed",
        strike=kill_worker,
    ),
    failing(
        "has a pool of which a worker reads from address 0",
        POOL.format(fate="ctypes.string_at(0)"),
        cause="segmentation-fault",
    ),
    # A worker that leaves with a code of its own is as well described by one word as by the other.
    failing(
        "has a pool of which a worker leaves with 3",
        POOL.format(fate="os._exit(3)"),
        cause="worker-died",
        also=("nonzero-exit",),
    ),
    failing(
        "has a pool of which a worker raises",
        POOL.format(fate='raise ValueError("bad sample 5")'),
        cause="uncaught-exception",
    ),
    failing(
        "has a process that raises and is noticed",
        CHECKED.format(fate='raise ValueError("bad sample")', method="fork"),
        cause="uncaught-exception",
    ),
    failing(
        "has a process that somebody kills",
        CHECKED.format(fate=STAY, method="fork"),
        cause="killed",
        strike=kill_worker,
    ),
    failing(
        "has a subprocess that fails, and says so",
        "import subprocess\nfrom training import begin\nbegin()\n"
        "subprocess.run(['bash', '-c', 'echo tokenizer: no vocabulary >&2; exit 9'], check=True)\n",
        cause="uncaught-exception",
        also=("worker-died", "nonzero-exit"),
    ),
    failing(
        "has a data loader of which somebody kills a worker",
        LOADER.format(fate=STAY),
        cause="killed",
        strike=kill_worker,
        needs=("torch",),
    ),
    failing(
        "has a data loader of which a worker reads from address 0",
        LOADER.format(fate="ctypes.string_at(0)"),
        cause="segmentation-fault",
        needs=("torch",),
    ),
    failing(
        "has a data loader of which a worker raises",
        LOADER.format(fate='raise KeyError("label")'),
        cause="uncaught-exception",
        needs=("torch",),
    ),
]
