"""Moves the command's output in a thread of the launcher, and leaves it to the sidecar should we not be able to."""

import contextlib
import os
import threading
import time
from collections.abc import Callable

from holter.console.claims import LAUNCHER, SIDECAR, Claims, make_claims
from holter.console.envelope import Envelope
from holter.console.files import claim_name
from holter.console.pump import Flow, Pump, open_sink
from holter.console.scrubbing import Scrubber
from holter.console.transcript import TranscriptWriter
from holter.launcher.streams import Channel, Streams
from holter.model.clock import Clock
from holter.probes.procfs import read_stat

LOOK_S = 0.002
DRAIN_MS = 50.0
# After a failure of ours: how long the sidecar may take for what the command left behind, and for the last of it.
GIVEN_UP_S = 5.0
HANDED_ON_S = 0.1
AGAIN_S = 0.05
# More than there can be.
SCRUB_BYTES = 1 << 40


class Output:
    """The command's output on its way. Closed by whoever made it.

    While this process runs it is the one that moves; while it is stopped, and when it was killed, the sidecar does.
    """

    def __init__(self, streams: Streams, directory: str, *, limit_bytes: int, clock: Clock) -> None:
        """Raises OSError."""
        self.transcript = claim_name(directory)
        self._directory = directory
        self._channels = streams.channels
        self._claims_fd = make_claims()
        self.claims = Claims(self._claims_fd)
        self._writer = TranscriptWriter(directory, self.transcript, limit_bytes=limit_bytes, clock=clock)
        self._envelopes: list[Envelope] = []
        flows = [self._open_flow(number, channel) for number, channel in enumerate(self._channels)]
        self._pump = Pump(flows, self._writer, claims=self.claims)
        self._wake, self._waker = os.pipe()
        self._pump.wake_by(self._wake)
        self._is_draining = False
        self._drained = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holter-output", daemon=True)

    @property
    def descriptors(self) -> list[int]:
        """What the sidecar needs: the shared memory, and an envelope for each channel."""
        return [self._claims_fd, *(envelope.fileno() for envelope in self._envelopes)]

    def start(self) -> None:
        """Begin to move."""
        self._thread.start()

    def drain(self, may_wait: Callable[[float], bool]) -> None:
        """The command has ended: wait until all that it printed is handed on, as long as `may_wait` allows.

        Then leave to the sidecar what children of the command still print.
        """
        for channel in self._channels:
            channel.close_far()
        self._is_draining = True
        os.write(self._waker, b".")
        while not self._drained.wait(0.001):
            if not may_wait(0.0):
                return  # the thread ends with the process
        self._pump.close()
        self._writer.close()
        with contextlib.suppress(OSError):  # then a later reader hides what we can't
            # A sidecar that is not there yet may never come: what both overwrite is the same.
            if not self.claims.sidecar_pid or self._has_lost_sidecar():
                Scrubber(self._directory).scrub(SCRUB_BYTES)

    def _has_lost_sidecar(self) -> bool:
        """Raises OSError."""
        stat = read_stat(self.claims.sidecar_pid)
        return stat is None or stat.is_dead

    def _open_flow(self, number: int, channel: Channel) -> Flow:
        sink = open_sink(channel.fds[0])
        envelope = Envelope.seal(channel.source, sink)
        self._envelopes.append(envelope)
        areas = self.claims.area(LAUNCHER, number), self.claims.area(SIDECAR, number)
        return Flow(channel.source, sink, stream=channel.stream, areas=areas, envelope=envelope)

    def _work(self) -> None:
        deadline = 0.0
        while not deadline or time.monotonic() < deadline:
            try:
                self._move_all()
                break
            except Exception:  # noqa: BLE001  the boundary: the command must not wait for a failure of ours
                if self._has_working_sidecar():
                    self._leave_to_sidecar()
                    break
            # There is nobody else; a want of descriptors or memory may pass.
            time.sleep(AGAIN_S)
            deadline = deadline or (time.monotonic() + GIVEN_UP_S if self._is_draining else 0.0)
        self._drained.set()

    def _leave_to_sidecar(self) -> None:
        self.claims.gave_up = True
        self.claims.unlock()
        while not self._is_draining:
            time.sleep(LOOK_S)
        deadline = time.monotonic() + GIVEN_UP_S
        while self._pump.is_waiting and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        time.sleep(HANDED_ON_S)

    def _move_all(self) -> None:
        while not self._is_draining:
            self._move(self._pump.wait())
            self._release_ended()
        with contextlib.suppress(KeyError):  # when this is not the first time
            self._pump.ignore(self._wake)
        while not self._pump.is_drained():
            self._move(self._pump.wait(DRAIN_MS))

    def _move(self, events: dict[int, int]) -> None:
        """Move what there is. While we were stopped the sidecar did; it ends that when it sees us, if it still can."""
        is_locked = self.claims.lock()
        while (not is_locked or self.claims.is_standing_in) and self._has_working_sidecar():
            time.sleep(LOOK_S)
            is_locked = is_locked or self.claims.lock()
        self.claims.is_standing_in = False
        try:
            self._pump.move(events)
        finally:
            self.claims.unlock()

    def _has_working_sidecar(self) -> bool:
        if not self.claims.sidecar_pid:
            return False
        try:
            stat = read_stat(self.claims.sidecar_pid)
        except OSError:  # no descriptor is left to look with
            return False
        return stat is not None and not stat.is_dead and stat.state not in "Tt"

    def _release_ended(self) -> None:
        """A command that closes its output and works on: whoever reads behind us must see the end as well."""
        for channel, flow in zip(self._channels, self._pump.flows, strict=True):
            if not flow.is_open and channel.kind == "pipe" and channel.fds == (1,):
                channel.kind = "ended"
                null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(null, 1)
                os.close(null)
