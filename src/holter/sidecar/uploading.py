"""Brings a run to its server while it is recorded, in a thread of its own: nothing else ever waits for the network."""

import random
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from holter.errors import Refused, Unreachable, UsageError
from holter.journal.server_ids import write_server_id
from holter.journal.stop_request import read_stop_request, write_stop_request
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Noted
from holter.sidecar.file_sending import FileSender
from holter.sidecar.internal_log import write_down, write_down_failure
from holter.sidecar.sending import RunSender, Sent
from holter.wire.batches import GONE
from holter.wire.connection import Connection, parse_address
from holter.wire.way_back import OnServer, Say, Upload, Watch

TIMEOUT_S = 20.0
FIRST_WAIT_S, MOST_WAIT_S = 0.5, 60.0
# A server that has no place for us is asked again only so often, however long that lasts.
REFUSED_WAIT_S = 60.0
MOST_RETRY_AFTER_S = 600.0
# A server may ask for fewer messages, but not so few that the run would look dead there.
LEAST_PACE_S, MOST_PACE_S = 0.2, 12.0
# One that is too busy says when it has time again: then no wait is longer than this, or what it says.
BUSY_WAIT_S = 15.0
FILES_EVERY_S = 10.0
# Journals of other hosts are left to the sidecars there for so long.
FOREIGN_EVERY_S = 30.0
# When the run has ended: so long in all, and so long without any progress.
FLUSH_S, STUCK_S = 60.0, 10.0
MOST_NOTES = 20


class Backoff:
    """How long to wait after a failure: longer each time, and never as long as everybody else."""

    def __init__(self, jitter: Callable[[], float] = random.random) -> None:
        self._jitter = jitter
        self._failures = 0

    def next_s(self, error: Refused | Unreachable) -> float:
        """Seconds until the next try; never less than the server asks for."""
        wait_s = min(MOST_WAIT_S, FIRST_WAIT_S * 2.0**self._failures)
        self._failures = min(self._failures + 1, 16)
        if isinstance(error, Refused) and error.retry_s is None and error.status < 500:
            wait_s = REFUSED_WAIT_S
        if isinstance(error, Refused) and error.retry_s is not None:
            wait_s = min(wait_s, BUSY_WAIT_S)
        asked_s = min(MOST_RETRY_AFTER_S, float(error.retry_s or 0))
        return max(wait_s * (0.5 + 0.5 * self._jitter()), asked_s * (1 + 0.1 * self._jitter()))

    def reset(self) -> None:
        """It worked."""
        self._failures = 0


class Uploader:
    """Sends one run to one server. Its thread keeps the sidecar alive for a bounded time after the end.

    It ends for good where somebody deleted the run there.

    Args:
        record: keeps a sentence in the sidecar's journal; thread-safe.
    """

    def __init__(self, watch: Watch, upload: Upload, *, record: Callable[[Record], None]) -> None:
        self.words: SimpleQueue[Say | OnServer] = SimpleQueue()
        """What the user should know; taken out by the loop."""
        self.journals = [watch.journal]
        """Those whose writers want to know how much of them is on the server."""
        self._told: dict[str, OnServer] = {}
        self._watch = watch
        self._upload = upload
        self._record = record
        self._clock = Clock()
        self._backoff = Backoff()
        self._notes = 0
        self._trouble = ""
        self._is_deleted = False
        self._there = watch.run
        self._pace_s = 1.0
        self._files_at = 0.0
        self._foreign_at = time.monotonic() + FOREIGN_EVERY_S
        self._is_over: Callable[[], bool] = lambda: True
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="upload")
        self._thread.start()

    def finish(self, is_over: Callable[[], bool]) -> None:
        """The run has ended: send what is left, for a bounded time, at least until `is_over`. Returns at once."""
        self._is_over = is_over
        self._ended.set()

    def _work(self) -> None:
        try:
            address = parse_address(self._upload.url)
        except UsageError as error:
            self._complain(str(error))
            return
        connection = Connection(address, self._upload.key, timeout_s=TIMEOUT_S)
        sender = RunSender(self._watch.directory, self._watch.run, connection=connection, is_alone=False)
        files = FileSender(self._watch.directory, connection=connection)
        try:
            while not self._is_deleted and not self._ended.wait(self._wait_s(sender, files)):
                pass
            if not self._is_deleted:
                self._flush(sender, files)
        except Exception:  # noqa: BLE001  the boundary: the run is recorded all the same, and `holter sync` sends it
            write_down_failure(self._watch.directory)
        finally:
            connection.close()

    def _wait_s(self, sender: RunSender, files: FileSender) -> float:
        """Send what there is; returns how long to rest then."""
        try:
            sent = self._send(sender)
            if sent.is_all and time.monotonic() >= self._files_at:
                self._files_at = time.monotonic() + FILES_EVERY_S
                for _ in files.send(sender.there, sender.files):
                    if self._ended.is_set():
                        break
                    self._send(sender)  # rows do not wait for a large file
        except (Refused, Unreachable) as error:
            self._tell(error)
            self._tell_rows(sender)
            return self._backoff.next_s(error)
        except OSError as error:  # the directory or its disk is gone; it may come back
            write_down(self._watch.directory, f"WARN upload: {error.strerror or error}")
            return MOST_WAIT_S
        self._recover()
        self._tell_rows(sender)
        return self._pace_s if sent.is_all else 0.0

    def _send(self, sender: RunSender) -> Sent:
        with_foreign = time.monotonic() >= self._foreign_at
        if with_foreign:
            self._foreign_at = time.monotonic() + FOREIGN_EVERY_S
            if sender.has_foreign:
                sender.ask()  # whoever else sends them may have done so by now
        sent = sender.send(with_foreign=with_foreign)
        if sent.bytes:
            self._pace_s = min(max(sent.pace_s, LEAST_PACE_S), MOST_PACE_S)
        self._pass_on(sent)
        self._tell_id(sender.there)
        return sent

    def _tell_rows(self, sender: RunSender) -> None:
        for journal in self.journals:
            known = OnServer(journal=journal, rows=sender.rows_there(journal), is_stuck=bool(self._trouble))
            if known != self._told.get(journal):
                self._told[journal] = known
                self.words.put(known)

    def _flush(self, sender: RunSender, files: FileSender) -> None:
        """Send the rest. What does not arrive in time stays where it is, for `holter sync`."""
        began = progress_at = time.monotonic()
        while (now := time.monotonic()) - began < FLUSH_S and now - progress_at < STUCK_S:
            was_over = self._is_over()
            try:
                sent = sender.send(is_final=was_over)
                self._tell_id(sender.there)
                if sent.is_all and was_over:
                    for _ in files.send(sender.there, sender.files, is_final=True):
                        progress_at = time.monotonic()
                        if progress_at - began > FLUSH_S:
                            break
                    if not sent.bytes:
                        write_down(self._watch.directory, f"INFO all of it is on {self._upload.url}")
                        return
                progress_at = time.monotonic() if sent.bytes else progress_at
                if sent.is_all:
                    time.sleep(0.1)
            except (Refused, Unreachable) as error:
                self._tell(error)
                if self._is_deleted:
                    return
                time.sleep(min(self._backoff.next_s(error), 2.0))
        write_down(
            self._watch.directory, f"WARN not all of it is on {self._upload.url}: `{self._remedy}` sends the rest"
        )

    def _tell_id(self, there: str) -> None:
        """Where it has another id on the server than here, its user should know; once."""
        if there == self._there:
            return
        self._there = there
        write_server_id(self._watch.directory, self._upload.url, run=self._watch.run, there=there)
        text = (
            f"this run is {there} on {self._upload.url}: somebody else's run, or one of another project, is"
            f" {self._watch.run} there"
        )
        self._note(text)
        self.words.put(Say(cause="upload-id", text=text))

    def _pass_on(self, sent: Sent) -> None:
        """A wish that the run stops, to the file in which the loop looks for such."""
        if sent.stop is None:
            return
        known = read_stop_request(self._watch.directory)
        if known is None or known.at_ns < sent.stop.at_ns:
            write_stop_request(self._watch.directory, sent.stop)

    @property
    def _remedy(self) -> str:
        return f"holter sync {self._watch.run}"

    def _tell(self, error: Refused | Unreachable) -> None:
        if isinstance(error, Refused):
            text = "; ".join(filter(None, (str(error), error.why, error.do)))
        else:
            text = f"it can't be reached ({error})"
        self._is_deleted = isinstance(error, Refused) and error.status == GONE
        if text == self._trouble:
            return
        self._trouble = text
        self._complain(f"the run is not sent to {self._upload.url}: {text}. It is still recorded here")

    def _recover(self) -> None:
        self._backoff.reset()
        if self._trouble:
            self._trouble = ""
            self._note(f"the run is sent to {self._upload.url} again")

    def _complain(self, text: str) -> None:
        self._note(text)
        # Once in the terminal, however often the network comes and goes.
        self.words.put(Say(cause="upload", text=text))

    def _note(self, text: str) -> None:
        self._notes += 1
        write_down(self._watch.directory, f"WARN {text}")
        if self._notes <= MOST_NOTES:
            self._record(Noted(at_ns=self._clock.now_ns(), text=text[:1000]))
