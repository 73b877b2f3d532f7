"""Waits for a module to be imported by the program: nothing is imported for holter's sake."""

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Call = Callable[[], object]


class Arrivals:
    """A finder that finds nothing itself, and has a call made when a module is there."""

    def __init__(self) -> None:
        self.awaited: dict[str, Call] = {}
        self._looking: set[tuple[str, int]] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Called by the import of any module, and by who only asks whether there is one: that is no arrival."""
        asking = (name, threading.get_ident())
        if name not in self.awaited or asking in self._looking:
            return None
        self._looking.add(asking)
        try:
            spec = next(filter(None, (each.find_spec(name, path, target) for each in sys.meta_path)), None)
        finally:
            self._looking.discard(asking)
        if (loader := getattr(spec, "loader", None)) is not None:
            self._call_after(loader, name)
        return spec

    def _call_after(self, loader: Any, name: str) -> None:
        execute: Callable[[ModuleType], None] = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if (call := self.awaited.pop(name, None)) is not None:
                _make(call, name)

        loader.exec_module = exec_module  # of this one module


_arrivals = Arrivals()


def when_imported(module: str, call: Call) -> None:
    """Call this once the module is imported; now, where it is already. A failure is said and raised to nobody."""
    if module in sys.modules:
        _make(call, module)
        return
    _arrivals.awaited[module] = call
    if _arrivals not in sys.meta_path:
        sys.meta_path.insert(0, _arrivals)


def _make(call: Call, name: str) -> None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  an import of the user's: a module of another version must work as ever
        from holter.recording.voice import Voice

        Voice().warn(name, f"{name} is not recorded by itself ({type(error).__name__}: {error})")
