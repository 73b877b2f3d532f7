"""`holter.fit_batch_size()`: the largest batch that fits, found in a process of its own.

What the steps there do to weights, optimizer, random state and GPU ends with that process. Where this one has not used
CUDA yet it is a fork, with all that there is; CUDA does not survive a fork, so from then on it is a new interpreter,
which gets a pickled copy of the function and of what that holds.
"""

import contextlib
import io
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from holter.client.agreement import distributed
from holter.client.fitting import host_left, is_out_of_memory, say
from holter.errors import UsageError
from holter.memory.readings import begin_peak, cuda_is_used, peak_bytes, rss_bytes

Step = Callable[[int], Any]
TELLING = 0.02
"""Of the memory that is left: who took so much shows what a larger size will take."""
STEPS = 2
"""The second one has the state of the optimizer beside it."""
MOST = 1 << 20
_runs = 0


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one size."""

    share: float
    """Of the memory that there was, the GPU's or the host's, whichever is nearer; more than 1: refused."""
    where: str = ""
    error: str = ""
    """What the function raised that is not about memory."""

    def beyond(self, size: int, limit: float) -> int:
        """What is not worth a try: the host's memory is for all who are there, and not filled to see what happens."""
        if not self.where.endswith("memory") or self.share < TELLING:
            return MOST + 1
        return int(size * limit / self.share) + 1


def fit_batch_size(
    step: Step, start: int = 1, *, most: int = MOST, margin: float = 0.1, within_s: float = 120.0
) -> int:
    """The largest batch with which a step fits into memory, with a margin; with a process group the least of all ranks.

    It is tried in a process of its own: weights, optimizer, random state and GPU of this one stay as they are.

    Args:
        step: does one whole step of training with a batch of the size that it is given, without collectives.
        start: the size to begin with; it is doubled, then halved in between.
        most: no more than this.
        margin: this part of the memory stays free.
        within_s: so long one size may take.

    Raises UsageError for what can't work, RuntimeError where not even 1 fits, and where `step` fails otherwise.
    """
    for name, value in (("start", start), ("most", most)):
        if type(value) is not int or value < 1:
            raise UsageError(f"fit_batch_size(): {name} must be a whole number of at least 1, got {value!r}")
    if not 0 <= margin < 1 or start > most:
        raise UsageError(f"fit_batch_size(): 0 <= margin < 1 and start <= most; got {margin=}, {start=}, {most=}")
    with _Laboratory(step, within_s) as laboratory:
        best = _search(laboratory.try_size, start, most=most, limit=1 - margin)
    if best is None:
        raise RuntimeError(f"fit_batch_size(): not even a batch of 1 fits with {margin:.0%} to spare")
    size, tried = best
    least = _least_over_ranks(size)
    whose = f", the least of all ranks (here {size})" if least != size else ""
    say(f"fit_batch_size: {least} fits{whose}; {size} uses {tried.share:.0%} of {tried.where}")
    return least


def _search(try_size: Callable[[int], Tried], start: int, *, most: int, limit: float) -> tuple[int, Tried] | None:
    """Doubles from `start` while it fits, halves while it does not, then closes in to a sixteenth."""
    good: tuple[int, Tried] | None = None
    bad = most + 1
    size = start
    while True:
        tried = try_size(size)
        if tried.error:
            raise RuntimeError(f"fit_batch_size(): step({size}) failed: {tried.error}")
        if tried.share <= limit:
            good = (size, tried)
            bad = min(bad, tried.beyond(size, limit))
        else:
            bad = size
        low = good[0] if good is not None else 0
        if low >= most:
            return good
        if bad - low <= max(1, low // 16) or (good is None and size == 1):
            return good
        between = (low + bad) // 2 if good is not None else max(1, size // 2)
        size = min(most, 2 * size) if bad > most else between


class _Laboratory:
    """The process in which sizes are tried; another one where it died of one."""

    def __init__(self, step: Step, within_s: float) -> None:
        self._within_s = within_s
        self._is_fork = not cuda_is_used()
        self._step = step if self._is_fork else _pickled(step)
        self._process: Any = None
        self._link: Any = None

    def __enter__(self) -> "_Laboratory":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def try_size(self, size: int) -> Tried:
        """Whether it fits there."""
        if self._process is None:
            self._begin()
        try:
            self._link.send(size)
            if not self._link.poll(self._within_s):
                self._end()
                return Tried(share=2.0, error=f"it took longer than {self._within_s:g} s")
            answer: Tried = self._link.recv()
        except (EOFError, OSError):
            self._process.join(5)
            status = self._process.exitcode
            self._end()
            if status == -9:  # Linux, for memory
                return Tried(share=2.0, where="the memory here")
            return Tried(share=2.0, error=f"its process ended with {status}: {_why_not_begun(self._is_fork)}")
        return answer

    def _begin(self) -> None:
        context: Any = multiprocessing.get_context("fork" if self._is_fork else "spawn")
        self._link, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self._step, theirs), name="holter-batch-size")
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._link.close()
            process.kill()
            process.join()


def _pickled(step: Step) -> bytes:
    """A copy: what multiprocessing does by itself would share the weights on the GPU."""
    try:
        if getattr(step, "__module__", "") == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
            raise pickle.PicklingError("it is defined in a notebook")
        return pickle.dumps(step)
    except Exception as error:  # noqa: BLE001  users' own classes may raise anything from anything
        raise UsageError(
            f"fit_batch_size(): the GPU is in use already, and step can't be copied to another process ({error}):"
            " call it before anything is put on the GPU, or give it a function of a module"
        ) from None


def _why_not_begun(is_fork: bool) -> str:
    return "a crash" if is_fork else "a script that starts processes needs `if __name__ == '__main__':`"


def _work(step: Step | bytes, link: Any) -> None:
    """In the other process: try what is asked, until nobody asks any more."""
    from holter.client import active

    for run in active.known():  # a copy of the parent's: what is logged here is no row of it
        run.mute()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # this one goes first
    function: Step = pickle.loads(step) if isinstance(step, bytes) else step
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)  # threads of OpenMP do not survive a fork
    with (
        contextlib.suppress(EOFError, OSError),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        while True:
            link.send(_measure(function, link.recv()))


def _measure(step: Step, size: int) -> Tried:
    before, left = rss_bytes(), host_left(os.getpid())
    begin_peak()
    cuda = sys.modules["torch"].cuda if "torch" in sys.modules else None
    free: dict[int, int] = {}
    if cuda is not None and cuda.is_available():
        cuda.empty_cache()
        for device in range(cuda.device_count()):
            free[device] = cuda.mem_get_info(device)[0] + cuda.memory_reserved(device)
            cuda.reset_peak_memory_stats(device)
    try:
        for _ in range(STEPS):
            step(size)
    except Exception as error:  # noqa: BLE001  the boundary: whatever it is, the parent tells
        is_memory = isinstance(error, MemoryError) or is_out_of_memory(error)
        return Tried(share=2.0) if is_memory else Tried(share=2.0, error=f"{type(error).__name__}: {error}")
    shares = [(0.0, "the memory here")]
    if left:
        shares.append((max(0, (peak_bytes() or 0) - before) / left, "this process's memory"))
    if cuda is not None:
        shares += [(cuda.max_memory_reserved(each) / total, f"GPU {each}") for each, total in free.items()]
    share, where = max(shares)
    return Tried(share=share, where=where)


def _least_over_ranks(size: int) -> int:
    """Agreed through the store of the process group, where there is one; each rank waits for the others."""
    global _runs
    module = distributed()
    if module is None:
        return size
    _runs += 1
    store, key = module.distributed_c10d._get_default_store(), f"holter/batch-size/{_runs}"
    store.set(f"{key}/{module.get_rank()}", str(size))
    return min(int(store.get(f"{key}/{rank}")) for rank in range(module.get_world_size()))
