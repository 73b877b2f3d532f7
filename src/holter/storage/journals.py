"""The port for what sidecars send: journals and texts that only grow, range by range, each kept before it is
acknowledged."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from holter.errors import JournalError, StorageError, UsageError
from holter.journal.frame import HEADER_SIZE, MAGIC, Header, decode_header
from holter.journal.rundir import is_journal_id, is_run_id
from holter.wire.batches import Kind

# The last three are no console, but texts that only grow as well; verdicts need the first two of these.
_TRANSCRIPT = re.compile(
    r"output(-[1-9]\d*)?(\.\d{12,})?\.(log|idx)|signals(-\d+)?\.log|faults(-\d+)?\.log|debug(-internal)?\.log"
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A range of a journal, by its uuid, or of a text that only grows, by its file's name."""

    run: str
    kind: Kind = "journal"
    name: str
    offset: int
    data: bytes


Answer = int | UsageError | JournalError | StorageError | OSError
"""The offset that is there, all of it durable; or why a part is not kept."""


class Held(msgspec.Struct, frozen=True):
    """How much there is of a run: by journal and by text, the offset up to which it is there."""

    journals: dict[str, int]
    texts: dict[str, int]

    @property
    def size(self) -> int:
        """All of it together."""
        return sum(self.journals.values()) + sum(self.texts.values())


class Grown(msgspec.Struct, frozen=True):
    """Runs to which something was added, with the bytes that there are of each; and from when on to ask next time."""

    runs: Mapping[str, int]
    next_s: float


class JournalStore(Protocol):
    """Received journals and texts. Thread-safe; other processes may add to the same ones."""

    def accept_all(self, parts: Sequence[Part]) -> list[Answer]:
        """Keep ranges, durably; an answer for each.

        A repeat is a no-op. A range that begins behind what is there is refused: the answer is then less than its
        offset. What can't be a journal's or a text's is a UsageError, or a JournalError.
        """

    def held(self, run: str) -> Held:
        """What there is of a run; nothing of one that nobody sent. Raises StorageFailing, OSError."""

    def read(self, run: str, name: str, *, start: int, stop: int) -> bytes:
        """Bytes of a journal or text: what is there of that range, wherever it lies.

        Raises StorageFailing, OSError.
        """

    def grown(self, since_s: float = 0.0) -> Grown:
        """The runs to which something was added since a time that an earlier answer has told, and maybe some more; at
        first all of them. What is added while somebody asks is in this answer or in the next one. Raises StorageFailing
        """

    def seal(self, run: str | None = None) -> int:
        """Move what was received to where it may lie for years, all of a run or all for which it is time; how much.

        It can be read all the while, and is in one of both places at least. Raises StorageFailing.
        """

    def delete(self, run: str) -> None:
        """Remove all of a run. Idempotent. Raises StorageFailing, OSError."""

    def close(self) -> None:
        """Idempotent."""


def refusal(part: Part) -> UsageError | None:
    """Why a part can belong to no run. Pure."""
    if not is_run_id(part.run):
        return UsageError(
            f"the run id {part.run[:80]!r} can't name a directory: use 1 to 128 of A-Z a-z 0-9 . _ -, "
            "a letter or digit first"
        )
    if part.kind == "journal" and not is_journal_id(part.name):
        return UsageError(f"a journal is named by 32 lower-case hexadecimal digits, not {part.name[:80]!r}")
    if part.kind == "text" and not is_transcript_file(part.name):
        return UsageError(f"{part.name[:80]!r} is not the name of a transcript such as output.log or output.idx")
    return None


def is_transcript_file(name: str) -> bool:
    """Whether it can name a file of the console, and nothing else."""
    return _TRANSCRIPT.fullmatch(name) is not None


def header_at(journal: str, data: bytes, *, offset: int) -> Header | None:
    """The header of a segment of this journal that begins at this offset, and not a user's text that looks so."""
    try:
        header = decode_header(data[:HEADER_SIZE])
    except JournalError:
        return None
    is_ours = header.journal.hex() == journal and header.base == offset and 0 < header.segment < 1_000_000
    return header if is_ours else None


def begins(journal: str, data: bytes) -> bool:
    """Whether a journal may begin so; where only less than a header is there, it may later. Raises JournalError."""
    if header_at(journal, data, offset=0) is not None:
        return True
    if len(data) < HEADER_SIZE and data[: len(MAGIC)] == MAGIC[: len(data)]:
        return False
    raise JournalError(f"journal {journal} does not begin with the header of its first segment")


def offset_of(answers: Sequence[Answer]) -> int:
    """The answer for a single part. Raises what it is where it is none."""
    [answer] = answers
    if not isinstance(answer, int):
        raise answer
    return answer
