"""What is loaded at every start, and more cheaply than it usually is."""

import contextlib
import os
import sys
from _thread import get_ident
from types import ModuleType

_UNNEEDED = "typing_extensions"


class _Absent:
    """A finder for which, in the thread that made it, the unneeded module is not installed."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Leave everything else to the finders that follow."""
        if name == _UNNEEDED and get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def load_msgspec() -> None:
    """Load it without `typing_extensions`, a third of its weight: Python 3.11 has all that it takes from there.

    To be called before anything else of ours is loaded; for everybody else both modules are as they always are.
    """
    if not sys.modules.keys().isdisjoint(("msgspec", _UNNEEDED)):
        return
    absent = _Absent()
    # Another list, not the same one changed: a thread that imports meanwhile goes through it, and would miss a finder.
    before = sys.meta_path
    sys.meta_path = meanwhile = [absent, *before]
    try:
        with contextlib.suppress(ImportError):  # whoever needs it imports it next, and is told why that fails
            import msgspec  # noqa: F401
    finally:
        is_as_before = sys.meta_path is meanwhile and meanwhile[1:] == before
        sys.meta_path = before if is_as_before else [each for each in sys.meta_path if each is not absent]


def modules_in(package: ModuleType) -> list[str]:
    """The names of a folder's modules, sorted, as `pkgutil` lists them."""
    try:
        files = [os.path.splitext(file) for place in package.__path__ for file in os.listdir(place)]
        return sorted({name for name, kind in files if kind in (".py", ".pyc") and not name.startswith("_")})
    except OSError:
        import pkgutil  # loads half of what tells of source code: only for those who import from an archive or the like

        return [module.name for module in pkgutil.iter_modules(package.__path__)]
