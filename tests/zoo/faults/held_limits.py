"""Limits and full disks behind libraries that have words of their own for them, and errors that only look like them."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place

FULL, FILES, TASKS, CPU = "disk-full", "too-many-open-files", "too-many-processes", "cpu-time-limit"
SMALL_DISK = Place(disks=(("disk", "size=5m"),))


def limited(name: str, body: str, *, cause: str, **more: Any) -> Fault:
    """A program that meets a limit and fails."""
    program = (
        "import asyncio, multiprocessing, os, resource, signal, subprocess, sys, threading, time\n"
        f"from training import begin, log, mark\nbegin()\n{body}\n"
    )
    return Fault(name=name, program=program, **{"ends": (1,), "state": "failed", "cause": cause, **more})


def full(name: str, body: str, **more: Any) -> Fault:
    """A program that saves to `disk`, below its working directory, until there is no more room."""
    return limited(name, body, **{"cause": FULL, "place": SMALL_DISK, **more})


RANDOM = "import numpy\nrows = numpy.random.rand(200_000, 8)\n"
LIMIT_CPU = "used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1\n"

FAULTS = [
    full(
        "writes predictions with pandas to a full disk",
        RANDOM + "import pandas\npandas.DataFrame(rows).to_csv('disk/predictions.csv')",
    ),
    full(
        "writes a Parquet file with pyarrow to a full disk",
        RANDOM + "import pyarrow, pyarrow.parquet\ntable = pyarrow.table({str(n): rows[:, n] for n in range(8)})\n"
        "pyarrow.parquet.write_table(table, 'disk/features.parquet')",
    ),
    full(
        "writes a frame with polars to a full disk",
        RANDOM + "import polars\npolars.DataFrame(rows).write_csv('disk/features.csv')",
    ),
    full("packs arrays with numpy on a full disk", RANDOM + "numpy.savez_compressed('disk/embeddings.npz', rows)"),
    full(
        "compresses its samples on a full disk",
        "import gzip\nwith gzip.open('disk/samples.txt.gz', 'wt') as file:\n    while True:\n"
        "        file.write(os.urandom(5000).hex())",
    ),
    full(
        "reserves room for a checkpoint that the disk has not",
        "file = open('disk/checkpoint.bin', 'wb')\nos.posix_fallocate(file.fileno(), 0, 64 << 20)",
    ),
    # It caught the error and says so in words; it leaves for want of room all the same.
    full(
        "cannot save for want of room, says so, and leaves with 4",
        "try:\n    open('disk/last.ckpt', 'wb').write(bytes(20 << 20))\n"
        "except OSError as error:\n    print('FATAL could not save last.ckpt:', error, file=sys.stderr)\n"
        "    sys.exit(4)",
        ends=(4,),
        also=("nonzero-exit",),
    ),
    full(
        "has a pool of which a worker finds the disk full",
        "import concurrent.futures\n"
        "def shard(number):\n    return open(f'disk/shard-{number}.bin', 'wb').write(bytes(1 << 20))\n"
        "with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(sum(pool.map(shard, range(12))))",
    ),
    full(
        "tries to save three times on a full disk and raises an error of its own",
        "class SaveFailed(Exception):\n    pass\nlast = None\nfor attempt in range(3):\n"
        "    try:\n        open('disk/model.safetensors', 'wb').write(bytes(20 << 20))\n"
        "    except OSError as error:\n        last = error; print('retrying', attempt); time.sleep(0.2)\n"
        "raise SaveFailed('gave up after 3 attempts') from last",
    ),
    # Full it is, but not what it fails for.
    full(
        "filled a scratch disk on purpose and does not find its validation set",
        "try:\n    open('disk/cache.bin', 'wb').write(bytes(20 << 20))\nexcept OSError:\n    pass\n"
        "for step in range(30):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\nopen('/data/coco/val2017.json')",
        cause="uncaught-exception",
    ),
    # The disk has room; it is the size of one file that is limited, as the same limit in the open half.
    limited(
        "saves a model that is larger than a file may be",
        "import torch\nresource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))\n"
        "torch.save(torch.nn.Linear(2048, 2048).state_dict(), 'model.pt')",
        cause="uncaught-exception",
        needs=("torch",),
    ),
    limited(
        "keeps the batches of a data loader until there is no file left to pass them in",
        "import torch\n"
        "class Dataset(torch.utils.data.Dataset):\n    def __len__(self):\n        return 1000\n"
        "    def __getitem__(self, index):\n        return torch.ones(2)\n"
        "kept = list(torch.utils.data.DataLoader(Dataset(), batch_size=2, num_workers=2))",
        cause=FILES,
        place=Place(limits=("--nofile=160",)),
        needs=("torch",),
    ),
    limited(
        "makes an event loop for every request",
        "loops = []\nwhile True:\n    loops.append(asyncio.new_event_loop())",
        cause=FILES,
        place=Place(limits=("--nofile=170",)),
    ),
    limited(
        "maps every shard and closes none",
        "import numpy\nnumpy.save('shard.npy', numpy.zeros(10))\n"
        "shards = [open('shard.npy', 'rb') for _ in range(90)]\n"
        "maps = [numpy.load('shard.npy', mmap_mode='r') for _ in range(900)]",
        cause=FILES,
        place=Place(limits=("--nofile=200",)),
    ),
    limited(
        "forks more workers than its user may have",
        "context = multiprocessing.get_context('fork')\n"
        "workers = [context.Process(target=time.sleep, args=(4,), daemon=True) for _ in range(150)]\n"
        "for worker in workers:\n    worker.start()",
        cause=TASKS,
        place=Place(is_user=True, limits=("--nproc=70",)),
    ),
    limited(
        "runs more programs at a time than its cgroup may have",
        "async def main():\n"
        "    await asyncio.gather(*[asyncio.create_subprocess_exec('sleep', '4') for _ in range(99)])\n"
        "asyncio.run(main())",
        cause=TASKS,
        place=Place(tasks=60),
    ),
    limited(
        "wants more workers of a data loader than its cgroup may have",
        "import torch\ndata = torch.utils.data.TensorDataset(torch.zeros(400, 2))\n"
        "for batch in torch.utils.data.DataLoader(data, batch_size=4, num_workers=80):\n    log(size=len(batch))",
        cause=TASKS,
        place=Place(tasks=60),
        needs=("torch",),
    ),
    limited(
        "uses up the CPU time that its shell allows",
        "import numpy\nmatrix = numpy.random.rand(400, 400)\nwhile True:\n    matrix = matrix @ matrix.T / 1e3",
        cause=CPU,
        command=("bash", "-c", f"ulimit -S -t 4; exec {PYTHON} {SCRIPT}"),
        ends=(-signal.SIGXCPU,),
        state="crashed",
    ),
    # The kernel kills whoever does not hear the warning.
    limited(
        "does not hear that its CPU time is over and is killed for it",
        LIMIT_CPU + "resource.setrlimit(resource.RLIMIT_CPU, (used, used + 2))\n"
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        cause=CPU,
        ends=(-signal.SIGKILL,),
        state="crashed",
    ),
]
