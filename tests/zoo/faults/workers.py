"""Processes that the training started: their death is the cause, what the parent raises a consequence."""

import signal
from typing import Any

from tests.zoo.fault import Fault
from tests.zoo.faults.ranks import by_hand
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

STAY = "mark('worker', os.getpid()); time.sleep(30)"
FAULTING = "import ctypes, time; time.sleep(0.5); ctypes.string_at(0)"


def kill_worker(scene: Scene) -> None:
    scene.kill(signal.SIGKILL, scene.pid_of("worker"))


def failing(name: str, program: str, *, cause: str, **more: Any) -> Fault:
    return Fault(name=name, program=program, **{"ends": (1,), "state": "failed", "cause": cause, **more})


def inline(name: str, body: str, **more: Any) -> Fault:
    imports = "import ctypes, multiprocessing, os, signal, subprocess, sys, time"
    return failing(name, f"{imports}\nfrom training import begin, log, mark\nbegin()\n{body}\n", **more)


# Has a guard, as whoever spawns must.
GUARDED = """
import concurrent.futures, ctypes, multiprocessing, os, signal, sys, time

class ShardError(Exception):
    def __init__(self, shard, reason):
        super().__init__(f"shard {{shard}}: {{reason}}")

def work(number):
    if number == 3:
        {fate}
    return number

if __name__ == "__main__":
    from training import begin, log, mark
    begin()
    context = multiprocessing.get_context("{method}")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for result in pool.map(work, range(8)):
            log(result=result)
"""

FORKED = """
import ctypes, os, signal, subprocess, sys, time
from training import begin, log, mark
begin()
pid = os.fork()
if pid == 0:
    {fate}
    os._exit(0)
if os.waitpid(pid, 0)[1]:
    sys.exit(1)
"""

LOADER_OF_ONE = """
import os, signal, time
import torch
from training import begin, log, mark

class Dataset(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        if index == 33:
            {fate}
        return torch.ones(2)

begin()
for batch in torch.utils.data.DataLoader(Dataset(), batch_size=8, num_workers=1, persistent_workers=True):
    log(size=len(batch))
"""


def terminate_worker(scene: Scene) -> None:
    scene.kill(signal.SIGTERM, scene.pid_of("worker"))


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


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
    failing(
        "has a spawned pool of which a worker faults",
        GUARDED.format(fate="ctypes.string_at(16)", method="spawn"),
        cause="segmentation-fault",
    ),
    failing(
        "has a pool of a fork server of which a worker is killed",
        GUARDED.format(fate=KILL, method="forkserver"),
        cause="killed",
    ),
    failing(
        "has a pool of a fork server of which a worker aborts",
        GUARDED.format(fate="os.abort()", method="forkserver"),
        cause="aborted",
    ),
    failing(
        "has a forked child that faults, and leaves",
        FORKED.format(fate="ctypes.string_at(0)"),
        cause="segmentation-fault",
    ),
    failing(
        "has a forked child that somebody terminates, and leaves",
        FORKED.format(fate="mark('worker', os.getpid()); time.sleep(20)"),
        cause="terminated",
        strike=terminate_worker,
    ),
    failing(
        "runs a shell that kills itself",
        "import subprocess\nfrom training import begin\nbegin()\n"
        "subprocess.run(['bash', '-c', 'sleep 0.5; kill -9 $$'], check=True)\n",
        cause="killed",
    ),
    failing(
        "runs a program with a limit of time, which it terminates",
        "import subprocess\nfrom training import begin\nbegin()\n"
        "subprocess.run(['timeout', '1', 'sleep', '20'], check=True)\n",
        cause="terminated",
        # What the training sees is a program that left with 124.
        also=("uncaught-exception", "nonzero-exit", "worker-died"),
    ),
    failing(
        "has a data loader of which somebody terminates the worker",
        LOADER_OF_ONE.format(fate="mark('worker', os.getpid()); time.sleep(30)"),
        cause="terminated",
        strike=terminate_worker,
        needs=("torch",),
    ),
    failing(
        "has a data loader of which the worker leaves with 9",
        LOADER_OF_ONE.format(fate="os._exit(9)"),
        cause="worker-died",
        also=("nonzero-exit",),
        needs=("torch",),
    ),
    by_hand(
        "has a rank that faults",
        "import ctypes; ctypes.string_at(0)",
        state="crashed",
        cause="segmentation-fault",
    ),
    by_hand(
        "has a rank that is terminated",
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)",
        state="crashed",
        cause="terminated",
    ),
    by_hand("has a rank that leaves with 6", "os._exit(6)", state="failed", cause="nonzero-exit"),
    # The pool breaks though no worker died: the exception comes back, but nobody can make it anew.
    failing(
        "has a pool that breaks over an exception that cannot be unpickled",
        GUARDED.format(fate="raise ShardError(3, 'bad checksum')", method="fork"),
        cause="uncaught-exception",
    ),
    inline(
        "raises for the exit code of a worker that faulted",
        "worker = multiprocessing.get_context('fork').Process(target=ctypes.string_at, args=(0,))\n"
        "worker.start()\nworker.join()\n"
        "if worker.exitcode:\n    raise RuntimeError(f'worker failed with exit code {worker.exitcode}')",
        cause="segmentation-fault",
    ),
    inline(
        "leaves with 3 by itself after a worker has faulted",
        "worker = multiprocessing.get_context('fork').Process(target=ctypes.string_at, args=(0,))\n"
        "worker.start()\nworker.join()\n"
        "for _ in range(20):\n    log(loss=0.3); time.sleep(0.02)\nos._exit(3)",
        cause="nonzero-exit",
        ends=(3,),
    ),
    inline(
        "waits for a result of a pool of which somebody killed the worker",
        f"def work():\n    {STAY}\npool = multiprocessing.get_context('fork').Pool(1)\n"
        "print(pool.apply_async(work).get(timeout=7))",
        cause="killed",
        strike=kill_worker,
    ),
    inline(
        "leaves with the code of a shell whose program faulted",
        f"sys.exit(os.system(f'{{sys.executable}} -c \"{FAULTING}\"; exit $?') >> 8)",
        cause="segmentation-fault",
        ends=(139,),
    ),
    # A person retries a worker; the second death is the one that ends the training.
    inline(
        "starts a worker again after a fault and gives up when it leaves with 2",
        "def work(attempt):\n    if attempt == 0:\n        ctypes.string_at(0)\n    os._exit(2)\n"
        "for attempt in range(2):\n"
        "    worker = multiprocessing.get_context('fork').Process(target=work, args=(attempt,))\n"
        "    worker.start()\n    worker.join()\n    print('worker ended with', worker.exitcode)\n"
        "    for _ in range(40):\n        log(loss=0.3); time.sleep(0.03)\n"
        "raise RuntimeError('worker left with 2 after a restart')",
        cause="worker-died",
        # A worker that leaves with a code of its own is as well described by one word as by the other.
        also=("nonzero-exit",),
    ),
    failing(
        "has a pool of a fork server of which a worker overflows its stack",
        GUARDED.format(fate="import faulty; faulty.overflow_stack()", method="forkserver"),
        cause="stack-overflow",
    ),
    inline(
        "runs a program that somebody kills",
        "program = subprocess.Popen(['sleep', '30'])\nmark('worker', program.pid)\n"
        "if program.wait():\n    raise subprocess.CalledProcessError(program.returncode, 'ffmpeg')",
        cause="killed",
        strike=kill_worker,
    ),
    inline(
        "runs a program that somebody terminates, and leaves with its code",
        "program = subprocess.Popen(['sleep', '30'])\nmark('worker', program.pid)\nsys.exit(128 - program.wait())",
        cause="terminated",
        ends=(143,),
        strike=terminate_worker,
    ),
    inline(
        "runs its evaluation in a shell, where it faults",
        "evaluation = '$0 -c \"import ctypes; ctypes.string_at(0)\"; exit $?'\n"
        "code = subprocess.run(['bash', '-c', evaluation, sys.executable]).returncode\n"
        "if code:\n    raise SystemExit(f'evaluation exited with {code}')",
        cause="segmentation-fault",
    ),
    # The pool says that a process ended abruptly; what it did was to raise while it got ready.
    inline(
        "has a pool whose workers raise while they get ready",
        "import concurrent.futures\ndef prepare(path):\n    with open(path) as file:\n        file.read()\n"
        "with concurrent.futures.ProcessPoolExecutor(\n"
        "    2, mp_context=multiprocessing.get_context('fork'), initializer=prepare, initargs=('/data/words.txt',)\n"
        ") as pool:\n    print(list(pool.map(abs, range(8))))",
        cause="uncaught-exception",
        also=("worker-died",),
    ),
]
