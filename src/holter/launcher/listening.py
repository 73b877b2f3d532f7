"""What the sidecar says to `holter run`: lines for the terminal, and the wish that the command stops."""

import contextlib
import os
import signal
import socket
import threading

from holter.recording.voice import Voice
from holter.wire.way_back import HowItEnded, OnServer, Say, Stop, ToClient, messages


class Listener(threading.Thread):
    """Sleeps until the sidecar says something. Where that is allowed, a wish to stop is Ctrl-C for the command."""

    def __init__(self, link: socket.socket, pid: int, *, voice: Voice, allow_stop: bool) -> None:
        super().__init__(name="holter-way-back", daemon=True)
        self._link = link
        self._pid = pid
        self._voice = voice
        self._allow_stop = allow_stop
        self.on_server: dict[str, OnServer] = {}
        """How much of each journal has reached a server, as far as the sidecar has said."""
        self._how_it_ended: HowItEnded | None = None
        self._is_through = threading.Event()

    def run(self) -> None:
        """Until the sidecar has left."""
        for message in messages(self._link):
            self._understand(message)
        self._is_through.set()

    def how_it_ended(self, within_s: float) -> HowItEnded | None:
        """Wait for what the sidecar says about that; None where it takes longer, or has left without a word."""
        self._is_through.wait(within_s)
        return self._how_it_ended

    def _understand(self, message: ToClient) -> None:
        match message:
            case OnServer():
                self.on_server[message.journal] = message
            case HowItEnded():
                self._how_it_ended = message
                self._is_through.set()
            case Say():
                say = self._voice.mention if message.is_by_the_way else self._voice.warn
                say(message.cause, message.text)
            case Stop():
                if not self._allow_stop:
                    self._voice.warn(
                        f"stop {message.run}", f"{message.wish}; it goes on, because --allow-stop was not given"
                    )
                    return
                self._voice.warn(f"stop {message.run}", f"{message.wish}; interrupting the command")
                interrupt(self._pid)


def interrupt(pid: int) -> None:
    """End a command and what it started as Ctrl-C in a terminal does: all of its process group, and nobody else.

    One that was started in the background ignores SIGINT, and so do we then: it gets SIGTERM.
    """
    from holter.probes.tree import open_tree

    number = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        return
    for each in open_tree()([pid]):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it is gone, or has become somebody else
            if os.getpgid(each) == group:
                os.kill(each, number)
