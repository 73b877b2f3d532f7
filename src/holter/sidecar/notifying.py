"""Tells people of a run what they want to be told, as their `alerts.toml` says; loaded only where there is one."""

import threading
from collections.abc import Callable, Sequence

import msgspec

from holter.alerts.file import read_file
from holter.alerts.message import Message
from holter.alerts.outbox import Outbox
from holter.alerts.target import Target
from holter.alerts.telling import RECORDS, About, of_end, of_record
from holter.errors import UsageError
from holter.journal.digest import Digest, GrowingDigests
from holter.journal.server_ids import read_server_id
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import KERNEL, Alerted, Described, Noted
from holter.model.state import RUNNING, Lateness
from holter.probes.identity import host_name
from holter.sidecar.internal_log import write_down_failure
from holter.wire.addresses import page_of
from holter.wire.way_back import Watch

EVERY_S = 5.0
SEND_WITHIN_S = 60.0
LATE_NS = 60_000_000_000
MOST_NOTES = 20


class Notifier:
    """Owns what is told of one run from this host. Begun by its maker, who calls `finish` when the run has ended.

    Args:
        record: keeps a sentence in the sidecar's journal; thread-safe.
    """

    def __init__(self, watch: Watch, record: Callable[[Record], None], *, clock: Clock) -> None:
        self._watch = watch
        self._record = record
        self._clock = clock
        # What was said before we came, but not what a sidecar before us has told long since.
        self._since_ns = clock.now_ns() - LATE_NS
        self._digests = GrowingDigests(watch.directory)
        self._told: set[tuple[str, int, str]] = set()
        self._notes = 0
        self._bell = threading.Event()
        self._has_ended = False
        self._outbox: Outbox | None = None
        self._thread = threading.Thread(target=self._loop, name="notifier")
        self._thread.start()

    def ring(self) -> None:
        """There is something new in the journals. Never blocks."""
        self._bell.set()

    def finish(self) -> None:
        """All journals are closed: tell how it ended, and send what is left for a bounded time. Never blocks."""
        self._has_ended = True
        self._bell.set()

    def _loop(self) -> None:
        try:
            self._outbox = Outbox(self._targets(), complain=self._note)
        except UsageError as error:
            self._note(str(error))
            return
        while not self._has_ended:
            self._guarded(self._look)
            self._bell.wait(EVERY_S)
            self._bell.clear()
        self._guarded(lambda: self._look(is_final=True))
        self._guarded(self._tell_end)
        self._outbox.finish(SEND_WITHIN_S)
        self._outbox.join()  # whoever leaves waits for this thread, and knows of no other

    def _targets(self) -> Sequence[Target]:
        """Those that may be told. Raises UsageError."""
        found = read_file(self._watch.alerts).target
        allowed = [each for each in found if each.kind == "command" or not self._watch.is_offline]
        if left_out := [each.label for each in found if each not in allowed]:
            self._note(f"offline: {', '.join(left_out)} can be told only over the network, and will not be")
        return allowed

    def _look(self, *, is_final: bool = False) -> None:
        self._digests.update(is_final=is_final)
        digests = [each for each in self._digests.digests if self._is_ours(each)]
        described = _described(self._digests.digests)
        if described is None or described.kind == KERNEL:
            return
        about = About(
            run=self._watch.run, name=described.name, project=described.project, link=self._link(described.project)
        )
        for each in digests:
            for record in each.said:
                self._tell_record(record, about)

    def _tell_record(self, record: Record, about: About) -> None:
        kind = type(record).__name__
        if kind not in RECORDS or record.at_ns < self._since_ns:
            return
        key = (kind, record.at_ns, record.title if isinstance(record, Alerted) else "")
        if key in self._told:  # each segment repeats what was said before
            return
        self._told.add(key)
        self._send(of_record(kind, msgspec.to_builtins(record), of=about))

    def _tell_end(self) -> None:
        from holter.catalog.judge.verdict import judge
        from holter.catalog.present.last_word import reason
        from holter.catalog.read.loaded_run import load_run

        loaded = load_run(self._watch.directory, now_ns=self._clock.now_ns(), lateness=Lateness(), is_patient=False)
        if loaded is None or loaded.row.state == RUNNING or not self._ends_here(self._digests.digests):
            return
        loaded = judge(loaded)
        advice = loaded.diagnosis.advice if loaded.diagnosis else ()
        link = self._link(loaded.row.project)
        self._send(of_end(loaded.row, why=reason(loaded), advice=advice[0] if advice else "", link=link))

    def _ends_here(self, digests: Sequence[Digest]) -> bool:
        """Several machines may share a run: the one with its first rank tells how it ended; nobody does of a kernel."""
        described = _described(digests)
        is_kernel = described is None or described.kind == KERNEL
        return not is_kernel and any(self._is_ours(each) and not each.opened.rank for each in digests)

    def _is_ours(self, digest: Digest) -> bool:
        return digest.opened.host == host_name() and digest.opened.attempt >= self._watch.attempt

    def _link(self, project: str) -> str:
        upload = self._watch.upload
        if upload is None:
            return ""
        there = read_server_id(self._watch.directory, upload.url, run=self._watch.run)
        return f"{upload.url}/{page_of(project, there)}"

    def _send(self, message: Message | None) -> None:
        if message is not None and self._outbox is not None:
            self._outbox.add(message)

    def _note(self, text: str) -> None:
        self._notes += 1
        if self._notes <= MOST_NOTES:
            self._record(Noted(at_ns=self._clock.now_ns(), text=text[:1000]))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:  # noqa: BLE001  the boundary: nobody is told, the watch goes on
            write_down_failure(self._watch.directory)


def _described(digests: Sequence[Digest]) -> Described | None:
    found = [each.described for each in digests if each.described is not None]
    return max(found, key=lambda each: each.at_ns, default=None)
