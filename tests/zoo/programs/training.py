"""What every program of the zoo begins with: rows like those of a training, and a word to whoever will strike it.

Where nothing but `holter run` watches, the rows are printed, as programs do that know nothing of a recorder.
"""

import os
import time
from pathlib import Path

STAGE = Path(os.environ["ZOO_STAGE"])
RECORDS = os.environ.get("ZOO_RECORDS") == "1"


def begin(steps: int = 5, **config: object) -> None:
    """Record some rows, say that we are ready, and wait until we may go on."""
    if RECORDS:
        import holter

        holter.init(project="zoo", config={"batch_size": 64, "num_workers": 4, **config})
    for step in range(steps):
        log(loss=1.0 / (step + 1), accuracy=step / 100)
        time.sleep(0.02)
    mark(f"ready.{os.environ.get('RANK', '0')}", os.getpid())
    wait_for("go")


def log(**row: float) -> None:
    """One row of metrics."""
    if RECORDS:
        import holter

        holter.log(row)
    else:
        print(" ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)


def mark(name: str, text: object = "") -> None:
    """Leave a file on the stage; whoever sees it sees all of it."""
    path = STAGE / name
    beside = path.with_suffix(f"{path.suffix}.{os.getpid()}")
    beside.write_text(str(text))
    beside.rename(path)


def wait_for(name: str) -> None:
    """Wait for a file on the stage."""
    while not (STAGE / name).exists():
        time.sleep(0.01)


def stay(seconds: float = 40.0) -> None:
    """Go on training until somebody strikes. Ends badly where nobody does."""
    mark("staying")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        log(loss=0.1)
        time.sleep(0.05)
    raise TimeoutError("nobody struck")
