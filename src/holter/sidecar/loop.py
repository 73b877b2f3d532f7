"""The sidecar's one loop: sleeps until something happens or a second has passed."""

import os
import select
import socket
import sys
import threading
import time
import traceback

from holter.model.clock import Clock
from holter.model.records import Facts
from holter.probes.sampler import Sampler, open_sampler
from holter.sidecar.sharing import Lead, take_lead
from holter.sidecar.watched import WatchedRun
from holter.wire.way_back import Ended, Lines, Watch, decode_to_sidecar

TICK_S = 1.0
# While the exit status of a dead process is awaited.
URGENT_S = 0.01


class Sidecar:
    """Watches the runs of the processes that handed themselves over; leaves when there is nothing left to watch."""

    def __init__(self, link: socket.socket) -> None:
        self._clock = Clock()
        self._links: dict[int, tuple[socket.socket, Lines]] = {link.fileno(): (link, Lines())}
        self._runs: dict[str, tuple[WatchedRun, Lead]] = {}
        self._pidfds: list[int] = []
        self._sampler: Sampler | None = None
        self._linger_s = 0.0
        self._idle_since = 0.0

    def run(self, watch: Watch, pidfd: int, lead: Lead) -> None:
        """Blocks until there is nothing left to watch."""
        self._begin(watch, pidfd, lead)
        next_tick = time.monotonic()
        urgent = False
        while self._has_work():
            now = time.monotonic()
            self._wait(URGENT_S if urgent else max(0.0, next_tick - now))
            try:
                urgent = self._attend()
                if time.monotonic() >= next_tick:
                    next_tick = max(next_tick + TICK_S, time.monotonic() - TICK_S)
                    self._tick()
            except Exception:  # the boundary: what can't be sampled or kept is missing, the watch goes on
                self._complain()
        self._leave()

    def _begin(self, watch: Watch, pidfd: int, lead: Lead) -> None:
        watched = WatchedRun(watch, self._clock)
        self._runs[watch.directory] = (watched, lead)
        self._linger_s = watch.linger_s
        watched.add(watch, self._keep(pidfd))
        if watch.collect_facts:
            threading.Thread(target=_collect_facts, args=(watched, watch.pid, self._clock), daemon=True).start()

    def _keep(self, pidfd: int) -> int:
        """A copy for each run: the process may have several, one after the other."""
        if pidfd < 0:
            return -1
        if pidfd not in self._pidfds:
            self._pidfds.append(pidfd)
        return os.dup(pidfd)

    def _has_work(self) -> bool:
        if self._runs:
            self._idle_since = 0.0
            return True
        self._idle_since = self._idle_since or time.monotonic()
        return bool(self._links) and time.monotonic() - self._idle_since < self._linger_s

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        for fd in [*self._links, *(lead.door.fileno() for _, lead in self._runs.values())]:
            poll.register(fd, select.POLLIN)
        for watched, _ in self._runs.values():
            for process in watched.processes:
                if process.pidfd >= 0 and not process.died_at_ns:
                    poll.register(process.pidfd, select.POLLIN)
        poll.poll(seconds * 1000)

    def _attend(self) -> bool:
        """Read what came, see who died, close what ended; true while an exit status is awaited."""
        self._read_links()
        for _, lead in list(self._runs.values()):
            while handed := lead.accept():
                watch, link, pidfd = handed
                self._links[link.fileno()] = (link, Lines())
                self._watch(watch, pidfd)
        urgent = False
        for directory, (watched, lead) in list(self._runs.items()):
            urgent = watched.look_for_deaths() or urgent
            if not watched.processes:
                watched.close()
                lead.close()
                del self._runs[directory]
        return urgent

    def _read_links(self) -> None:
        for fd, (link, lines) in list(self._links.items()):
            try:
                data = link.recv(65536)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            for line in lines.feed(data):
                self._understand(line)
            if not data:  # the process is gone or closed its end; its pidfd says which
                link.close()
                del self._links[fd]

    def _understand(self, line: bytes) -> None:
        match decode_to_sidecar(line):
            case Watch() as watch:
                self._watch(watch, self._pidfds[0] if self._pidfds else -1)
            case Ended() as ended:
                for watched, _ in self._runs.values():
                    watched.ended(ended)

    def _watch(self, watch: Watch, pidfd: int) -> None:
        if watch.directory in self._runs:
            self._runs[watch.directory][0].add(watch, self._keep(pidfd))
        elif lead := take_lead(watch.directory):
            self._begin(watch, pidfd, lead)

    def _tick(self) -> None:
        if self._runs and self._sampler is None:
            self._sampler = open_sampler()
        for watched, _ in self._runs.values():
            if self._sampler is not None:
                roots = [process.watch.pid for process in watched.processes if not process.died_at_ns]
                watched.sample(self._sampler.sample(roots, watched.directory))
            watched.beat()

    def _leave(self) -> None:
        """Close the ways back so that a message either reached us or fails at the sender, who then starts another."""
        for link, lines in list(self._links.values()):
            try:
                link.shutdown(socket.SHUT_RDWR)
                while data := link.recv(65536):
                    for line in lines.feed(data):
                        self._understand(line)
            except OSError:
                continue
        self._links.clear()
        if self._runs:
            (watched, lead), *_ = self._runs.values()
            self._links.clear()
            self._drain(watched, lead)

    def _drain(self, watched: WatchedRun, lead: Lead) -> None:
        """A run that arrived while we were leaving is watched to its end without a way back."""
        while watched.processes:
            time.sleep(TICK_S)
            watched.look_for_deaths()
            watched.beat()
        watched.close()
        lead.close()

    def _complain(self) -> None:
        for watched, _ in self._runs.values():
            path = os.path.join(watched.directory, "debug-internal.log")
            try:
                with open(path, "a", encoding="utf-8") as log:
                    if log.tell() < 1 << 20:
                        log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {traceback.format_exc()}\n")
            except OSError:
                print(traceback.format_exc(), file=sys.stderr)


def _collect_facts(watched: WatchedRun, pid: int, clock: Clock) -> None:
    """In a thread of its own: asking git and reading a thousand packages may take seconds."""
    from holter.probes.facts import collect_facts

    watched.record(Facts(at_ns=clock.now_ns(), facts=collect_facts(pid)))
