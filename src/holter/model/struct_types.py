"""Makes msgspec's knowledge of our types complete before several threads need it."""

import contextlib
import importlib
import pkgutil
import threading

import msgspec

import holter.model

_lock = threading.Lock()
_prepared: set[type] = set()


def prepare_structs() -> frozenset[type]:
    """All types that can be read, of those that are loaded by now and all of this folder. Cheap the second time.

    msgspec learns a type when it is first read, and keeps what it has learnt before it is complete: of two threads that
    read the first object of a type at once, one brings the process down with a segmentation fault.
    """
    with _lock:
        for module in pkgutil.iter_modules(holter.model.__path__):
            importlib.import_module(f"holter.model.{module.name}")
        waiting: list[type] = [msgspec.Struct]
        while waiting:
            found: list[type] = waiting.pop().__subclasses__()
            waiting += found
            for each in found:
                if each not in _prepared and each.__module__.startswith("holter."):
                    with contextlib.suppress(TypeError):  # one that can't be read
                        msgspec.msgpack.Decoder(each)
                        _prepared.add(each)
        return frozenset(_prepared)
