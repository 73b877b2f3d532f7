"""Who ended how, as Linux tells it of every process: to see whether a fault happens as it should. Needs root."""

import os
import signal
import socket
import struct
import threading
from pathlib import Path

_CONNECTOR = 11
_PROC = struct.pack("=II", 1, 1)
_FORK, _EXEC, _EXIT = 0x1, 0x2, 0x80000000
_HEADERS = 16 + 20


class Obituaries:
    """Listens from its making until `close`. Events come late, but in their order."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _CONNECTOR)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self._socket.bind((0, 1))
        self._socket.settimeout(0.2)
        body = _PROC + struct.pack("=IIHH", 0, 0, 4, 0) + struct.pack("=I", 1)
        self._socket.send(struct.pack("=IHHII", 16 + len(body), 3, 0, 0, os.getpid()) + body)
        self._parents: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._ends: list[tuple[int, int]] = []
        self._is_open = True
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """After what has come by now."""
        self._is_open = False
        self._thread.join()
        self._socket.close()

    def below(self, ancestor: int) -> list[str]:
        """The ends of a process and of all that it started, those that left with 0 excepted."""
        family, found = {ancestor}, []
        for pid, parent in self._parents.items():
            if parent in family:
                family.add(pid)
        for pid, status in self._ends:
            if pid in family and status:
                code = os.waitstatus_to_exitcode(status & 0xFF7F)
                end = f"left with {code}" if code >= 0 else signal.Signals(-code).name
                found.append(f"{self._name(pid)} {end}")
        return found

    def _name(self, pid: int) -> str:
        while pid not in self._names and pid in self._parents:
            pid = self._parents[pid]
        return self._names.get(pid, "?")

    def _listen(self) -> None:
        while True:
            try:
                message = self._socket.recv(4096)
            except TimeoutError:
                if self._is_open:
                    continue
                return
            except OSError:  # more came than fits: what was lost stays unknown
                continue
            (what,) = struct.unpack_from("=I", message, _HEADERS)
            fields = struct.unpack_from("=4I", message, _HEADERS + 16)
            if what == _FORK and fields[2] == fields[3]:
                self._parents[fields[3]] = fields[1]
            elif what == _EXEC:
                self._names[fields[1]] = _command_of(fields[1])
            elif what == _EXIT and fields[0] == fields[1]:
                self._ends.append((fields[1], fields[2]))


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "?"
    return " ".join(Path(word).name[:20].splitlines()[0] for word in words[:2] if word.strip())
