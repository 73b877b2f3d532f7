"""The sidecar's one loop: sleeps until something happens or a second has passed."""

import _socket  # the module above it takes three milliseconds to load, and nothing here needs it
import contextlib
import os
import select
import time

from holter.model.clock import Clock
from holter.model.records import Noted
from holter.model.witnesses import witnesses_without
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from holter.probes.sampler import Sampler, open_sampler
from holter.sidecar.internal_log import write_down_failure
from holter.sidecar.sharing import Lead, take_lead
from holter.sidecar.stopping import StopWishes
from holter.sidecar.watched import WatchedRun
from holter.wire.way_back import (
    Ended,
    Events,
    Here,
    HowItEnded,
    Lines,
    Look,
    OnServer,
    Stop,
    Watch,
    decode_to_sidecar,
    encode,
)

TICK_S = 1.0
# How often the handlers of a command are looked at that has just begun.
YOUNG_S = 0.1
# While the exit status of a dead process is awaited.
URGENT_S = 0.01


class Link:
    """The way back to one process, with a pidfd of it for the runs that it will announce here."""

    def __init__(self, end: _socket.socket, pidfd: int) -> None:
        self.end = end
        self.pidfd = pidfd
        self.lines = Lines()
        self.directories: set[str] = set()
        """Those of the runs that the process records."""
        self.is_launcher = False

    def copy_pidfd(self) -> int:
        """A pidfd for one run, which closes it when the process has died."""
        return os.dup(self.pidfd) if self.pidfd >= 0 else -1

    def receive(self) -> list[bytes] | None:
        """The lines that came, None where the other end is closed. Never blocks."""
        try:
            data = self.end.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self.lines.feed(data) if data else None

    def send(self, line: bytes) -> None:
        """Say something to the process. Never blocks: one that does not listen is not waited for."""
        with contextlib.suppress(OSError):
            self.end.send(line, _socket.MSG_DONTWAIT | getattr(_socket, "MSG_NOSIGNAL", 0))

    def close(self) -> None:
        """Idempotent."""
        self.end.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


class Sidecar:
    """Watches the runs of the processes that handed themselves over; leaves when there is nothing left to watch."""

    def __init__(self, end: _socket.socket, pidfd: int) -> None:
        self._clock = Clock()
        self._links = [Link(end, pidfd)]
        self._runs: dict[str, tuple[WatchedRun, Lead]] = {}
        self._wishes: dict[str, StopWishes] = {}
        self._exits = ExitWitnesses(witnesses_without())
        self._sampler: Sampler | None = None
        self._linger_s = 0.0
        self._idle_since = 0.0

    def run(self, watch: Watch, lead: Lead) -> None:
        """Blocks until there is nothing left to watch."""
        self._begin(watch, self._links[0], lead)
        next_tick = time.monotonic()
        urgent, young = False, True
        while self._has_work():
            now = time.monotonic()
            self._wait(URGENT_S if urgent else min(max(0.0, next_tick - now), YOUNG_S if young else TICK_S))
            try:
                young = sum(watched.look_at_the_young() for watched, _ in self._runs.values()) > 0
                urgent = self._attend()
                if time.monotonic() >= next_tick:
                    next_tick = max(next_tick + TICK_S, time.monotonic() - TICK_S)
                    self._tick()
            except Exception:  # noqa: BLE001  the boundary: what can't be sampled or kept is missing, the watch goes on
                self._complain()
        self._leave()

    def _begin(self, watch: Watch, link: Link, lead: Lead) -> None:
        watched = WatchedRun(watch, self._clock, exits=self._exits)
        self._runs[watch.directory] = (watched, lead)
        self._wishes[watch.directory] = StopWishes(watch.directory, watch.attempt)
        self._linger_s = watch.linger_s
        watched.add(watch, link.copy_pidfd())
        link.directories.add(watch.directory)
        link.is_launcher = watch.by_launcher

    def _has_work(self) -> bool:
        if self._runs:
            self._idle_since = 0.0
            return True
        self._idle_since = self._idle_since or time.monotonic()
        return bool(self._links) and time.monotonic() - self._idle_since < self._linger_s

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        for end in [*(link.end for link in self._links), *(lead.listener for _, lead in self._runs.values())]:
            poll.register(end, select.POLLIN)
        for watched, _ in self._runs.values():
            for process in watched.processes:
                if process.pidfd >= 0 and not process.died_at_ns:
                    poll.register(process.pidfd, select.POLLIN)
            for pidfd in watched.children.pidfds:
                poll.register(pidfd, select.POLLIN)
        for descriptor in self._exits.descriptors:
            poll.register(descriptor, select.POLLIN)
        self._exits.catch([fd for fd, _ in poll.poll(seconds * 1000)])

    def _attend(self) -> bool:
        """Read what came, see who died, close what ended; true while an exit status is awaited."""
        self._read_links()
        for _, lead in list(self._runs.values()):
            while handed := lead.accept():
                watch, end, pidfd = handed
                self._links.append(Link(end, pidfd))
                self._watch(watch, self._links[-1])
        urgent = False
        for directory, (watched, lead) in list(self._runs.items()):
            urgent = watched.look_for_deaths() or urgent
            is_over = not watched.processes and watched.finish()
            if watched.autopsy.word is not None:  # somebody waits for it
                self._pass_on_words()
            if is_over:
                del self._runs[directory], self._wishes[directory]
                _close(watched, lead)
            urgent = urgent or watched.files.is_urgent or (not watched.processes and watched.autopsy.is_busy)
        return urgent

    def _read_links(self) -> None:
        for link in self._links.copy():
            lines = link.receive()
            for line in lines or []:
                self._understand(line, link)
            if lines is None:  # the process is gone or closed its end; its pidfd says which
                link.close()
                self._links.remove(link)

    def _understand(self, line: bytes, link: Link) -> None:
        match decode_to_sidecar(line):
            case Watch() as watch:
                self._watch(watch, link)
            case Ended() as ended:
                for watched, _ in self._runs.values():
                    watched.ended(ended)
            case Here() as here if here.directory in self._runs:
                if (guarding := self._runs[here.directory][0].guarding) is not None:
                    guarding.hear(here.pid, here.stack)
            case Events() as events if events.directory in self._runs:
                self._runs[events.directory][0].events.add(events)
            case Look() as look if look.directory in self._runs:
                self._runs[look.directory][0].ring()

    def _watch(self, watch: Watch, link: Link) -> None:
        if watch.directory in self._runs:
            self._runs[watch.directory][0].add(watch, link.copy_pidfd())
            link.directories.add(watch.directory)
            link.is_launcher = watch.by_launcher
        elif lead := take_lead(watch.directory):
            self._begin(watch, link, lead)

    def _tick(self) -> None:
        if self._runs and self._sampler is None:
            self._sampler = open_sampler()
        for watched, _ in self._runs.values():
            if (sampler := self._sampler) is not None:
                roots = [process.watch.pid for process in watched.processes if not process.died_at_ns]
                values = sampler.sample(roots, watched.directory)
                watched.tick(values, sampler.tree, readings=sampler.readings, quotas=sampler.quotas)
            watched.beat()
        self._pass_on_wishes()
        self._pass_on_words()
        self._exits.drain()

    def _pass_on_wishes(self) -> None:
        for directory, (watched, _) in self._runs.items():
            if (wish := self._wishes[directory].look()) is None:
                continue
            because = f": {wish.reason}" if wish.reason else ""
            watched.record(Noted(at_ns=self._clock.now_ns(), text=f"{wish.by} asked the run to stop{because}"))
            self._say(directory, encode(Stop(run=watched.run, by=wish.by, reason=wish.reason)))

    def _pass_on_words(self) -> None:
        """What the user should know of the upload, and of secrets that the program printed."""
        for directory, (watched, _) in self._runs.items():
            for word in watched.words():
                self._say(directory, encode(word), to_all=isinstance(word, OnServer | HowItEnded))

    def _say(self, directory: str, line: bytes, *, to_all: bool = False) -> None:
        """To the processes that record a run; to `holter run` only for a program that knows nothing of us.

        With `to_all`, to both.
        """
        links = [link for link in self._links if directory in link.directories]
        for link in [link for link in links if not link.is_launcher or to_all] or links:
            link.send(line)

    def _leave(self) -> None:
        """Close the ways back so that a message either reached us or fails at the sender, who then starts another."""
        for link in self._links:
            with contextlib.suppress(OSError):
                link.end.shutdown(_socket.SHUT_RDWR)
            while lines := link.receive():
                for line in lines:
                    self._understand(line, link)
        # A run that arrived while we were leaving is watched to its end, without a way back.
        for watched, lead in self._runs.values():
            while watched.processes:
                time.sleep(TICK_S)
                watched.look_for_deaths()
                watched.beat()
            while not watched.finish():
                time.sleep(URGENT_S)
            _close(watched, lead)

    def _complain(self) -> None:
        for watched, _ in self._runs.values():
            write_down_failure(watched.directory)


def _close(watched: WatchedRun, lead: Lead) -> None:
    try:
        watched.close()
    finally:
        lead.close()
