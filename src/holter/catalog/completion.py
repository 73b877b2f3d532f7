"""Writes down what a sidecar that died with its run could not: that the process is gone."""

import os
import time
from collections.abc import Iterator

from holter.catalog.run_view import LoadedRun, identity_of
from holter.errors import NotKept
from holter.journal.digest import Digest
from holter.journal.frame import encode_record
from holter.journal.rundir import list_segments
from holter.journal.trimming import trim
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Exited, Opened
from holter.probes.identity import ProcessIdentity, identify, is_alive
from holter.version import __version__


def is_waiting_for_sidecar(loaded: LoadedRun) -> bool:
    """Whether a process is gone, nobody has written down how, and a sidecar is alive that will."""
    watchers = [each for each in loaded.digests if each.opened.writer == "sidecar"]
    return bool(_unexplained(loaded)) and any(is_alive(identity_of(each)) for each in watchers)


def complete(loaded: LoadedRun) -> bool:
    """Record each process that is gone without an exit record, once; true if anything was written.

    Another user's directory, or one that can't be written, is left as it is: the state is the same without the record.
    """
    gone = _unexplained(loaded)
    if not gone or is_waiting_for_sidecar(loaded) or not os.access(loaded.view.directory, os.W_OK):
        return False
    run, attempt = gone[0].opened.run, gone[0].opened.attempt
    clock = Clock()
    journal = JournalWriter(loaded.view.directory, lambda: _prologue(run, attempt), clock)
    try:
        for each in gone:
            journal.record(
                Exited(at_ns=max(each.last_at_ns, each.opened.at_ns), journal=each.journal, pid=each.opened.pid, source="gone")
            )
        _trim(loaded.view.directory, {each.journal for each in gone})
    except (NotKept, OSError):
        return False
    finally:
        journal.close()
    return True


def _unexplained(loaded: LoadedRun) -> list[Digest]:
    explained = {record.journal for record in loaded.said(Exited)}
    newest = max((each.opened.attempt for each in loaded.digests if each.opened.writer == "client"), default=0)
    return [
        each
        for each in loaded.digests
        if each.opened.writer == "client"
        and each.opened.attempt == newest
        and each.journal not in explained
        and not any(getattr(record, "how", "") in ("finish", "context") for record in each.said)
        and is_alive(identity_of(each)) is False
    ]


def _prologue(run: str, attempt: int) -> Iterator[bytes]:
    me = identify(os.getpid()) or ProcessIdentity(os.uname().nodename, "", os.getpid(), 0)
    yield encode_record(
        Opened(
            at_ns=time.time_ns(),
            run=run,
            writer="command",
            host=me.host,
            boot_id=me.boot_id,
            pid=me.pid,
            process_started=me.started,
            pid_namespace=me.pid_namespace,
            holter=__version__,
            attempt=attempt,
        )
    )


def _trim(directory: str, journals: set[str]) -> None:
    for journal, paths in list_segments(directory).items():
        if journal in journals:
            trim(paths[-1])
