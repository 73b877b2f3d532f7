"""Chunks of output on their way, in memory that outlives the process which moves them.

Two processes can move a program's output, the launcher and its sidecar, one at a time: whoever has the lock. The
kernel takes it from one that is killed; whoever takes over finds here what that one had read from the program and not
yet handed on.
"""

import contextlib
import fcntl
import mmap
import os
import struct

LAUNCHER, SIDECAR = 0, 1
FLOWS = 2
CHUNK_BYTES = 64 << 10
_HEAD_BYTES = 64
_AREA_BYTES = _HEAD_BYTES + CHUNK_BYTES
_SIZE = _HEAD_BYTES + 2 * FLOWS * _AREA_BYTES

_TURN, _STOPPED_ITSELF, _SIDECAR_PID, _STANDING_IN, _GAVE_UP = 0, 8, 16, 24, 32
_NUMBER = struct.Struct("=Q")
_PROGRESS = struct.Struct("=QQQ")  # bytes in the chunk, of these handed on, 1 + the transcript's end before it
_ADOPTED = (1 << 64) - 1
# Text never ends with this byte, so that the end of a chunk whose length was not written down any more can be seen.
_BLANK = b"\xff" * CHUNK_BYTES


class Area:
    """The chunk of one process in one flow. Blank where there is none."""

    def __init__(self, memory: mmap.mmap, start: int) -> None:
        self._memory = memory
        self._head = start
        self._start = start + _HEAD_BYTES
        self._view = memoryview(memory)[self._start : self._start + CHUNK_BYTES]
        self._buffers = [self._view]
        self.length = self.written = self.kept = 0

    def fill(self, source: int) -> int:
        """Read into it what there is; 0 at the end of the stream. Raises OSError."""
        # Linux writes into the shared memory itself: killed at any moment, the bytes are either there or not read.
        self.length = os.readv(source, self._buffers)
        self._note()
        return self.length

    @property
    def unwritten(self) -> memoryview:
        """What is still to be handed on."""
        return self._view[self.written : self.length]

    @property
    def whole(self) -> memoryview:
        """All of the chunk."""
        return self._view[: self.length]

    def note_written(self, count: int) -> None:
        """So many more bytes were handed on."""
        self.written += count
        self._note()

    def note_keeping(self, end: int) -> None:
        """The chunk is about to be appended to a transcript that has `end` bytes."""
        self.kept = end + 1
        self._note()

    def blank(self) -> None:
        """The chunk has arrived everywhere."""
        # In this order: a chunk that is all handed on is nothing to anybody, blank or not.
        self._memory[self._start : self._start + self.length] = _BLANK[: self.length]
        self.length = self.written = self.kept = 0
        self._note()

    def forget(self) -> None:
        """What we knew of it is old; the memory itself stays as it is."""
        self.length = self.written = self.kept = 0

    def reset(self) -> None:
        """Before our side begins to move, again or for the first time: whatever is in here is history."""
        self.length = CHUNK_BYTES
        self.blank()

    def adopt(self, other: "Area") -> None:
        """Take over the chunk of the side that moved before, with its progress."""
        length, written, kept = _PROGRESS.unpack_from(other._memory, other._head)
        if length == _ADOPTED:
            return
        length = length or len(bytes(other._view).rstrip(b"\xff"))
        self._view[:length] = other._view[:length]
        self.length, self.written, self.kept = length, written, kept
        self._note()
        # Its bytes stay: if it wakes up in the middle of handing them on, it must not hand on something else.
        _PROGRESS.pack_into(other._memory, other._head, _ADOPTED, 0, 0)

    def _note(self) -> None:
        _PROGRESS.pack_into(self._memory, self._head, self.length, self.written, self.kept)

    def close(self) -> None:
        """Let go of the memory."""
        self._buffers = []
        self._view.release()


class Claims:
    """The shared memory. Made by the launcher; both sides close their own."""

    def __init__(self, fd: int) -> None:
        """`fd` stays the caller's, and must not be closed before this is. Raises OSError."""
        self._fd = fd
        self._memory = mmap.mmap(fd, _SIZE)
        self._areas: list[Area] = []

    def lock(self) -> bool:
        """Whether we may move now; false while the other side does."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self) -> None:
        """Let the other side move. Idempotent."""
        with contextlib.suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    @property
    def turn(self) -> int:
        """Another number after each change of who moves output."""
        return self._get(_TURN)

    def next_turn(self) -> int:
        """Begin another turn; returns it."""
        turn = self.turn + 1
        self._set(_TURN, turn)
        return turn

    @property
    def stopped_itself(self) -> bool:
        """The launcher stopped because the program did, so that whoever sees the program go on may continue it."""
        return bool(self._get(_STOPPED_ITSELF))

    @stopped_itself.setter
    def stopped_itself(self, value: bool) -> None:
        self._set(_STOPPED_ITSELF, value)

    @property
    def is_standing_in(self) -> bool:
        """The sidecar moves while the launcher is stopped, perhaps with the lock in its hands."""
        return bool(self._get(_STANDING_IN))

    @is_standing_in.setter
    def is_standing_in(self, value: bool) -> None:
        self._set(_STANDING_IN, value)

    @property
    def gave_up(self) -> bool:
        """The launcher can't move any more, whatever the reason: the sidecar must."""
        return bool(self._get(_GAVE_UP))

    @gave_up.setter
    def gave_up(self, value: bool) -> None:
        self._set(_GAVE_UP, value)

    @property
    def sidecar_pid(self) -> int:
        """0 until the sidecar is there."""
        return self._get(_SIDECAR_PID)

    @sidecar_pid.setter
    def sidecar_pid(self, pid: int) -> None:
        self._set(_SIDECAR_PID, pid)

    def area(self, side: int, flow: int) -> Area:
        """The place for one side's chunk of one flow."""
        area = Area(self._memory, _HEAD_BYTES + (side * FLOWS + flow) * _AREA_BYTES)
        self._areas.append(area)
        return area

    def _get(self, place: int) -> int:
        return int(_NUMBER.unpack_from(self._memory, place)[0])

    def _set(self, place: int, value: int) -> None:
        _NUMBER.pack_into(self._memory, place, value)

    def close(self) -> None:
        """Idempotent."""
        for area in self._areas:
            area.close()
        self._areas.clear()
        self._memory.close()


def make_claims() -> int:
    """Shared memory without anything in it; returns its descriptor, closed by the caller. Raises OSError."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("holter-console")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, _SIZE)
    claims = Claims(fd)
    for side in (LAUNCHER, SIDECAR):
        for flow in range(FLOWS):
            claims.area(side, flow).reset()
    claims.close()
    return fd
