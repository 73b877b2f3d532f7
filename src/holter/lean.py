"""What is loaded at every start, and more cheaply than it usually is."""

import contextlib
import importlib
import os
import sys
from _thread import get_ident
from collections.abc import Iterator
from types import ModuleType

_UNNEEDED = "typing_extensions"
_SELDOM_USED = ("platform", "textwrap", "msgspec.inspect")
_FOR_OTHERS = ("decimal", "uuid", "msgspec.inspect", "msgspec._json_schema")


class _Absent:
    """A finder for which, in the thread that made it, the unneeded module is not installed."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Leave everything else to the finders that follow."""
        if name == _UNNEEDED and get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Later(ModuleType):
    """A module that is loaded when something of it is used for the first time; the import alone costs nothing."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def _loaded_later(*names: str) -> Iterator[None]:
    """Who imports one of these meanwhile gets it when he needs it; nobody else sees anything of it."""
    made = {name: _Later(name) for name in names if name not in sys.modules}
    if (system := made.get("platform")) is not None:
        system.__dict__["system"] = lambda: os.uname().sysname  # all that `uuid` asks it for
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in made.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def load_msgspec() -> None:
    """Load it without `typing_extensions`, a third of its weight: Python 3.11 has all that it takes from there.

    And without what it needs only to describe types. To be called before anything else of ours is loaded; for everybody
    else all these modules are as they always are.
    """
    if not sys.modules.keys().isdisjoint(("msgspec", _UNNEEDED)):
        return
    absent = _Absent()
    # Another list, not the same one changed: a thread that imports meanwhile goes through it, and would miss a finder.
    before = sys.meta_path
    sys.meta_path = meanwhile = [absent, *before]
    try:
        # Whoever needs it imports it next, and is told why that fails.
        with contextlib.suppress(ImportError), _loaded_later(*_SELDOM_USED):
            import msgspec  # noqa: F401
    finally:
        is_as_before = sys.meta_path is meanwhile and meanwhile[1:] == before
        sys.meta_path = before if is_as_before else [each for each in sys.meta_path if each is not absent]


class _Stub(type):
    """A class that has whatever is asked of it."""

    def __getattr__(cls, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class _StandIn(ModuleType):
    """A module that has whatever is asked of it: a class of which there is no object."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Stub(name, (), {})
        setattr(self, name, made)
        return made


def load_msgspec_alone() -> None:
    """Load it without what it does with values, and on questions, that a process of ours never has.

    Not for the program's process, where others may want all of it. Who imports one of these modules later gets it.
    """
    if "msgspec" in sys.modules:
        return
    absent = [name for name in _FOR_OTHERS if name not in sys.modules]
    sys.modules.update({name: _StandIn(name) for name in absent})
    try:
        load_msgspec()
    except Exception:  # noqa: BLE001  another msgspec, which does something else with them
        for name in [name for name in sys.modules if name.partition(".")[0] == "msgspec"]:
            del sys.modules[name]
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def modules_in(package: ModuleType) -> list[str]:
    """The names of a folder's modules, sorted, as `pkgutil` lists them."""
    try:
        files = [os.path.splitext(file) for place in package.__path__ for file in os.listdir(place)]
        return sorted({name for name, kind in files if kind in (".py", ".pyc") and not name.startswith("_")})
    except OSError:
        import pkgutil  # loads half of what tells of source code: only for those who import from an archive or the like

        return [module.name for module in pkgutil.iter_modules(package.__path__)]
