"""Stands for what W&B has and holter lacks: whatever is done with it does nothing, and that is said once."""

import math
from collections.abc import Iterator
from typing import Any, Self

from holter.wandb_door.names import INSTEAD
from holter.wandb_door.saying import say


class Inert:
    """Can be called, subclassed, entered, iterated and set; nothing comes of it. The first use is said."""

    def __init__(self, name: str, bases: Any = (), *_: Any, said: str = "", **__: Any) -> None:
        # As the base of a class it is asked to make that class: (name, bases, body).
        base = next((each for each in bases if isinstance(each, Inert)), None)
        object.__setattr__(self, "_inert", name)
        of_base = "" if base is None else object.__getattribute__(base, "_said")
        object.__setattr__(self, "_said", said or of_base or name)

    def _say(self) -> None:
        """Whatever is done with what it gave is not said again."""
        name = object.__getattribute__(self, "_said")
        instead = INSTEAD.get(name.rpartition(".")[2], "docs/wandb.md names what is different")
        say(f"inert {name}", f"{name} is not supported and does nothing here: {instead}")

    def __call__(self, *_: Any, **__: Any) -> Self:  # noqa: D102
        self._say()
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        self._say()
        said = object.__getattribute__(self, "_said")
        return Inert(f"{object.__getattribute__(self, '_inert')}.{name}", said=said)

    def __setattr__(self, name: str, value: Any) -> None:
        self._say()

    def __getitem__(self, key: Any) -> Self:
        self._say()
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        self._say()

    def __enter__(self) -> Self:
        self._say()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        self._say()
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __instancecheck__(self, _: object) -> bool:
        return False

    def __subclasscheck__(self, _: type) -> bool:
        return False

    def __lt__(self, _: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(self, _: object) -> Self:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
    __or__ = __ror__ = __and__ = __rand__ = __add__
    """Also where types are joined: `wandb.Thing | None`."""

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __float__(self) -> float:
        return math.nan

    def __format__(self, _: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<{object.__getattribute__(self, '_inert')}: not supported by holter>"
