"""`run.doctor()`: says of this program what can't be seen from outside, and has another process look at the rest."""

import io
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from holter.doctor.machine import VARIABLES, Asked, Worker
from holter.errors import NotExamined
from holter.model.secrets import mask

if TYPE_CHECKING:
    from holter.doctor.finding import Finding

WITHIN_S = 30.0
MOST_BYTES = 1 << 30
MOST_LOADERS = 20


class Patient(Protocol):
    """The run that asks."""

    dir: Any

    def remark(self, text: str) -> None:
        """Say something once."""


def examine_here(run: Patient, workers_get: Sequence[Any], *, checkpoints: Sequence[str]) -> "list[Finding]":
    """The findings, each said once. Raises NotExamined."""
    from subprocess import TimeoutExpired
    from subprocess import run as run_process

    from holter.doctor.finding import Finding

    asked = Asked(
        pid=os.getpid(),
        path=tuple(map(str, sys.path)),
        script_folder=_script_folder(),
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
        checkpoints=tuple(os.path.abspath(os.path.expanduser(os.fspath(each))) for each in checkpoints),
        runs=str(run.dir),
        workers=tuple(_workers(workers_get)),
    )
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Its own environment as it was: a bad LD_PRELOAD or PYTHONPATH must be told, and not keep it from telling.
    environ = {**os.environ, "PYTHONPATH": here, "LD_PRELOAD": "", "LD_LIBRARY_PATH": ""}
    command = [sys.executable, "-m", "holter.doctor"]
    try:
        done = run_process(
            command, input=msgspec.json.encode(asked), capture_output=True, timeout=WITHIN_S, env=environ, check=False
        )
    except (OSError, TimeoutExpired) as error:
        raise NotExamined(
            f"the machine could not be looked at: {error}; `holter doctor` in a terminal says more"
        ) from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise _not_examined(last)
    found = msgspec.json.decode(done.stdout, type=list[Finding])
    for each in found:
        run.remark(f"{each.what}: {each.why}; {each.fix}")
    return found


def _not_examined(why: object) -> NotExamined:
    return NotExamined(f"the machine could not be looked at: {why}; `holter doctor` in a terminal says more")


def _script_folder() -> str:
    """The one that Python looks into first: the script's, or the working directory of a notebook."""
    main = vars(sys.modules["__main__"]).get("__file__") if "__main__" in sys.modules else None
    return os.path.dirname(os.path.abspath(main)) if main else os.getcwd()


def _workers(given: Sequence[Any]) -> Iterator[Worker]:
    loaders = [each for each in given if _is_loader(each)]
    others = [each for each in given if not _is_loader(each)]
    for name, value in [(f"what workers get ({type(each).__name__})", each) for each in others]:
        yield _try_to_pickle(name, value, method=_method(None), workers=os.cpu_count() or 1)
    named = [("the data loader", each) for each in loaders] or list(_loaders_in(sys._getframe()))
    for name, loader in named[:MOST_LOADERS]:
        method = _method(getattr(loader, "multiprocessing_context", None))
        if loader.num_workers > 0 and method != "fork":
            parts = {
                "dataset": loader.dataset,
                "collate_fn": loader.collate_fn,
                "worker_init_fn": loader.worker_init_fn,
            }
            for part, value in parts.items():
                yield _try_to_pickle(f"{part} of {name}", value, method=method, workers=loader.num_workers)


def _is_loader(value: Any) -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(value, data.DataLoader)


def _loaders_in(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """Those that the code which asks can name."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("holter."):
        frame = frame.f_back
    if frame is None:
        return
    seen: set[int] = set()
    for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
        if _is_loader(value) and id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _method(context: Any) -> str:
    import multiprocessing

    return str(
        context.get_start_method() if context is not None else multiprocessing.get_start_method(allow_none=False)
    )


class _Full(Exception):
    """It is larger than anybody wants to know."""


class _Counting(io.RawIOBase):
    """Counts what is written, and keeps none of it."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any, /) -> int:
        """Count. Raises _Full."""
        self.bytes += memoryview(data).nbytes
        if self.bytes > MOST_BYTES:
            raise _Full
        return memoryview(data).nbytes


def _try_to_pickle(name: str, value: Any, *, method: str, workers: int) -> Worker:
    """As it would be for a worker, or at once where nobody would: a fork copies nothing."""
    if method == "fork":
        return Worker(name=name, method=method, workers=workers)
    counting = _Counting()
    trouble, is_cut = "", False
    try:
        pickle.Pickler(counting, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except _Full:
        is_cut = True
    except Exception as error:  # noqa: BLE001  users' own classes may raise anything when they are pickled
        trouble = mask(f"{type(error).__name__}: {error}")[:300]
    return Worker(
        name=name, method=method, workers=workers, trouble=trouble, pickled_bytes=counting.bytes, is_cut=is_cut
    )
