"""Sees what becomes of multiprocessing's processes: their exceptions in the child, their ends in the parent."""

import contextlib
import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from holter.client.capture.description import Describer
from holter.client.capture.patches import Patches
from holter.model.clock import Clock
from holter.model.cutting import bounded
from holter.model.records import ChildExited
from holter.model.thinning import Thinning

PACKAGES = ("multiprocessing", "multiprocess")
# What the workers of pools and data loaders put an exception into.
_PARCELS = (
    ("concurrent.futures.process", "_ExceptionWithTraceback"),
    ("multiprocessing.pool", "ExceptionWithTraceback"),
    ("multiprocess.pool", "ExceptionWithTraceback"),
    ("torch._utils", "ExceptionWrapper"),
)
MOST_NAME = 200
# Where a process finds the run that its parent records. multiprocessing hands its `_config` down to children of all
# kinds; an environment variable would reach strangers, and to set one may crash a program that has native threads.
ADDRESS = "holter"
Address = tuple[str, str, bytes, int]


class ChildHooks:
    """Follows multiprocessing, its twin multiprocess and concurrent.futures, once the program has imported them.

    Nothing of ours stands between a call of the user's and what it calls: a traceback shows no frame of ours. None of
    the modules is ever imported for it: `install` is called again now and then, and does something once they are there.

    Args:
        keep: takes the end of a child, in its parent.
        leave: called in a child that is about to end.
    """

    def __init__(
        self,
        describer: Describer,
        *,
        keep: Callable[[ChildExited], None],
        leave: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._describer = describer
        self._keep = keep
        self._leave = leave
        self._clock = clock
        self._patches = Patches()
        self._clean, self._unclean = Thinning(), Thinning()
        self._sent: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def install(self, address: Address) -> None:
        """Watch what has been imported by now, and give children that are made from now on this address. Idempotent."""
        for package, process in _imported():
            _hand_down(process, address)
            self._install(package, process)
        for module, name in _PARCELS:
            self._wrap(getattr(sys.modules.get(module), name, None), "__init__", self._task_failed)

    def restore(self) -> None:
        """Idempotent."""
        for _, process in _imported():
            _hand_down(process, None)
        self._patches.restore()

    def join_parent(self, join: Callable[..., object]) -> None:
        """In a process that multiprocessing spawns, and that imports us: have `join` called with the address that its
        parent handed down, before its work begins."""
        for _, process in _imported():
            if getattr(process.current_process(), "_inheriting", False):
                process.BaseProcess._bootstrap = _joining(process.BaseProcess._bootstrap, join)

    def _install(self, package: str, process: Any) -> None:
        def before_start() -> None:
            # To start a process imports this module in a moment: now it is there for us as well.
            importlib.import_module(f"{package}.popen_fork")
            self._install(package, process)

        self._wrap(process, "_cleanup", before_start)
        self._wrap(sys.modules.get(f"{package}.util"), "_exit_function", self._child_leaves)
        if sys.version_info >= (3, 13):  # where the exception is forgotten before the child cleans up
            self._wrap(sys.modules.get("traceback"), "print_exc", partial(self._child_prints, process))
        popen = getattr(sys.modules.get(f"{package}.popen_fork"), "Popen", None)
        if popen is not None and not self._patches.has(popen, "returncode"):
            self._patches.set(popen, "returncode", ReturnCode(partial(self._child_ended, process)))
            self._wrap(popen, "_send_signal", self._sent.__setitem__)

    def _wrap(self, owner: Any, name: str, see: Callable[..., None]) -> None:
        """Have `see` called with the same arguments before a function that nobody sees fail."""
        previous = getattr(owner, name, None) if owner is not None else None
        if previous is None or self._patches.has(owner, name):
            return

        @functools.wraps(previous)
        def seen(*args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(Exception):  # the boundary: what was to be done is done
                see(*args, **kwargs)
            return previous(*args, **kwargs)

        self._patches.set(owner, name, seen)

    def _child_leaves(self) -> None:
        """In the child: multiprocessing cleans up after the work, and then prints the exception that ended it."""
        error = sys.exception()
        if isinstance(error, SystemExit):  # `torch.multiprocessing` catches what its function raises, and leaves with 1
            error = error.__context__ if error.code else None
        if error is not None:
            self._describer.seen(error, where="child")
        self._leave()

    def _child_prints(self, process: Any, *_: object, **__: object) -> None:
        """In the child: multiprocessing prints the exception that ended it."""
        error, printer = sys.exception(), sys._getframe(2).f_code
        if error is not None and printer.co_name == "_bootstrap" and printer.co_filename == process.__file__:
            self._describer.seen(error, where="child")

    def _task_failed(self, *_: object, **__: object) -> None:
        """In a worker: the exception of a task has been caught, and is packed up for the parent."""
        error = sys.exception()
        if error is not None:
            self._describer.seen(error, where="pool")

    def _child_ended(self, process: Any, popen: Any, code: int, /) -> None:
        name = bounded(_name_of(popen, process), MOST_NAME)
        status = code << 8 if code >= 0 else -code
        times = (self._unclean if status else self._clean).count((re.sub(r"\d+", "#", name), status))
        if times:
            exited = ChildExited(
                at_ns=self._clock.now_ns(),
                pid=popen.pid,
                source="multiprocessing",
                status=status,
                name=name,
                times=times,
                parent_signal=int(self._sent.get(popen, 0)),
            )
            self._keep(exited)


class ReturnCode:
    """Stands for the attribute of a `Popen` in which multiprocessing keeps the exit code, and sees it being set.

    The value stays where it was, so that it can come and go while processes run.
    """

    def __init__(self, seen: Callable[[Any, int], None]) -> None:
        self._seen = seen

    def __get__(self, popen: Any, owner: type | None = None) -> Any:
        if popen is None or "returncode" not in popen.__dict__:
            raise AttributeError("returncode")
        return popen.__dict__["returncode"]

    def __set__(self, popen: Any, code: int | None) -> None:
        popen.__dict__["returncode"] = code
        if code is not None:
            with contextlib.suppress(Exception):  # the boundary
                self._seen(popen, code)

    def __delete__(self, popen: Any) -> None:
        del popen.__dict__["returncode"]


def _imported() -> Iterator[tuple[str, Any]]:
    for package in PACKAGES:
        process = sys.modules.get(f"{package}.process")
        if hasattr(process, "BaseProcess"):  # another thread may just be importing it
            yield package, process


def _hand_down(process: Any, address: Address | None) -> None:
    config = getattr(process.current_process(), "_config", None)
    if not isinstance(config, dict):
        return
    if address is None:
        config.pop(ADDRESS, None)
    else:
        config[ADDRESS] = address


def _joining(bootstrap: Callable[..., Any], join: Callable[..., object]) -> Callable[..., Any]:
    @functools.wraps(bootstrap)
    def joining(self: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):  # the boundary: the child's work comes first
            if address := self._config.get(ADDRESS):
                join(*address)
        return bootstrap(self, *args, **kwargs)

    return joining


def _name_of(popen: Any, process: Any) -> str:
    children = list(getattr(process, "_children", ()))
    return next((str(vars(each)["_name"]) for each in children if vars(each).get("_popen") is popen), "")
