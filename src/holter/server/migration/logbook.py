"""What a migration has done so far, in the directory that it leads to: one that was killed goes on from there."""

import contextlib
import os

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_for_good
from holter.journal.rundir import make_private, sync_directory

NAME = ".migration.json"
DONE = ".migration-done.jsonl"


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """From where to where, without passwords."""

    source: str
    places: dict[str, str]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A run of which all was found equal on both sides. It is looked at again where it has changed since."""

    run: str
    part: str
    stamp_ns: int
    digest: str = ""


_decode_aim = msgspec.json.Decoder(Aim).decode
_decode_done = msgspec.json.Decoder(Done).decode


class Logbook:
    """Two files in a data directory. What the second one lost is done again."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._done = {(each.run, each.part): each for each in self._read_done()}

    def is_open(self, aim: Aim) -> bool:
        """Whether this migration was begun before. Raises UsageError where another was."""
        path = os.path.join(self._data, NAME)
        try:
            with open(path, "rb") as file:
                begun = _decode_aim(file.read())
        except FileNotFoundError:
            return False
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path} can't be read ({error}): remove it, empty the places, and begin anew") from error
        if begun != aim:
            places = ", ".join(dict.fromkeys(begun.places.values()))
            raise UsageError(
                f"{self._data} has a migration from {begun.source} to {places} that is not finished: go on with that, "
                f"or empty those places, remove {path} and begin another"
            )
        return True

    def open(self, aim: Aim) -> None:
        """Begin; on disk when this returns. Raises OSError."""
        self._remove(DONE)
        self._done.clear()
        make_private(self._data)
        replace_for_good(os.path.join(self._data, NAME), msgspec.json.encode(aim))
        sync_directory(self._data)

    def find(self, run: str, part: str, *, stamp_ns: int) -> Done | None:
        """What was found equal of a run as it is now."""
        found = self._done.get((run, part))
        return found if found is not None and found.stamp_ns == stamp_ns else None

    def note(self, done: Done) -> None:
        """A part of a run is equal. Raises OSError."""
        with open(os.path.join(self._data, DONE), "ab") as file:
            file.write(b"\n" + msgspec.json.encode(done))
        self._done[done.run, done.part] = done

    def close(self) -> None:
        """All is done. Idempotent."""
        self._remove(NAME)
        self._remove(DONE)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._data, name))

    def _read_done(self) -> list[Done]:
        found = []
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self._data, DONE), "rb") as file:
            for line in filter(None, file.read().split(b"\n")):
                with contextlib.suppress(msgspec.MsgspecError):
                    found.append(_decode_done(line))
        return found
