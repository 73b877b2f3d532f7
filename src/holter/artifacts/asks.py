"""What programs want to be kept: a file for each wish, which stays until it is done or known to be impossible.

The training process writes it and goes on; the process of `holter.artifacts` works them off in the order in which they
were said. Light: this is imported where people train.
"""

import contextlib
import fcntl
import os
import stat
import sys
from collections.abc import Iterable, Iterator

import msgspec

from holter.artifacts.wishes import Source, Wanted, state_of
from holter.errors import NotSealed
from holter.journal.kept_files import CANT_CLONE, FICLONE, replace_file
from holter.journal.rundir import make_private

FOLDER = "artifacts"
MUTABLE, IMMUTABLE = "mutable", "immutable"
URL = "HOLTER_ARTIFACT_URL"
"""In the environment of the process that sends versions: for which server its key is."""
SMALL = "small"
"""The file of staged copies that holds the small ones."""
_ENDING = ".ask"
_SMALL_BYTES = 64 << 10
_CHUNK_BYTES = 8 << 20


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wish: these files as a version."""

    wanted: Wanted
    sources: tuple[Source, ...]
    directory: str = ""
    """The run's, where its journals are told what became of it."""
    attempt: int = 1
    url: str = ""
    """The server to which the version goes, too; empty for none."""
    same_as: str = ""
    """An earlier wish, whose content this one has: then there are no sources."""
    trouble: str = ""
    """Why there can be no such version, which is all that is left to be said: then there are no sources, either."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a wish."""

    number: int = -1
    """The version; below zero where there is none."""
    digest: str = ""
    bytes: int = 0
    new_bytes: int = 0
    why: str = ""
    """Why there is none."""


def folder_of(data: str) -> str:
    """Where wishes lie."""
    return os.path.join(data, FOLDER, "asks")


def stage(sources: Iterable[Source], folder: str) -> list[Source]:
    """Copies that nobody writes to any more: shared blocks where that can be, else bytes; small ones in one file.

    Raises NotSealed where a file changes meanwhile, OSError.
    """
    make_private(folder)
    staged, end = [], 0
    bundle = os.path.join(folder, SMALL)
    with open(bundle, "xb", opener=_private) as small:
        fcntl.flock(small.fileno(), fcntl.LOCK_EX)  # says that somebody is at it
        for number, source in enumerate(sources):
            if source.reference:
                staged.append(source)
                continue
            with open(os.open(source.at, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise NotSealed(f"{source.path} is no regular file: {source.at}")
                if before.st_size < _SMALL_BYTES:
                    at, offset = bundle, end
                    end += small.write(file.read(_SMALL_BYTES))
                else:
                    at, offset = os.path.join(folder, str(number)), -1
                    _copy(file.fileno(), at, before.st_size)
                if state_of(os.fstat(file.fileno())) != state_of(before):
                    raise NotSealed(
                        f"{source.path} changed while it was copied ({source.at}): log it when it is written"
                    )
            staged.append(msgspec.structs.replace(source, at=at, offset=offset, bytes=before.st_size, state=None))
    return staged


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _copy(source: int, path: str, size: int) -> None:
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.ioctl(fd, FICLONE, source)
            return
        except OSError as error:
            if error.errno not in CANT_CLONE:
                raise
        done = 0
        while done < size:
            try:
                count = os.copy_file_range(source, fd, size - done, done, done)
            except OSError as error:
                if error.errno not in CANT_CLONE:
                    raise
                count = os.pwrite(fd, os.pread(source, min(_CHUNK_BYTES, size - done), done), done)
            if not count:
                break  # it became shorter: whoever called sees that
            done += count
    finally:
        os.close(fd)


def submit(data: str, ask: Ask) -> None:
    """Leave a wish; when this returns it survives the death of the process. Raises OSError."""
    folder = folder_of(data)
    make_private(folder)
    replace_file(
        os.path.join(folder, f"{ask.wanted.at_ns:020d}-{ask.wanted.ask}{_ENDING}"), msgspec.msgpack.encode(ask)
    )


def list_asks(data: str) -> list[str]:
    """The files of the wishes, in the order in which they were said."""
    try:
        names = sorted(name for name in os.listdir(folder_of(data)) if name.endswith(_ENDING))
    except OSError:
        return []
    return [os.path.join(folder_of(data), name) for name in names if not name.startswith(".")]


def read_ask(path: str) -> Ask | None:
    """A wish; None where it is done meanwhile, or can't be read."""
    try:
        with open(path, "rb") as file:
            return msgspec.msgpack.decode(file.read(), type=Ask)
    except (OSError, msgspec.MsgspecError):
        return None


def staged_folder(data: str, ask: str) -> str:
    """Where the copies of a wish lie."""
    return os.path.join(folder_of(data), f"{ask}.files")


def answer(data: str, ask: str, said: Answer, /) -> None:
    """Say what became of a wish. Raises OSError."""
    folder = os.path.join(data, FOLDER, "answers")
    make_private(folder)
    replace_file(os.path.join(folder, f"{ask}.json"), msgspec.json.encode(said))


def read_answer(data: str, ask: str) -> Answer | None:
    """None where nobody has answered yet."""
    try:
        with open(os.path.join(data, FOLDER, "answers", f"{ask}.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=Answer)
    except (OSError, msgspec.MsgspecError):
        return None


def working(data: str) -> "contextlib.AbstractContextManager[bool]":
    """Held by the one process that works wishes off; false where another does."""
    return _held(data, ".worker")


def uploading(data: str) -> "contextlib.AbstractContextManager[bool]":
    """Held by the one process that sends versions; false where another does."""
    return _held(data, ".uploader")


@contextlib.contextmanager
def _held(data: str, name: str) -> Iterator[bool]:
    make_private(folder_of(data))
    fd = os.open(os.path.join(folder_of(data), name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def start_worker(data: str, environment: dict[str, str]) -> None:
    """See to it that a process works off what is there by now; it is nobody's child.

    Whoever holds the lock looks for wishes again when it has let go of it: one more is needed only where nobody does.
    Where none can be started the wish stays: the next one, or `holter sync`, goes on with it.
    """
    with contextlib.suppress(OSError):
        with working(data) as is_free:
            if not is_free:
                return
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
            command = ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-P", "-m", "holter.artifacts", data]
            pid = os.posix_spawn("/bin/sh", command, environment, file_actions=actions, setsid=True, setsigmask=())
        finally:
            os.close(null)
        with contextlib.suppress(ChildProcessError):  # the program reaps all its children by itself
            os.waitpid(pid, 0)
