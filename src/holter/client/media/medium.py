"""What all media have in common: bad input is said when they are logged, and never raised into the program."""

import functools
import importlib
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from holter.client.media.bundle import Bundle
from holter.client.shortened import text_of
from holter.errors import UsageError

P = ParamSpec("P")
M = TypeVar("M", bound="Media")


class Media:
    """A value for `log()`. Taken by value: what happens to the data later changes nothing."""

    kind: ClassVar[str] = ""
    """Its file among `holter.worker.kinds`."""
    trouble = ""
    """Why nothing can be made of it; empty where something can."""

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes; returns what the worker needs to know of them. Raises UsageError, OSError."""
        raise NotImplementedError

    def was_logged(self) -> None:
        """A copy of it is kept now."""

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B's words live above the client.
            return importlib.import_module("holter.wandb_door.media_words").attribute(self, name)

    def __repr__(self) -> str:
        return f"<holter.{type(self).__name__}>"


def patient(make: Callable[Concatenate[M, P], None]) -> Callable[Concatenate[M, P], None]:
    """For `__init__`: what is wrong with the input is kept as the medium's `trouble`, and said by `log()`."""

    @functools.wraps(make)
    def wrapped(self: M, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            make(self, *args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise  # the call itself is wrong, and stands in the program
            self.trouble = why(error)
        except Exception as error:  # noqa: BLE001  the boundary: users' objects may raise anything
            self.trouble = why(error)

    return wrapped


def why(error: Exception) -> str:
    """What is wrong, in words for the user."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    return f"{type(error).__name__}: {error}"


def caption_of(caption: Any) -> dict[str, str]:
    """As it stands in what is known of a medium."""
    return {} if caption is None else {"caption": text_of(caption, 10_000)}


def path_of(value: Any) -> str | None:
    """The path that it is, None for anything else."""
    return os.fsdecode(value) if isinstance(value, str | os.PathLike) else None


def check_file(path: str) -> None:
    """That it can't be read is said when it is logged, though it is copied later. Raises OSError, UsageError."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would hold up the program
        raise UsageError(f"{path!r} is no file")
    with open(path, "rb"):
        return


def ending_of(path: str, *, default: str = "bin") -> str:
    """The part of a file's name behind the last dot, where that is a plain word."""
    ending = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
    return ending if ending.isascii() and ending.isalnum() and len(ending) <= 8 else default
