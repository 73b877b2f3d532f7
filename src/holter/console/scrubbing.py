"""Overwrites secrets in what was kept of a console, soon after it was kept."""

import os

from holter.console.files import Piece, list_transcripts
from holter.model.secrets import find_secrets, stars

# How much before the last look is looked at again: a secret may have been printed in two parts. A private key has less.
OVERLAP_BYTES = 8 << 10
CHUNK_BYTES = 1 << 20


class Scrubber:
    """Looks through all transcripts of a run's directory, each byte once. Writes with `pwrite` only: idempotent."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._seen: dict[str, int] = {}

    def scrub(self, most_bytes: int) -> bool:
        """Overwrite secrets in what is new, or in so much of it; false where there is more. Raises OSError.

        A program that prints more than can be looked through beside it must not wait for us.
        """
        for pieces in list_transcripts(self._directory).values():
            for piece in pieces:
                most_bytes -= self._scrub(piece, most_bytes)
                if most_bytes <= 0:
                    return False
        return True

    def _scrub(self, piece: Piece, most_bytes: int) -> int:
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
                for first, last in find_secrets(data):
                    secret = data[first:last]
                    if (hidden := stars(secret)) != secret:
                        os.pwrite(fd, hidden, start + first)
                if start + len(data) <= seen:
                    break
                seen = start + len(data)
        finally:
            os.close(fd)
        self._seen[piece.path] = seen
        return seen - before
