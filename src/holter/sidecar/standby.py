"""Moves a command's output while its launcher can't: because it was stopped, or because it is gone."""

import os
import select
import signal
import threading
from collections.abc import Sequence

from holter.console.claims import LAUNCHER, SIDECAR, Claims
from holter.console.envelope import Envelope
from holter.console.pump import Flow, Pump
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock
from holter.probes.procfs import read_stat
from holter.wire.way_back import Pumped, Watch

LOOK_MS = 200.0
MOVE_MS = 50.0


class Standby:
    """Waits beside the launcher. Its thread keeps the sidecar alive until nothing can come any more.

    Args:
        watch: what the launcher said.
        pumped: the part of it that is about output.
        descriptors: the shared memory, and an envelope for each stream; ours from now on.
    """

    def __init__(self, watch: Watch, pumped: Pumped, *, descriptors: Sequence[int]) -> None:
        self._watch = watch
        self._pumped = pumped
        # A description of our own: the lock would be one and the same otherwise.
        self._claims = Claims(os.open(f"/proc/self/fd/{descriptors[0]}", os.O_RDWR | os.O_CLOEXEC))
        os.close(descriptors[0])
        self._claims.sidecar_pid = os.getpid()
        self._envelopes = [Envelope.inherited(fd) for fd in descriptors[1:]]
        self._areas = [
            (self._claims.area(SIDECAR, number), self._claims.area(LAUNCHER, number))
            for number in range(len(self._envelopes))
        ]
        self._launcher = _open_launcher(pumped)
        self._writer = TranscriptWriter(
            watch.directory, pumped.transcript, limit_bytes=watch.console_bytes, clock=Clock()
        )
        self._thread = threading.Thread(target=self._work, name="standby")

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def wait(self) -> None:
        """Blocks until nothing can be printed any more."""
        self._thread.join()

    def _work(self) -> None:
        while not self._is_gone(LOOK_MS):
            if self._is_needed():
                self._stand_in()
        self._inherit()

    def _is_gone(self, timeout_ms: float) -> bool:
        """Whether the launcher has died; waits so long for it."""
        if self._launcher < 0:
            return True
        poll = select.poll()
        poll.register(self._launcher, select.POLLIN)
        return bool(poll.poll(timeout_ms))

    def _is_needed(self) -> bool:
        return self._claims.gave_up or self._is_stopped(self._pumped.launcher_pid)

    def _is_stopped(self, pid: int) -> bool:
        stat = read_stat(pid)
        return stat is not None and stat.state in "Tt"

    def _stand_in(self) -> None:
        """The launcher is stopped. If it stopped with the command and that goes on, so must it; meanwhile we move."""
        if self._claims.stopped_itself and not self._is_stopped(self._watch.pid):
            os.kill(self._pumped.launcher_pid, signal.SIGCONT)
            return
        pump = self._open_pump([envelope.peek() for envelope in self._envelopes])
        # Stopped in the middle of moving, it has the lock: then we move only where the program would wait for it.
        if not pump.is_drained() and (self._claims.lock() or pump.is_pressing):
            self._claims.is_standing_in = True
            while pump.is_open and self._is_needed():
                pump.move(pump.wait(MOVE_MS))
            self._claims.is_standing_in = False
        self._claims.unlock()
        pump.close()
        self._writer.close()

    def _inherit(self) -> None:
        """The launcher is gone: what it left is ours, to the end. It left nothing if it had seen the end itself."""
        pump = self._open_pump([envelope.take() for envelope in self._envelopes])
        while pump.is_open:
            pump.move(pump.wait())
        pump.close()
        self._writer.close()

    def _open_pump(self, ends: Sequence[tuple[int, int] | None]) -> Pump:
        flows = [
            Flow(
                *end,
                stream=self._pumped.streams[number],
                areas=self._areas[number],
                envelope=self._envelopes[number],
            )
            for number, end in enumerate(ends)
            if end is not None
        ]
        return Pump(flows, self._writer, claims=self._claims)


def _open_launcher(pumped: Pumped) -> int:
    """A pidfd, negative where the launcher is gone already."""
    try:
        pidfd = os.pidfd_open(pumped.launcher_pid)
    except OSError:
        return -1
    stat = read_stat(pumped.launcher_pid)
    if stat is None or stat.started != pumped.launcher_started:
        os.close(pidfd)
        return -1
    return pidfd
