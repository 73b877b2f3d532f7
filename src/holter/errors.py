"""Every exception that holter raises on purpose.

HolterError
├── UsageError        the caller can fix it: a wrong argument, setting or name
│   ├── NoRun         a call needs a run, and none is active or none has that name
│   ├── FilterError   a filter of runs can't be read; the message points at the place
│   ├── NoSweep       there is no such sweep
│   ├── NotRunnable   there is no such command, or it can't be run
│   ├── NotReadable   a logged table can't be read, or what reads it is missing: install it
│   ├── RunFinished   the run has ended already
│   └── NoArtifact    there is no such artifact, version or alias
├── AliasMoved        somebody else moved the alias meanwhile; it has the version that is there
├── NotSealed         a version was not made: a file changed, is missing or can't be read; nothing of it is published
│   └── PiecesMissing  pieces of it are not in the store: add them again
├── JournalError      the file can't be read as a journal
│   ├── NewerJournal  a newer holter wrote it: upgrade to read it
│   └── Unreadable    holter itself fails over what a run's journals say
├── StorageError      the server's index can't do what was asked
│   ├── OffsetGap     what was appended does not join what is there: send from the offset in it
│   ├── StorageFull   the disk is full: make room; nothing that was acknowledged is lost
│   ├── StorageFailing  the disk, or the way to it, fails: look at it; nothing that was acknowledged is lost
│   ├── StorageDamaged  the index is damaged: it can be rebuilt from the journals
│   ├── NewerStorage  a newer holter made it: upgrade to open it
│   ├── DigestMismatch  the bytes of a blob are not those that its name promises: send them again
│   ├── NoBlob        there is no such blob
│   └── ArtifactDamaged  a piece or manifest of an artifact is missing or has other bytes than its name says
├── NotKept           the disk did not take a record; what to do is in the message
├── NotSynced         the disk did not confirm what was written; it is tried again with the next flush()
├── NotExamined       `run.doctor()` could not look at the machine; the message says why
├── Undelivered       somebody did not take an alert; whether it is worth another try is in it
├── Refused           the server does not do what a request asks for; it has the HTTP status
└── Unreachable       no holter server answers there: try again later, or look at the address

MemoryPressure is a KeyboardInterrupt: a guard raises it before memory is gone, where the user asked for that
"""

import os


def is_strict() -> bool:
    """Tests set HOLTER_STRICT=1: there a failure of ours is a failure."""
    return os.environ.get("HOLTER_STRICT", "") not in ("", "0")


class HolterError(Exception):
    """Anything that holter raises on purpose."""


class MemoryPressure(KeyboardInterrupt):
    """Memory is about to be gone; raised in the main thread where `init(guard="interrupt")` asked for it."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(args or ("memory is about to be gone: save what you need, and free some",)))


class UsageError(HolterError, ValueError):
    """The caller passed something that cannot work."""


class NoRun(UsageError):
    """There is no such run."""


class NotRunnable(UsageError):
    """A command can't be started; `exit_code` is what a shell would leave with."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class FilterError(UsageError):
    """A filter or sort order can't be read; `at` is the place in the text where it went wrong."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.at = at


class NotReadable(UsageError):
    """A logged table can't be read, or the library is missing that reads it."""


class NoSweep(UsageError):
    """There is no such sweep."""


class RunFinished(UsageError):
    """The run has ended, so nothing can be added to it."""


class JournalError(HolterError):
    """The bytes are not a journal segment."""


class NewerJournal(JournalError):
    """The segment was written by a newer holter than this one."""


class Unreadable(JournalError):
    """What a run's journals say makes holter fail; the message is a sentence for people."""


class Undelivered(HolterError):
    """A target did not take a message. The text has no address and no password in it."""

    def __init__(self, text: str, *, may_retry: bool = True, after_s: float = 0.0) -> None:
        super().__init__(text)
        self.may_retry = may_retry
        self.after_s = after_s


class NotExamined(HolterError):
    """The machine could not be looked at."""


class NotKept(HolterError):
    """The journal could not take a record; the reason is the message."""


class NotSynced(HolterError):
    """What was recorded might not survive the death of the machine; the reason is the message."""


class StorageError(HolterError):
    """The server's storage can't do what was asked."""


class OffsetGap(StorageError):
    """Something was appended behind the end; `have` is the offset that is there."""

    def __init__(self, text: str, have: int) -> None:
        super().__init__(text)
        self.have = have


class StorageFull(StorageError):
    """The disk takes no more."""


class StorageFailing(StorageError):
    """The disk, or the way to it, reported an I/O error."""


class StorageDamaged(StorageError):
    """What is stored can't be read as what it should be."""


class NewerStorage(StorageError):
    """The storage was made by a newer holter than this one."""


class DigestMismatch(StorageError):
    """The bytes that were staged do not have the digest under which they came."""


class NoBlob(StorageError):
    """There is no blob of that digest."""


class ArtifactDamaged(StorageError):
    """What is stored of an artifact is not what its name says."""


class NoArtifact(UsageError):
    """There is no such artifact, version or alias."""


class AliasMoved(HolterError):
    """The alias is not where the caller thought; `have` is the version that has it, None for none."""

    def __init__(self, text: str, have: int | None) -> None:
        super().__init__(text)
        self.have = have


class NotSealed(HolterError):
    """A version could not be made; the reason is the message, and nothing of it exists."""


class PiecesMissing(NotSealed):
    """Pieces that a version needs are not in the store; `missing` has their digests."""

    def __init__(self, name: str, missing: list[str]) -> None:
        super().__init__(f"{len(missing)} pieces of {name} are missing: they have to be added again")
        self.missing = missing


class Refused(HolterError):
    """A request that is not answered: what happened, why, and what to do, with the HTTP status that says so."""

    def __init__(self, status: int, what: str, *, why: str = "", do: str = "", retry_s: int | None = None) -> None:
        super().__init__(what)
        self.status = status
        self.why = why
        self.do = do
        self.retry_s = retry_s


class Unreachable(HolterError):
    """There is no answer, or none of a holter server; `retry_s` is what whoever answered asked for."""

    def __init__(self, text: str, *, retry_s: int | None = None) -> None:
        super().__init__(text)
        self.retry_s = retry_s


def __getattr__(name: str) -> object:
    """For `import holter as wandb`: what `wandb.errors` has beside ours."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("holter.wandb_door.foreign_errors"), name)
