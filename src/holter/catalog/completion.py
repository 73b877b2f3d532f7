"""Writes down what a sidecar that died with its run could not: that the process is gone, and the run's files."""

import os
import time
from collections.abc import Iterator

from holter.catalog.projection import project, write_files
from holter.catalog.run_view import LoadedRun, last_seen_ns, process_of, unexplained_processes
from holter.catalog.space import trim_the_dead, writer_of
from holter.console.scrubbing import Scrubber
from holter.errors import NotKept
from holter.journal.frame import encode_record
from holter.journal.kept_files import remove_partial
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import Exited, Opened
from holter.probes.identity import ProcessIdentity, identify, is_alive
from holter.version import __version__

# More than there can be.
SCRUB_BYTES = 1 << 40


def complete(loaded: LoadedRun) -> bool:
    """Record each process that is gone without an exit record, once; true if anything was written.

    Another user's directory, or one that can't be written, is left as it is: the state is the same without the record.
    """
    gone = unexplained_processes(loaded.digests)
    if not gone or not os.access(loaded.view.directory, os.W_OK):
        return False
    run, attempt = gone[0].opened.run, gone[0].opened.attempt
    clock = Clock()
    journal = JournalWriter(loaded.view.directory, lambda: _prologue(run, attempt), clock=clock)
    try:
        for each in gone:
            journal.record(
                Exited(
                    at_ns=last_seen_ns(each, loaded.digests),
                    journal=each.journal,
                    pid=process_of(each).pid,
                    source="gone",
                )
            )
        trim_the_dead(loaded.view.directory)
        Scrubber(loaded.view.directory).scrub(SCRUB_BYTES)
        complete_files(loaded)
    except (NotKept, OSError):
        return False
    finally:
        journal.close()
    return True


def complete_files(loaded: LoadedRun) -> None:
    """Bring the files that follow from the journals up to date, where there is no sidecar that does; idempotent."""
    sidecars = [each.opened for each in loaded.digests if each.opened.writer == "sidecar"]
    directory = loaded.view.directory
    if any(is_alive(writer_of(opened)) is not False for opened in sidecars) or not os.access(directory, os.W_OK):
        return
    try:
        write_files(directory, project(loaded.digests))
        remove_partial(directory)
    except OSError:
        return  # they say nothing that the journals do not say


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
