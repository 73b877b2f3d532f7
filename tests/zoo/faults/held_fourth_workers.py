"""Workers and ranks whose libraries name every cause but the true one, and children whose death did not matter."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing, written
from tests.zoo.faults.held_fresh_ranks import ranks
from tests.zoo.faults.held_workers import strike_worker
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit

KILLED, SEGMENTATION = "killed", "segmentation-fault"

# Says the same about every death of a worker, and the numbers of those that it found.
EXECUTOR = """
class TerminatedWorkerError(Exception):
    pass
def parallel(function, numbers):
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        results = [pool.submit(function, number) for number in numbers]
        workers = list(pool._processes.values())
        try:
            return [result.result() for result in results]
        except concurrent.futures.process.BrokenProcessPool:
            pass
    codes = ", ".join(f"{signal.Signals(-worker.exitcode).name}({worker.exitcode})"
                      for worker in workers if worker.exitcode)
    raise TerminatedWorkerError(
        "A worker process managed by the executor was unexpectedly terminated. This could be caused by a segmentation "
        "fault while calling the function or by an excessive memory usage causing the Operating System to kill the "
        "worker.\\n\\nThe exit codes of the workers are {" + codes + "}")
"""

ACTOR = """
class ActorDiedError(Exception):
    pass
def ask(here, request):
    here.send(request)
    try:
        return here.recv()
    except EOFError:
        raise ActorDiedError(
            "The actor died unexpectedly before finishing this task.\\n\\tclass_name: Rollout\\n"
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
            "Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root "
            "causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) `stop --force` "
            "is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.") from None
"""

# Ends all others as soon as one of its ranks has failed, and leaves with the code of that one.
LAUNCHER = """
import os, subprocess, sys, time
def start(rank):
    environ = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "HOLTER_RUN_ID": "zoo"}
    return subprocess.Popen([sys.executable, sys.argv[1]], env=environ)
ranks = [start(rank) for rank in range(2)]
while not any(rank.poll() for rank in ranks):
    time.sleep(0.05)
code = next(rank.returncode for rank in ranks if rank.returncode)
for rank in ranks:
    if rank.poll() is None:
        print(f"[launch.py:321:sigkill_handler] Killing subprocess {rank.pid}", flush=True)
        rank.send_signal(int(sys.argv[2]))
        rank.wait()
print(f"[launch.py:325:sigkill_handler] exits with return code = {code}", flush=True)
sys.exit(code)
"""


def launched(name: str, body: str, number: int, **more: Any) -> Fault:
    """Two ranks, of which the launcher ends the other with this signal."""
    usual = {"processes": 2, "run_state": "failed", "command": (PYTHON, "-c", LAUNCHER, SCRIPT, str(number))}
    return failing(name, body, **{**usual, **more})


OPENED = ("has a worker that leaves with a text",)

FAULTS = [
    failing(
        "has a data loader whose workers find no index",
        """
        import torch
        def prepare(number):
            open(f"/data/index-{number}.bin", "rb").read()
        begin()
        data = torch.utils.data.TensorDataset(torch.zeros(64, 8))
        for batch in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, worker_init_fn=prepare):
            log(size=len(batch))
        """,
        needs=TORCH,
    ),
    # A worker stands still, and the loader raises for that.
    failing(
        "has a data loader that loses patience with its worker",
        """
        import torch
        class Remote(torch.utils.data.Dataset):
            def __len__(self):
                return 64
            def __getitem__(self, index):
                if index == 20:
                    time.sleep(60)
                return torch.zeros(4)
        begin()
        for batch in torch.utils.data.DataLoader(Remote(), batch_size=4, num_workers=1, timeout=2):
            log(size=len(batch))
        """,
        also=("stalled",),
        needs=TORCH,
    ),
    failing(
        "has a data loader of which a worker divides by zero in C",
        """
        import faulty, torch
        class Audio(torch.utils.data.Dataset):
            def __len__(self):
                return 64
            def __getitem__(self, index):
                if index == 20:
                    faulty.divide_by_zero()
                return torch.zeros(4)
        begin()
        for batch in torch.utils.data.DataLoader(Audio(), batch_size=4, num_workers=2):
            log(size=len(batch))
        """,
        cause="arithmetic-fault",
        needs=(*TORCH, "x86-64"),
    ),
    # Nobody died: the thread that feeds the queue told its error to the console alone.
    failing(
        "waits for a result that its worker could not send",
        """
        def work(results):
            results.put({"loss": 0.5})
            results.put({"loss": 0.4, "closure": lambda: 0})
            time.sleep(5)
        begin()
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        context.Process(target=work, args=(results,), daemon=True).start()
        for step in range(3):
            log(loss=results.get(timeout=3)["loss"])
        """,
    ),
    failing(
        "has an executor that guesses at a fault or at memory while a worker aborted",
        EXECUTOR
        + "begin()\n"
        + "def fit(fold):\n    time.sleep(0.2)\n    if fold == 3:\n        os.abort()\n    return fold\n"
        + "for value in parallel(fit, range(6)):\n    log(fold=value)\n",
        cause="aborted",
    ),
    failing(
        "has an executor that guesses at a fault or at memory while somebody killed a worker",
        EXECUTOR
        + "begin()\n"
        + "def fit(fold):\n    if fold == 3:\n        mark('worker', os.getpid())\n        time.sleep(30)\n"
        + "    return fold\nfor value in parallel(fit, range(6)):\n    log(fold=value)\n",
        cause=KILLED,
        strike=strike_worker(signal.SIGKILL),
    ),
    failing(
        "has an actor that is killed for memory, and three reasons to choose from",
        ACTOR
        + """
def act(pipe):
    kept = []
    while True:
        for _ in range(pipe.recv()):
            kept.append(bytearray(b"x") * (1 << 20))
        pipe.send(len(kept))
begin()
context = multiprocessing.get_context("fork")
here, there = context.Pipe()
context.Process(target=act, args=(there,), daemon=True).start()
there.close()
for step in range(100):
    log(kept=ask(here, 10)); time.sleep(0.03)
""",
        cause="cgroup-out-of-memory",
        place=limit(200),
    ),
    failing(
        "has an actor that overflows its stack, and three reasons to choose from",
        ACTOR
        + """
def act(pipe):
    import faulty
    while (depth := pipe.recv()) < 8:
        pipe.send(depth)
    faulty.overflow_stack()
begin()
context = multiprocessing.get_context("fork")
here, there = context.Pipe()
context.Process(target=act, args=(there,), daemon=True).start()
there.close()
for step in range(100):
    log(depth=ask(here, step)); time.sleep(0.03)
""",
        cause="stack-overflow",
    ),
    failing(
        "maps over a data set with processes of which one faults",
        """
        def tokenize(number):
            time.sleep(0.01)
            if number == 17:
                ctypes.string_at(1)
            return number
        begin()
        print("The current process just got forked. Disabling parallelism to avoid deadlocks...", file=sys.stderr)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pids = {worker.pid for worker in pool._pool}
            result = pool.map_async(tokenize, range(40), chunksize=4)
            while not result.ready():
                result.wait(0.05)
                if {worker.pid for worker in pool._pool} != pids:
                    raise RuntimeError("One of the subprocesses has abruptly died during map operation."
                                       "To debug the error, disable multiprocessing.")
        """,
        cause=SEGMENTATION,
    ),
    # It ends its loaders hard at the end of every epoch, the last time just before it fails for something else.
    failing(
        "kills its old loader after each epoch and misses a key in the third",
        """
        begin()
        context = multiprocessing.get_context("fork")
        schedule = {1: 0.1, 2: 0.01}
        for epoch in range(3):
            loader = context.Process(target=time.sleep, args=(60,))
            loader.start()
            for step in range(10):
                log(loss=0.5); time.sleep(0.02)
            loader.kill()
            loader.join()
            log(lr=schedule[epoch + 1])
        """,
    ),
    failing(
        "does not mind that somebody kills its viewer and has the wrong shape later",
        """
        import numpy
        begin()
        viewer = subprocess.Popen(["sleep", "60"])
        mark("worker", viewer.pid)
        print("viewer left with", viewer.wait(), flush=True)
        for step in range(60):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        numpy.concatenate([numpy.zeros((2, 3)), numpy.zeros((2, 4))])
        """,
        strike=strike_worker(signal.SIGKILL),
    ),
    written(
        "lost an indexer for memory, went on, and faults later",
        """
        begin()
        grow = "held = []\\nwhile True: held.append(bytearray(b'x') * (4 << 20))"
        print("indexer left with", subprocess.run([sys.executable, "-c", grow]).returncode, flush=True)
        for step in range(60):
            log(loss=1 / (step + 1)); time.sleep(0.05)
        ctypes.string_at(0)
        """,
        ends=(-signal.SIGSEGV,),
        state="crashed",
        cause=SEGMENTATION,
        place=limit(200),
    ),
    written(
        "has an evaluator that raised, goes on without it, and is killed by hand",
        """
        def evaluate():
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        begin()
        evaluator = multiprocessing.get_context("fork").Process(target=evaluate)
        evaluator.start()
        evaluator.join()
        stay()
        """,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause=KILLED,
        strike=kill(signal.SIGKILL),
    ),
    ranks(
        "has a rank under torchrun of whose data loader somebody kills the worker",
        """
        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 400
            def __getitem__(self, index):
                if rank == 1 and index == 40:
                    mark("worker", os.getpid())
                    time.sleep(60)
                return torch.zeros(2)
        for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=1):
            dist.all_reduce(torch.ones(1))
            log(size=len(batch))
        """,
        cause=KILLED,
        strike=strike_worker(signal.SIGKILL),
    ),
    # It waits for another that was never started.
    failing(
        "meets nobody at the place where its ranks should meet",
        """
        import datetime
        import torch.distributed as dist
        begin()
        dist.TCPStore("127.0.0.1", 0, world_size=2, is_master=True, timeout=datetime.timedelta(seconds=2))
        """,
        cause="collective-timeout",
        also=(RAISED,),
        needs=TORCH,
    ),
    # One rank is told to end because the other failed.
    launched(
        "has a launcher that ends rank 0 because rank 1 raised",
        """
        begin()
        for step in range(2000):
            log(loss=1 / (step + 1)); time.sleep(0.02)
            if step == 20 and os.environ["RANK"] == "1":
                raise ValueError("rank 1: 3 experts cannot be spread over 2 ranks")
        """,
        signal.SIGTERM,
    ),
    launched(
        "has a launcher that kills rank 0 because rank 1 left with 3",
        """
        begin()
        for step in range(2000):
            log(loss=1 / (step + 1)); time.sleep(0.02)
            if step == 20 and os.environ["RANK"] == "1":
                print("rank 1: version of the data set changed during the run", file=sys.stderr, flush=True)
                sys.exit(3)
        """,
        signal.SIGKILL,
        cause=LEFT,
        code=3,
    ),
    # A worker that leaves with a code of its own is as well described by one word as by the other.
    failing(
        "has a worker that leaves with a text",
        """
        begin()
        context = multiprocessing.get_context("fork")
        worker = context.Process(target=sys.exit, args=("no shards for worker 2 (terminated?)",))
        worker.start()
        worker.join()
        if worker.exitcode:
            raise RuntimeError(f"worker 2 left with {worker.exitcode}")
        """,
        cause="worker-died",
        also=(LEFT,),
    ),
    # Its daemons are told to end because it ends.
    failing(
        "raises while daemons of its own are at work",
        """
        begin()
        context = multiprocessing.get_context("fork")
        for number in range(3):
            context.Process(target=time.sleep, args=(60,), daemon=True).start()
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        "%d steps" % "many"
        """,
    ),
    failing(
        "runs its evaluation as a program, which raises",
        """
        begin()
        log(loss=0.5)
        open("evaluate.py", "w").write("import json\\nprint(json.load(open('/data/answers.json')))\\n")
        subprocess.run([sys.executable, "evaluate.py"], check=True)
        """,
    ),
    # The machine of a language of its own has no memory left; this computer has.
    failing(
        "runs a scorer whose heap is too small",
        """
        begin()
        log(loss=0.5)
        scorer = "echo 'Exception in thread \\"main\\" java.lang.OutOfMemoryError: Java heap space' >&2; exit 1"
        subprocess.run(["bash", "-c", scorer], check=True)
        """,
        also=("worker-died", LEFT),
    ),
]
