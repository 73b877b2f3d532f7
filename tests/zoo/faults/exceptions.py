"""Exceptions and exit codes of the program itself, and text that tempts to see more in them."""

from typing import Any

from tests.zoo.fault import Fault


def failing(name: str, body: str, *, cause: str = "uncaught-exception", code: int = 1, **more: Any) -> Fault:
    """A program that ends by itself, badly."""
    program = f"from training import begin, log, RECORDS\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(code,), state="failed", cause=cause, **more)


NAN = "for step in range(20):\n    log(loss=0.5 if step < 10 else float('nan'))\n"

FAULTS = [
    failing("divides by zero in Python", "accuracy = 1 / 0"),
    failing(
        "misses a key three calls deep",
        "def load(config):\n    return read(config)\n"
        "def read(config):\n    return config['path']\n"
        "try:\n    load({})\nexcept KeyError as error:\n    raise RuntimeError('no data') from error",
    ),
    failing("recurses too deep", "def loss(step):\n    return loss(step + 1)\nloss(0)"),
    failing(
        "raises in a task that is awaited",
        "import asyncio\n"
        "async def fetch():\n    await asyncio.sleep(0.1)\n    raise ConnectionError('no such shard')\n"
        "async def main():\n    await asyncio.gather(fetch(), asyncio.sleep(5))\n"
        "asyncio.run(main())",
    ),
    failing("raises MemoryError itself", "raise MemoryError('my own budget is used up')"),
    failing("leaves with sys.exit(3)", "import sys\nsys.exit(3)", cause="nonzero-exit", code=3),
    failing("leaves with a text", "import sys\nsys.exit('no data found')", cause="nonzero-exit"),
    failing("leaves with os._exit(4)", "import os\nos._exit(4)", cause="nonzero-exit", code=4),
    failing(
        "says that it failed and leaves",
        "import sys\nif RECORDS:\n    import holter\n    holter.finish(exit_code=2)\nsys.exit(2)",
        cause="nonzero-exit",
        code=2,
    ),
    failing(
        "loses its loss to NaN and asserts",
        f"{NAN}import math\nloss = math.nan\nassert loss == loss, 'loss is not finite'",
        cause="diverged",
        without_client=("diverged", "uncaught-exception"),
    ),
    failing(
        "raises ValueError because its loss became infinite",
        "for step in range(20):\n    log(loss=10.0 ** (step * 20) if step < 15 else float('inf'), lr=0.1)\n"
        "raise ValueError('Input contains NaN, infinity or a value too large')",
        cause="diverged",
        without_client=("diverged", "uncaught-exception"),
    ),
    failing(
        "had NaN long ago and misses a key now",
        "log(loss=float('nan'))\nfor step in range(200):\n    log(loss=0.5)\n{}['validation']",
    ),
    failing(
        "printed CUDA out of memory, caught it, and fails otherwise",
        "import sys\n"
        "print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB; retrying', file=sys.stderr)\n"
        "log(loss=0.4)\n"
        "raise ValueError('expected 3 channels, got 4')",
    ),
    failing(
        "prints what a killed or crashed program would and leaves with 1",
        "import sys\n"
        "print('Killed', file=sys.stderr)\n"
        "print('Segmentation fault (core dumped)', file=sys.stderr)\n"
        "print('slurmstepd: error: Detected 1 oom-kill event(s)', file=sys.stderr)\n"
        "sys.exit(1)",
        cause="nonzero-exit",
    ),
    failing(
        "read No space left on device in a log file and fails otherwise",
        "print('yesterday: OSError: [Errno 28] No space left on device')\n"
        "raise AttributeError(\"'NoneType' object has no attribute 'shape'\")",
    ),
    failing(
        "raises StopIteration out of its data", "batches = iter([1, 2])\nwhile True:\n    log(batch=next(batches))"
    ),
]
