"""`init(sync_tensorboard=True)`: what a SummaryWriter is given is a row of the active run at once.

It is taken where it is handed to the writer's queue, so nothing waits for a file to be flushed, and a program that is
killed has lost none of it. TensorFlow's own writers, which JAX programs use too, are no Python: the sidecar follows
their files, and a run that ends has them written first.
"""

import contextlib
import functools
import os
import sys
import weakref
from typing import Any

from holter.client import active
from holter.client.arrivals import when_imported
from holter.client.media.foreign import as_logged
from holter.client.run import Run
from holter.formats.events import EventReader
from holter.wire.way_back import Events

_WRITERS = (
    "tensorboard.summary.writer.event_file_writer",
    "tensorboardX.event_file_writer",
    "tensorflow.python.summary.writer.event_file_writer",  # that of its first version
)
_TENSORFLOW = "tensorflow.python.ops.summary_ops_v2"
_PUBLISHED = ("tensorflow.summary", "tensorflow._api.v2.summary", "tensorflow._api.v2.compat.v2.summary")

_natives: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""TensorFlow's writers that may have something to write yet."""
_readers: dict[str, EventReader] = {}
_roots: dict[str, str] = {}


def sync_tensorboard() -> None:
    """Have every SummaryWriter of torch and tensorboardX recorded, imported before or later. Idempotent."""
    for module in _WRITERS:
        when_imported(module, functools.partial(_follow, module))
    when_imported(_TENSORFLOW, _follow_native)


def write_out() -> None:
    """Have TensorFlow's writers write what they hold: the run is about to end."""
    for writer in list(_natives):
        with contextlib.suppress(Exception):  # it is closed already
            writer.flush()


def _follow_native() -> None:
    module = sys.modules[_TENSORFLOW]
    plain = module.create_file_writer_v2
    if hasattr(plain, "holter_follow"):
        return

    @functools.wraps(plain)
    def create_file_writer(logdir: Any, *args: Any, **kwargs: Any) -> Any:
        writer = plain(logdir, *args, **kwargs)
        if (run := active.current()) is not None:
            _follow_files(run, logdir, writer)
        return writer

    create_file_writer.holter_follow = True  # type: ignore[attr-defined]  # a mark of ours
    for name in ("tensorflow.python.ops.summary_ops_v2", *_PUBLISHED):
        if (home := sys.modules.get(name)) is not None:
            for each in ("create_file_writer_v2", "create_file_writer"):
                if getattr(home, each, None) is plain:
                    setattr(home, each, create_file_writer)


def _follow_files(run: Run, logdir: Any, writer: Any) -> None:
    try:
        with contextlib.suppress(TypeError):  # none that can be referred to weakly
            _natives.add(writer)
        place = os.path.abspath(os.fspath(logdir))
        told = Events(directory=run.dir, folder=place, pid=os.getpid(), prefix=_prefix(run.id, place))
        if not run.follow_events(told):
            run.remark(f"there is no sidecar to follow what TensorFlow writes into {place}: it is not recorded")
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("sync_tensorboard", error)


def _follow(module: str) -> None:
    writer = sys.modules[module].EventFileWriter
    plain = writer.add_event
    if hasattr(plain, "holter_add"):
        return

    @functools.wraps(plain)
    def add_event(self: Any, event: Any, *args: Any, **kwargs: Any) -> Any:
        if (run := active.current()) is not None:
            _keep(run, event, self)
        return plain(self, event, *args, **kwargs)

    add_event.holter_add = True  # type: ignore[attr-defined]  # a mark of ours
    writer.add_event = add_event


def _keep(run: Run, event: Any, writer: Any) -> None:
    try:
        place = os.path.abspath(os.fspath(writer.get_logdir()))
        for each in _readers.setdefault(place, EventReader()).read(event.SerializeToString()):
            value = as_logged(each.value)
            if value is None:
                run.remark(f"{each.tag!r} of TensorBoard has no place in a run: it is left out")
            else:
                run.log({_prefix(run.id, place) + each.tag: value}, step=each.step)
    except Exception as error:  # noqa: BLE001  the boundary
        run.report("sync_tensorboard", error)


def _prefix(run: str, place: str) -> str:
    """The first writer's folder is the root; those below it and beside it have their place in the name."""
    part = os.path.relpath(place, _roots.setdefault(run, place))
    part = os.path.basename(place) if part.startswith(os.pardir) else part
    return "" if part == os.curdir else f"{part.replace(os.sep, '/')}/"
