"""Works off what programs want to be kept, in the order in which they said it, outside of their processes."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator

from holter.artifacts.asks import Answer, Ask, answer, list_asks, read_answer, read_ask, staged_folder, working
from holter.artifacts.book import Version
from holter.artifacts.collecting import collect
from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.uploading import Waiting, enqueue, is_waited_for, upload_all
from holter.errors import HolterError, NotKept, NotSealed
from holter.journal.frame import encode_record
from holter.journal.writer import JournalWriter
from holter.model.artifact_records import ArtifactSealed
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Noted
from holter.probes.identity import this_process

LINGER_S = 3.0
UPLOAD_WITHIN_S = 3600.0
_LOOK_S = 0.1
_PATIENCE_S = 1.0
_DAY_S = 86400.0

Tell = Callable[[Ask, Answer], None]


def work_off(data: str, *, linger_s: float = 0.0, tell: Tell | None = None) -> int:
    """Do all that waits, and what comes within `linger_s` after it; returns how much was done.

    Returns at once where another process is at it.
    """
    done, patience = 0, time.monotonic() + _PATIENCE_S
    while True:
        is_stuck = False
        with working(data) as is_mine:
            if is_mine:
                count, is_stuck = _work_off(data, linger_s, tell or write_down)
                done += count
        # Somebody may have looked whether we are there just then; who really works does all of it.
        if is_stuck or not list_asks(data) or (not is_mine and time.monotonic() > patience):
            return done
        time.sleep(_LOOK_S)


def _work_off(data: str, linger_s: float, tell: Tell) -> tuple[int, bool]:
    store, done, idle_since, retired = Store(data), 0, time.monotonic(), False
    while True:
        for path in list_asks(data):
            if (ask := read_ask(path)) is None:
                with contextlib.suppress(OSError):
                    os.replace(path, f"{path}.unreadable")
                continue
            said, is_final = _do(store, ask)
            tell(ask, said)
            if not is_final:  # the disk: everybody else's wish would meet the same
                return done, True
            if ask.url and said.number >= 0:
                enqueue(data, _to_be_sent(ask, said))
            answer(data, ask.wanted.ask, said)
            os.unlink(path)
            shutil.rmtree(staged_folder(data, ask.wanted.ask), ignore_errors=True)
            done, idle_since, retired = done + 1, time.monotonic(), retired or ask.wanted.keep is not None
        if time.monotonic() - idle_since >= linger_s:
            break
        time.sleep(_LOOK_S)
    if retired or _is_due(store):
        collect(store, now_ns=time.time_ns())
    return done, False


def _to_be_sent(ask: Ask, said: Answer) -> Waiting:
    return Waiting(url=ask.url, wanted=ask.wanted, number=said.number, directory=ask.directory, attempt=ask.attempt)


def _is_due(store: Store) -> bool:
    """Once a day what the trash has held for long enough goes."""
    stamp = os.path.join(store.root, ".collected")
    with contextlib.suppress(OSError):
        if os.path.exists(stamp) and time.time() - os.stat(stamp).st_mtime < _DAY_S:
            return False
        with open(stamp, "wb"):
            os.utime(stamp)
        return True
    return False


def _do(store: Store, ask: Ask) -> tuple[Answer, bool]:
    """What becomes of a wish, and whether that is the last word."""
    if ask.trouble:
        return _missed(store, ask, ask.trouble), True
    try:
        version = _link(store, ask) if ask.same_as else seal(store, ask.sources, ask.wanted)
    except HolterError as error:
        return _missed(store, ask, str(error)), True
    except OSError as error:
        return _missed(store, ask, f"{error.strerror or error} ({error.filename or store.root})"), False
    except Exception as error:  # noqa: BLE001  one odd file must not keep all others from being kept, for ever
        return _missed(store, ask, f"{type(error).__name__}: {error}"), not isinstance(error, MemoryError)
    return Answer(version.number, version.digest, version.bytes, version.new_bytes), True


def _link(store: Store, ask: Ask) -> Version:
    said = read_answer(os.path.dirname(store.root), ask.same_as)
    if said is None or said.number < 0:
        raise NotSealed(f"what it was to have the content of was not kept: {said.why if said else 'nobody knows why'}")
    return store.publish(store.manifest(said.digest), ask.wanted)


def _missed(store: Store, ask: Ask, why: str) -> Answer:
    with contextlib.suppress(HolterError, OSError):
        store.miss(ask.wanted, why)
    return Answer(why=why)


def upload(data: str, url: str, key: str, /, *, within_s: float) -> None:
    """Send what waits for a server, until all is sent or nobody answered for so long; new wishes come first."""
    from holter.wire.connection import Connection, parse_address

    until, wait_s = time.monotonic() + within_s, 1.0
    connection = Connection(parse_address(url), key, timeout_s=60)
    try:
        while is_waited_for(data, url):
            is_answered = upload_all(
                data,
                lambda other: connection.ask if other == url else None,  # the key is for nobody else
                should_stop=lambda: bool(list_asks(data)),
                tell=_refused,
            )
            if list_asks(data):
                work_off(data)
            elif not is_answered:
                if time.monotonic() + wait_s > until:
                    return
                time.sleep(wait_s)
                wait_s = min(60.0, 2 * wait_s)
    finally:
        connection.close()


def _refused(waiting: Waiting, why: str) -> None:
    wanted = waiting.wanted
    text = f"upload of {wanted.type} {wanted.name} v{waiting.number} did not complete: {why}"
    _append(waiting.directory, waiting.attempt, wanted.run, Noted(at_ns=Clock().now_ns(), text=text))


def write_down(ask: Ask, said: Answer) -> None:
    """Tell the run what became of its wish, in a journal of our own."""
    wanted = ask.wanted
    sealed = ArtifactSealed(
        at_ns=Clock().now_ns(),
        ask=wanted.ask,
        name=wanted.name,
        type=wanted.type,
        version=said.number,
        digest=said.digest,
        bytes=said.bytes,
        new_bytes=said.new_bytes,
        why=said.why,
    )
    _append(ask.directory, ask.attempt, wanted.run, sealed)


def _append(directory: str, attempt: int, run: str, record: Record) -> None:
    if not directory or not os.path.isdir(directory):
        return
    opened = this_process().opens(run, "command", at_ns=record.at_ns, attempt=attempt)

    def prologue() -> Iterator[bytes]:
        yield encode_record(opened)

    journal = JournalWriter(directory, prologue, clock=Clock())
    with contextlib.suppress(NotKept, OSError), contextlib.closing(journal):
        journal.record(record)
