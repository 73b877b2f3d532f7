"""Where the console of a run lies: `output.log`, the pieces behind it, and an index beside each.

A transcript is what one witness heard. The first one in a run's directory is called `output`, later ones `output-2`,
`output-3`, … Its first piece is `output.log`; where it grew too long for one file, further pieces have the place of
their first byte in their name: `output.000016777216.log`.
"""

import os
import re
import struct
from typing import NamedTuple

STDOUT, STDERR, BOTH = 1, 2, 3
"""Which stream a piece of text came from; BOTH where the two were one and the same terminal, pipe or file."""

DEFAULT_LIMIT = 32 << 20
_PIECE = r"(output(?:-([1-9]\d*))?)(?:\.(\d{12,}))?\.log"
MARK = struct.Struct("<QQII")
"""An entry of the index: from this byte of the piece on, the time in ns, the stream, bytes missing before it.

The first entry of a later piece has no stream and no time: there stands how many lines were printed before the piece.
"""


class Piece(NamedTuple):
    """A file of a transcript, and which byte of the transcript is its first."""

    base: int
    path: str

    @property
    def index_path(self) -> str:
        """The file with the times."""
        return f"{self.path.removesuffix('.log')}.idx"


class Mark(NamedTuple):
    """When and on which stream the bytes from `at` on were printed; `missed` ones before them could not be kept."""

    at: int
    at_ns: int
    stream: int
    missed: int


def piece_of(directory: str, name: str, *, base: int) -> Piece:
    """The piece of a transcript that begins at a byte of it."""
    return Piece(base, os.path.join(directory, f"{name}.{base:012d}.log" if base else f"{name}.log"))


def list_transcripts(directory: str) -> dict[str, list[Piece]]:
    """The pieces of every transcript in order, by name; the first transcript first. Raises OSError."""
    found: dict[tuple[int, str], list[Piece]] = {}
    for file in os.listdir(directory):
        if file.startswith("output") and (match := re.fullmatch(_PIECE, file)):
            piece = Piece(int(match[3] or 0), os.path.join(directory, file))
            found.setdefault((int(match[2] or 1), match[1]), []).append(piece)
    return {name: sorted(pieces) for (_, name), pieces in sorted(found.items())}


def claim_name(directory: str) -> str:
    """A name that no other transcript has or will get; its first piece exists from now on. Raises OSError."""
    number = 1
    while True:
        name = "output" if number == 1 else f"output-{number}"
        try:
            os.close(os.open(os.path.join(directory, f"{name}.log"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            number += 1
            continue
        return name


def write_lines_before(index_fd: int, lines: int) -> None:
    """Begin the index of a piece with how many lines were printed before it. Raises OSError."""
    os.write(index_fd, MARK.pack(0, lines, 0, 0))


def lines_before(piece: Piece) -> int | None:
    """How many lines were printed before a piece; None where nobody counted them."""
    if piece.base == 0:
        return 0
    first = next(iter(read_marks(piece)), None)
    return first.at_ns if first is not None and first.stream == 0 else None


def read_marks(piece: Piece, *, skip: int = 0) -> list[Mark]:
    """The index of a piece, but for its first `skip` entries; what is torn or missing is left out."""
    try:
        with open(piece.index_path, "rb") as file:
            file.seek(skip * MARK.size)
            data = file.read()
    except OSError:
        return []
    return [Mark(*entry) for entry in MARK.iter_unpack(data[: len(data) - len(data) % MARK.size])]
