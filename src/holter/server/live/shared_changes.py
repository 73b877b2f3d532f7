"""The same changes on each of several servers, under the same numbers: a stream goes on at any of them."""

import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from holter.errors import StorageError
from holter.server.live.changes import MOST_CHANGES, Changes, encoded
from holter.storage.changes import Change, ChangeStore, Told, Woken

EVERY_S = 1.0
"""So often somebody looks who is not woken, while nobody waits at a stream; else more often."""
WATCHED_EVERY_S = 0.5
GATHERS_S = 0.15
"""So long changes are gathered: each time is a transaction, and all servers look."""
KEPT_S = 3600.0
FORGETS_EVERY_S = 600.0
SAYS_EVERY_S, MOST_UNSAID = 10.0, 100
"""So often a server tells that it is still about to say something to people, and takes so much of others at once."""
FIRST = 1


class SharedChanges(Changes):
    """What is noted here is told to all, and comes back from there. Thread-safe.

    Args:
        learn: gets each change that is new to this server.
    """

    def __init__(self, store: ChangeStore, *, learn: Callable[[Change], None]) -> None:
        super().__init__(FIRST)
        self.is_due = threading.Event()
        """Somebody has noted something, or was told of something elsewhere."""
        self._store = store
        self._learn = learn
        self._waiting: dict[tuple[str, str], Change] = {}
        self._is_calling = False
        self._reading = threading.Lock()
        self._saying: set[str] = set()
        self._said: set[str] = set()
        """What the other servers do not know yet."""
        self._renewed_at = 0.0
        self.refresh()

    def note(self, kind: str, run: str, *, project: str, data: object, user: str | None = None) -> None:
        """Have all servers told."""
        change = Change(0, kind, run, project, encoded(data), user)
        with self._lock:
            self._waiting[kind, change.about] = change
        self.is_due.set()

    def call(self) -> None:
        """Have the other servers look for what was received."""
        self._is_calling = True
        self.is_due.set()

    def tell(self) -> None:
        """Bring what was noted to all. Raises StorageFailing: then it is tried again."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            is_calling, self._is_calling = self._is_calling, False
        if not waiting and not is_calling:
            return
        try:
            self._store.tell(list(waiting.values()), has_grown=is_calling)
        except StorageError:
            with self._lock:
                self._waiting = waiting | self._waiting
            raise

    def refresh(self) -> None:
        """Know what all have said until now. Raises StorageFailing."""
        with self._reading:
            told = self._store.since(self.seq, most=MOST_CHANGES)
            for change in self._take_in(told):
                self._learn(change)

    def is_first(self, word: str, data: bytes) -> bool:
        """Whether no other server has said this to people; where nobody can tell, it is better said twice."""
        try:
            if not self._store.is_first(word, data):
                return False
        except StorageError:
            pass
        with self._lock:
            self._saying.add(word)
        return True

    def has_said(self, word: str, is_over: bool) -> None:
        """The other servers know soon."""
        with self._lock:
            self._saying.discard(word)
            if is_over:
                self._said.add(word)

    def unsaid(self) -> Mapping[str, bytes]:
        """What other servers did not come to say. Cheap where it is too early to ask."""
        if not self._said and time.monotonic() - self._renewed_at < SAYS_EVERY_S:
            return {}
        found = self._compare(MOST_UNSAID)
        with self._lock:
            self._saying |= found.keys()
        return found

    def forget(self) -> None:
        """Nobody goes on from so long ago. Raises StorageFailing."""
        self._store.forget(KEPT_S)

    def wait(self, within_s: float) -> Woken:
        """Until somebody has told something; see `ChangeStore.wait`."""
        return self._store.wait(within_s)

    def leave(self) -> None:
        """Say what is left to say, and close the store. Raises StorageFailing."""
        try:
            self.tell()
            self._compare(0)
        finally:
            self._store.close()

    def _compare(self, most: int) -> Mapping[str, bytes]:
        """Tell what was said here, and what is being said; take over what others left, not more than so much."""
        with self._lock:
            said, self._said = self._said, set()
            saying = list(self._saying)
        try:
            found = self._store.unsaid(said, saying, most=most)
        except StorageError:
            with self._lock:
                self._said |= said
            raise
        self._renewed_at = time.monotonic()
        return found

    def _take_in(self, told: Told) -> list[Change]:
        with self._lock:
            if told.forgotten > self._forgotten[1]:
                # Who has seen less than that has missed something.
                self._place += told.forgotten > self.seq
                place = self._place if told.forgotten > self.seq else self._forgotten[0]
                self._forgotten = (place, told.forgotten)
            new = [change for change in told.changes if self._is_new(change)]
            self._keep([_numbered(change) for change in new], max(self.seq, told.seq))
        return new

    def _is_new(self, change: Change) -> bool:
        _, known = self._newest.get((change.kind, change.about), (0, None))
        return known is None or known.seq != change.seq


def _numbered(change: Change) -> Change:
    """As it is told to people: what was an object of a few names has its number, too."""
    if change.kind == "run":
        return change
    return msgspec.structs.replace(change, data=b'%s,"seq":%d}' % (change.data[:-1], change.seq))


class Telling(threading.Thread):
    """Tells what this server notes, and looks for what others say.

    Args:
        wake: called when another server may have been sent something.
    """

    def __init__(self, changes: SharedChanges, *, wake: Callable[[], None], complain: Callable[[str], None]) -> None:
        super().__init__(name="holter-changes", daemon=True)
        self._changes = changes
        self._wake = wake
        self._complain = complain
        self._is_leaving = threading.Event()
        self._listener = threading.Thread(target=self._listen, name="holter-listener", daemon=True)

    def run(self) -> None:
        """Until `close`."""
        self._listener.start()
        forgot_at = time.monotonic()
        while not self._is_leaving.is_set():
            self._changes.is_due.wait(WATCHED_EVERY_S if self._changes.readers else EVERY_S)
            self._changes.is_due.clear()
            try:
                self._changes.tell()
                self._changes.refresh()
                if time.monotonic() - forgot_at > FORGETS_EVERY_S:
                    forgot_at = time.monotonic()
                    self._changes.forget()
            except StorageError as error:
                self._complain(str(error))
                self._is_leaving.wait(EVERY_S)
            self._is_leaving.wait(GATHERS_S)

    def close(self) -> None:
        """End both threads and wait for them. Idempotent."""
        self._is_leaving.set()
        self._changes.is_due.set()
        for each in (self, self._listener):
            if each.is_alive():
                each.join()

    def _listen(self) -> None:
        while not self._is_leaving.is_set():
            woken = self._changes.wait(EVERY_S)
            if woken.is_told:
                self._changes.is_due.set()
            if woken.has_grown:
                self._wake()
