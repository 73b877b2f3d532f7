"""Every exception that holter raises on purpose.

HolterError
├── UsageError        the caller can fix it: a wrong argument, setting or name
│   ├── NoRun         a call needs a run, and none is active or none has that name
│   ├── NotRunnable   there is no such command, or it can't be run
│   └── RunFinished   the run has ended already
├── JournalError      the file can't be read as a journal
│   └── NewerJournal  a newer holter wrote it: upgrade to read it
└── NotKept           the disk did not take a record; what to do is in the message
"""


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


class RunFinished(UsageError):
    """The run has ended, so nothing can be added to it."""


class JournalError(HolterError):
    """The bytes are not a journal segment."""


class NewerJournal(JournalError):
    """The segment was written by a newer holter than this one."""


class NotKept(HolterError):
    """The journal could not take a record; the reason is the message."""
