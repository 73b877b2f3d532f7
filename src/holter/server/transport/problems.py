"""What is said when something can't be done: one shape for all errors."""

import errno
from typing import Any

import msgspec

from holter.errors import (
    AliasMoved,
    ArtifactDamaged,
    DigestMismatch,
    FilterError,
    HolterError,
    JournalError,
    NewerStorage,
    NoArtifact,
    NoBlob,
    NoRun,
    NotSealed,
    OffsetGap,
    PiecesMissing,
    Refused,
    StorageDamaged,
    StorageError,
    StorageFull,
    Unreadable,
    UsageError,
)

RETRY_S = 30
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Of what passes by itself: whoever asks again is answered.
_PASSING = (*_FULL, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened, why, and what to do."""

    what: str
    why: str = ""
    do: str = ""
    at: int | None = None
    """The place in a filter where it went wrong."""
    have: int | None = None
    """The offset that the server has."""


class Problem(msgspec.Struct, frozen=True):
    """The body of every answer that is an error."""

    error: Error

    def encode(self) -> bytes:
        """As JSON, with all three words."""
        said: dict[str, Any] = {"what": self.error.what, "why": self.error.why, "do": self.error.do}
        said |= {name: value for name in ("at", "have") if (value := getattr(self.error, name)) is not None}
        return msgspec.json.encode({"error": said})


_STATUS: tuple[tuple[type[HolterError], int, str], ...] = (
    (NoRun, 404, "look at the list of runs"),
    (NoBlob, 404, ""),
    (ArtifactDamaged, 422, "`holter artifact verify` lists all such"),
    (NoArtifact, 404, "look at the list of artifacts"),
    (AliasMoved, 409, "look who has it now"),
    (PiecesMissing, 409, "send those pieces again"),
    (NotSealed, 422, ""),
    (UsageError, 400, ""),
    (Unreadable, 422, "upgrade holter; if that does not help, report it"),
    (JournalError, 422, "send the journal from its beginning, as its file has it"),
    (DigestMismatch, 422, "send the file again from its beginning"),
)


def problem_of(error: HolterError | OSError) -> tuple[int, Problem, int | None]:
    """The status, the body, and after how many seconds to try again."""
    match error:
        case Refused():
            return error.status, Problem(Error(str(error), error.why, error.do)), error.retry_s
        case FilterError():
            do = "write for example `state = crashed and config.lr > 1e-4`"
            return 400, Problem(Error(str(error), "the filter can't be read", do, at=error.at)), None
        case OffsetGap():
            return 409, Problem(Error(str(error), do="send from the offset that it has", have=error.have)), None
        case StorageFull():
            return 503, Problem(Error(str(error), "the disk is full", "make room; nothing is lost")), RETRY_S
        case StorageDamaged():
            do = "stop the server and start it again, or run `holter server rebuild`; nothing is lost"
            return 503, Problem(Error(str(error), "the index is damaged; the journals are not", do)), RETRY_S
        case StorageError() if not isinstance(error, NoBlob | DigestMismatch | NewerStorage | ArtifactDamaged):
            return 503, Problem(Error(str(error), do="try again")), RETRY_S
        case OSError():
            status = 503 if error.errno in _PASSING else 404 if isinstance(error, FileNotFoundError) else 500
            text = error.strerror or type(error).__name__
            return status, Problem(Error(text)), RETRY_S if status == 503 else None
    for kind, status, do in _STATUS:
        if isinstance(error, kind):
            return status, Problem(Error(str(error), do=do)), None
    return 500, Problem(Error(str(error))), None
