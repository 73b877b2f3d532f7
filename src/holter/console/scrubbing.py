"""Overwrites secrets in what was kept of a console, soon after it was kept."""

import os
from collections.abc import Callable

from holter.console.files import Piece, list_transcripts
from holter.model.secrets import find_secrets, stars

# How much before the last look is looked at again: a secret may have been printed in two parts. A private key has less.
OVERLAP_BYTES = 8 << 10
CHUNK_BYTES = 1 << 20
# A line that is longer than this is looked at before it has ended.
LONG_LINE = 64 << 10


class Scrubber:
    """Looks through all transcripts of a run's directory, each byte once. Writes with `pwrite` only: idempotent.

    Args:
        found: called with the kind of each secret and the secret itself.
    """

    def __init__(self, directory: str, found: Callable[[str, str], object] = lambda kind, secret: None) -> None:
        self._directory = directory
        self._found = found
        self._seen: dict[str, int] = {}

    def scrub(self, most_bytes: int, *, is_final: bool = True) -> bool:
        """Overwrite secrets in what is new, or in so much of it; false where there is more. Raises OSError.

        A program that prints more than can be looked through beside it must not wait for us. Unless `is_final`, a line
        that has not ended is left for another time: half of a secret may not look like one, and what comes then
        would not either.
        """
        for pieces in list_transcripts(self._directory).values():
            for piece in pieces:
                most_bytes -= self._scrub(piece, most_bytes, is_final=is_final or piece != pieces[-1])
                if most_bytes <= 0:
                    return False
        return True

    def _scrub(self, piece: Piece, most_bytes: int, *, is_final: bool) -> int:
        before = seen = self._seen.get(piece.path, 0)
        try:
            if os.stat(piece.path).st_size == seen:
                return 0
            fd = os.open(piece.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:  # it made room for a newer one
            return 0
        try:
            size = os.fstat(fd).st_size
            while seen < size and seen - before < most_bytes:
                start = max(0, seen - OVERLAP_BYTES)
                data = os.pread(fd, CHUNK_BYTES, start)
                data = data[: _end_of_lines(data, is_last=is_final and start + len(data) >= size)]
                for first, last, kind in find_secrets(data):
                    secret = data[first:last]
                    if (hidden := stars(secret)) != secret:
                        os.pwrite(fd, hidden, start + first)
                        self._found(kind, secret.decode("utf-8", "replace"))
                if start + len(data) <= seen:
                    break
                seen = start + len(data)
        finally:
            os.close(fd)
        self._seen[piece.path] = seen
        return seen - before


def _end_of_lines(data: bytes, *, is_last: bool) -> int:
    """How much of it can be looked through for good: whole lines, or states of a progress bar."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    return len(data) if is_last or len(data) - end > LONG_LINE else end
