"""Every exception that holter raises on purpose.

HolterError
├── UsageError        the caller can fix it: a wrong argument, setting or name
│   ├── NoRun         a call needs a run, and none is active or none has that name
│   ├── FilterError   a filter of runs can't be read; the message points at the place
│   ├── NotRunnable   there is no such command, or it can't be run
│   └── RunFinished   the run has ended already
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
│   └── NoBlob        there is no such blob
├── NotKept           the disk did not take a record; what to do is in the message
├── NotSynced         the disk did not confirm what was written; it is tried again with the next flush()
├── Refused           the server does not do what a request asks for; it has the HTTP status
└── Unreachable       no holter server answers there: try again later, or look at the address
"""

import os


def is_strict() -> bool:
    """Tests set HOLTER_STRICT=1: there a failure of ours is a failure."""
    return os.environ.get("HOLTER_STRICT", "") not in ("", "0")


class HolterError(Exception):
    """Anything that holter raises on purpose."""


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


class RunFinished(UsageError):
    """The run has ended, so nothing can be added to it."""


class JournalError(HolterError):
    """The bytes are not a journal segment."""


class NewerJournal(JournalError):
    """The segment was written by a newer holter than this one."""


class Unreadable(JournalError):
    """What a run's journals say makes holter fail; the message is a sentence for people."""


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
