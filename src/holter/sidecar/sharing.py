"""Makes one sidecar serve a run on a host: the first takes the lead, later ones hand their process over to it."""

import _socket
import fcntl
import os
import struct
import time

from holter.wire.way_back import Watch, decode_to_sidecar, encode

HAND_OVER_WITHIN_S = 5.0


class Lead:
    """The right to watch a run on this host, and the socket at which other sidecars hand over. Closed by its owner."""

    def __init__(self, lock_fd: int, listener: _socket.socket) -> None:
        self._lock_fd = lock_fd
        self.listener = listener

    def accept(self) -> tuple[Watch, _socket.socket, int] | None:
        """A process that another sidecar hands over: what to watch, its way back, its pidfd. None for strangers."""
        try:
            fd, _ = self.listener._accept()  # type: ignore[attr-defined]  # what `accept` of the module above calls
        except OSError:
            return None
        import socket  # three milliseconds, for those who are not alone

        with socket.socket(fileno=fd) as guest:
            guest.settimeout(1.0)
            try:
                if not _is_same_user(guest):
                    return None
                data, fds, _, _ = socket.recv_fds(guest, 65536, 2)
            except OSError:
                return None
        watch = _understood(data)
        if watch is None or not fds:
            for fd in fds:
                os.close(fd)
            return None
        link = _socket.socket(fileno=fds[0])
        link.setblocking(False)
        return watch, link, fds[1] if len(fds) > 1 else -1

    def close(self) -> None:
        """Give the lead away."""
        self.listener.close()
        os.close(self._lock_fd)


def take_lead(directory: str) -> Lead | None:
    """Lead for a run's directory, or None where another sidecar of this host does. Raises OSError."""
    fd = os.open(_lock_path(directory), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError:
        pass  # a file system without locks: then everybody watches for itself, which costs memory, not truth
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    listener.setblocking(False)
    # An abstract address: no path to be too long, nothing to be left behind. Anybody may bind one, so nobody can guess
    # it: the lock's file, which is its user's alone, has it.
    address = os.urandom(16).hex()
    try:
        listener.bind(_abstract(address))
        listener.listen(64)
        os.pwrite(fd, address.encode(), 0)
    except OSError:
        pass  # nobody finds the way here: what the others would have added is missing, their rows are not
    return Lead(fd, listener)


def hand_over(watch: Watch, link: _socket.socket, *, pidfd: int) -> Lead | None:
    """Give the process to the sidecar that leads; returns the lead instead if that one is just leaving."""
    import socket

    deadline = time.monotonic() + HAND_OVER_WITHIN_S
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as guest:
            try:
                guest.connect(_address_of_leader(watch.directory))
                # The key and the way into the program are for us alone: the address of one who left is free for all.
                if _is_same_user(guest):
                    socket.send_fds(guest, [encode(watch)], [fd for fd in (link.fileno(), pidfd) if fd >= 0])
                    return None
            except OSError:
                pass  # it has no address yet, or no more
        time.sleep(0.02)
        if lead := take_lead(watch.directory):
            return lead
    # The leader is stopped or stuck. The rows are safe; what we would add is not worth a second truth.
    return None


def _lock_path(directory: str) -> str:
    return os.path.join(directory, f"sidecar-{_socket.gethostname()}.lock")


def _address_of_leader(directory: str) -> bytes:
    with open(_lock_path(directory), "rb") as file:
        return _abstract(file.read(32).decode(errors="replace"))


def _abstract(address: str) -> bytes:
    return b"\0holter/" + address.encode()


def _is_same_user(end: _socket.socket) -> bool:
    """Whether the other end was made by a process of ours, as Linux says: also of one that listens."""
    peer = end.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", peer)[1] == os.geteuid())


def _understood(line: bytes) -> Watch | None:
    try:
        message = decode_to_sidecar(line)
    except ValueError:
        return None
    return message if isinstance(message, Watch) else None
