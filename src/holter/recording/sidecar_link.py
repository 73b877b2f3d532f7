"""Starts the sidecar and keeps the way back from it."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holter.recording.spawning import sockets, spawn_sidecar
from holter.recording.threads import start_quietly
from holter.recording.voice import Voice
from holter.wire.way_back import (
    Ended,
    Events,
    Here,
    HowItEnded,
    Look,
    OnServer,
    Say,
    Stop,
    ToClient,
    Warn,
    Watch,
    WhereAreYou,
    encode,
    messages,
)

if TYPE_CHECKING:
    import _socket


def interrupt_main_thread() -> None:
    """Raise KeyboardInterrupt in the main thread, as Ctrl-C does: also out of a system call that blocks.

    A program that was started in the background ignores the signal; there it is raised with the next line of Python.
    """
    import ctypes
    import signal

    main = threading.main_thread()
    if not main.is_alive() or main.ident is None:
        return
    if callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(main.ident, signal.SIGINT)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main.ident), ctypes.py_object(KeyboardInterrupt))


class SidecarLink:
    """This process's sidecar: started with the first run, reused by the runs that follow. Never waits for it.

    Args:
        interrupt: ends what runs, as Ctrl-C does, for a person who wants it to stop.
        what: the words for what is interrupted then.
        unless: the words for why it is not.
        may_mention: whether the terminal may have what is only nice to know.
    """

    def __init__(
        self,
        voice: Voice,
        *,
        interrupt: Callable[[], None] = interrupt_main_thread,
        what: str = "the main thread",
        unless: str = "allow_stop is not set",
        may_mention: Callable[[], bool] = lambda: True,
    ) -> None:
        self._voice = voice
        self._interrupt = interrupt
        self._what = what
        self._unless = unless
        self._may_mention = may_mention
        self.on_server: dict[str, OnServer] = {}
        """How much of each journal has reached a server, as far as the sidecar has said."""
        self.when_pressed: Callable[[Warn], None] = lambda warn: None
        """Called in a thread of ours, where a guard leaves no time for people to act."""
        self.when_said: Callable[[Warn, Callable[[str, Sequence[str]], None]], None] = lambda warn, say: None
        """Called there with each warning that people were shown, and with what shows them more of it."""
        self.where_we_are: Callable[[str], Here | None] = lambda run: None
        """Asked where the threads of the program are that records this run."""
        self.when_asked_to_stop: Callable[[Stop], None] = lambda wish: None
        self._how_it_ended: HowItEnded | None = None
        self._is_through = threading.Event()
        self._stoppable: set[str] = set()
        self._socket: _socket.socket | None = None

    def watch(self, message: Watch, *, console_fds: Sequence[int] = (), command: Sequence[str] = ()) -> None:
        """Have the run recorded: by the sidecar that is there, or by a new one; see `spawn_sidecar`. Raises OSError."""
        if self._send(encode(message)):
            return
        self._socket = spawn_sidecar(message, console_fds=console_fds, command=command)
        if self._socket is not None:
            self._listen(self._socket)

    def allow_stop(self, run: str) -> None:
        """Let a person's wish that this run stops interrupt it."""
        self._stoppable.add(run)

    def ended(self, journal: str, *, lost: int, because: str, is_leaving: bool) -> None:
        """Tell it that the program ended this run, or is leaving, and what it could not keep."""
        self._send(encode(Ended(journal=journal, lost=lost, because=because, is_leaving=is_leaving)))

    def look(self, directory: str) -> bool:
        """Tell it that a run's journal has something that should not wait; false where there is no sidecar."""
        return self._send(encode(Look(directory=directory)))

    def follow_events(self, message: Events) -> bool:
        """Have it record what the program writes for TensorBoard; false where there is no sidecar."""
        return self._send(encode(message))

    def how_it_ended(self, within_s: float) -> HowItEnded | None:
        """Wait for the sidecar's word on a command; None where that takes longer, or it has left without one."""
        self._is_through.wait(within_s)
        return self._how_it_ended

    def after_fork(self) -> None:
        """In a forked child: the link is the parent's."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, line: bytes) -> bool:
        if self._socket is None:
            return False
        module = sockets()
        try:
            self._socket.send(line, module.MSG_DONTWAIT | getattr(module, "MSG_NOSIGNAL", 0))
        except BlockingIOError:
            return True  # a stopped sidecar with a full mailbox; the journal says it all the same
        except OSError:
            self._socket.close()
            self._socket = None
            return False
        return True

    def _listen(self, ours: "_socket.socket") -> None:
        thread = threading.Thread(target=self._receive, args=(ours,), name="holter-way-back", daemon=True)
        try:
            start_quietly(thread)
        except RuntimeError as error:
            self._voice.warn("thread", f"no thread for warnings from the sidecar ({error}); recording goes on")

    def _receive(self, ours: "_socket.socket") -> None:
        for message in messages(ours):
            self._understand(message)

    def _understand(self, message: ToClient) -> None:
        match message:
            case HowItEnded():
                self._how_it_ended = message
                self._is_through.set()
            case OnServer():
                self.on_server[message.journal] = message
            case Say() if not message.is_by_the_way:
                self._voice.warn(message.cause, message.text)
            case Say():
                if self._may_mention():
                    self._voice.mention(message.cause, message.text)
            case WhereAreYou():
                self._tell_stacks(message.run)
            case Warn():
                self._warn(message)
            case Stop():
                self.when_asked_to_stop(message)
                may_stop = message.run in self._stoppable
                follows = f"interrupting {self._what}" if may_stop else f"it goes on, because {self._unless}"
                self._voice.warn(f"stop {message.run}", f"{message.wish}; {follows}")
                if may_stop:
                    self._interrupt()

    def _tell_stacks(self, run: str) -> None:
        try:
            told = self.where_we_are(run)
            line = encode(told) if told is not None else b""
        except Exception:  # noqa: BLE001  a name that is no text, say: this thread has more to hear
            return
        if line:
            self._send(line)

    def _warn(self, message: Warn) -> None:
        if message.is_said:
            self._voice.caution(f"{message.guard}:{message.text}", (message.text, *message.advice))
            self.when_said(message, self._voice.caution)
        if message.is_pressing:
            self.when_pressed(message)
