"""Whose each run is: who sent it first, into which project, and under which id its sender knows it."""

import threading
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

import msgspec

from holter.errors import Refused
from holter.journal.line_files import append_line

MOST_ID = 128
OWNERS = "access/owners/"
"""What the name of a run begins with in a book."""


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of a server and whose it is. A later line for the same run holds."""

    run: str
    user: str
    project: str = ""
    """As its sender said when it began; empty where it did not say."""
    asked: str = ""
    """The id that it has where it was recorded; empty where that is the same."""

    def is_of(self, project: str | None) -> bool:
        """Whether it may be a run of that project; one of them may not be known."""
        return not project or not self.project or self.project == project


class OwnerBook(Protocol):
    """What all servers say of runs."""

    def add(self, name: str, data: bytes) -> bytes | None:
        """Say something that can be said once; returns what another server has said before. Raises StorageError."""

    def put(self, name: str, data: bytes) -> None:
        """Say it anew. Raises StorageError."""

    def has(self, name: str) -> bool:
        """Whether somebody has said it, as far as this server knows."""

    def follow(self, learn: Callable[[bytes], None]) -> None:
        """Have somebody told what servers say, now and from now on. Raises StorageError, OSError."""


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is about to send a run."""

    user: str
    run: str
    project: str | None = None
    """None where the sender does not say."""
    journals: Collection[str] = ()
    """Those that lie in its directory: who has one of a run's journals has that run."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Owner).decode


class Owners:
    """A line for each run in one file, all of it in memory. Thread-safe; one process has it at a time.

    Args:
        journals: those that are kept of a run.
        is_taken: whether an id can't be given to a new run, though nobody is known to own it.
        book: where other servers look as well.
    """

    def __init__(
        self,
        path: str,
        *,
        journals: Callable[[str], Collection[str]],
        is_taken: Callable[[str], bool],
        book: OwnerBook | None = None,
    ) -> None:
        self._path = path
        self._book = book
        self._journals = journals
        self._is_taken = is_taken
        self._lock = threading.Lock()
        self._owners: dict[str, Owner] = {each.run: each for each in _read(path)}
        self._renamed: dict[str, list[str]] = {}
        for each in self._owners.values():
            self._note_name(each)

    def get(self, run: str) -> Owner | None:
        """None for a run of which nobody knows who sent it."""
        return self._owners.get(run)

    def has_user(self, user: str) -> bool:
        """Whether a run is theirs."""
        return any(each.user == user for each in list(self._owners.values()))

    def of_sender(self, user: str, run: str) -> list[Owner]:
        """The runs of a user that are known to them by an id."""
        found = [self._owners.get(run), *(self._owners[name] for name in self._renamed.get(run, ()))]
        return [each for each in found if each is not None and each.user == user]

    def claim(self, sender: Sender, *, has_grant: Callable[[str], bool] = lambda run: False) -> str:
        """The id under which a sender's run is known here; it is theirs from now on. Idempotent. Raises OSError.

        It is the run that the same user sent into the same project by that id, or one that they were let into, or one
        that was there before anybody kept owners and of which the sender has a journal; else a new one.
        """
        with self._lock:
            while (found := self._find(sender) or self._find_granted(sender, has_grant)) is None:
                run = (
                    sender.run if self._is_free(sender.run) or self._is_orphan_of(sender) else self._new_id(sender.run)
                )
                asked = "" if run == sender.run else sender.run
                if self._begin(Owner(run=run, user=sender.user, project=sender.project or "", asked=asked)):
                    return run
            if found.user == sender.user and sender.project and not found.project:
                self._keep(msgspec.structs.replace(found, project=sender.project))
            return found.run

    def settle(self, run: str, project: str) -> None:
        """Say of which project a run is whose sender did not say so. Raises OSError."""
        with self._lock:
            if (owner := self._owners.get(run)) is not None and not owner.project:
                self._keep(msgspec.structs.replace(owner, project=project))

    def admit(self, user: str, run: str, *, has_grant: Callable[[str], bool] = lambda run: False) -> None:
        """Let a user send to a run: theirs, or one that they were let into, or nobody's, which becomes theirs.

        Raises Refused, OSError.
        """
        if run not in self._owners:
            with self._lock:
                if run not in self._owners:
                    self._begin(Owner(run=run, user=user))
        self.check(user, run, has_grant=has_grant)

    def check(self, user: str, run: str, *, has_grant: Callable[[str], bool] = lambda run: False) -> None:
        """Raises Refused where a run is somebody else's."""
        owner = self._owners.get(run)
        if owner is not None and owner.user != user and not has_grant(run):
            raise Refused(
                409,
                f"the run {run!r} on this server is somebody else's",
                why="a run belongs to whoever sent it first",
                do="update holter on the machine that sends, which then gets another id here; or record under another"
                " HOLTER_RUN_ID; or have its owner let you in",
            )

    def _find(self, sender: Sender) -> Owner | None:
        mine = self.of_sender(sender.user, sender.run)
        if len(mine) > 1 or any(not each.is_of(sender.project) for each in mine):
            wanted = set(sender.journals)
            for each in mine:
                if not wanted.isdisjoint(self._journals(each.run)):
                    return each
        # Rather one whose project is known to be the same.
        for each in sorted(mine, key=lambda each: not each.project):
            if each.is_of(sender.project):
                return each
        return None

    def _find_granted(self, sender: Sender, has_grant: Callable[[str], bool]) -> Owner | None:
        owner = self._owners.get(sender.run)
        return owner if owner is not None and owner.is_of(sender.project) and has_grant(owner.run) else None

    def _is_free(self, run: str) -> bool:
        return run not in self._owners and not self._is_taken(run)

    def _is_orphan_of(self, sender: Sender) -> bool:
        return sender.run not in self._owners and not set(sender.journals).isdisjoint(self._journals(sender.run))

    def _new_id(self, run: str) -> str:
        number = 2
        while True:
            ending = f"-{number}"
            name = run[: MOST_ID - len(ending)] + ending
            if self._is_free(name):
                return name
            number += 1

    def share(self) -> None:
        """Learn what other servers say, now and from now on, and tell them what only this one knows.

        Raises StorageError, OSError.
        """
        if self._book is None:
            return
        self._book.follow(self.learn)
        for owner in list(self._owners.values()):
            if not self._book.has(OWNERS + owner.run):
                self._begin(owner)

    def learn(self, data: bytes) -> None:
        """What another server says of a run. Raises OSError."""
        with self._lock:
            if self._owners.get((owner := _decode(data)).run) != owner:
                self._write(owner)

    def _begin(self, owner: Owner) -> bool:
        """Keep whose a run is of which nobody knew that; false where another server has just said so."""
        said = self._book.add(OWNERS + owner.run, _encode(owner)) if self._book is not None else None
        self._write(_decode(said) if said is not None else owner)
        return said is None

    def _keep(self, owner: Owner) -> None:
        if self._book is not None:
            self._book.put(OWNERS + owner.run, _encode(owner))
        self._write(owner)

    def _write(self, owner: Owner) -> None:
        append_line(self._path, _encode(owner))
        self._owners[owner.run] = owner
        self._note_name(owner)

    def _note_name(self, owner: Owner) -> None:
        names = self._renamed.setdefault(owner.asked, []) if owner.asked else []
        if owner.run not in names:
            names.append(owner.run)


def _read(path: str) -> Iterator[Owner]:
    """What can't be read of it is left out."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return
    for line in filter(None, lines):
        try:
            yield _decode(line)
        except msgspec.MsgspecError:
            continue
