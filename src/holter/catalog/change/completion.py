"""Writes down what a sidecar that died with its run could not: that the process is gone, and the run's files."""

import os

from holter.catalog.change.command_journal import as_command, may_write, write_down
from holter.catalog.change.projection import project, write_files
from holter.catalog.change.space import trim_the_dead
from holter.catalog.read.loaded_run import LoadedRun, last_seen_ns, process_of, unexplained_processes
from holter.console.scrubbing import Scrubber
from holter.journal.kept_files import remove_partial
from holter.model.records import Exited
from holter.probes.identity import is_alive, writer_of

# More than there can be.
SCRUB_BYTES = 1 << 40


def complete(loaded: LoadedRun) -> bool:
    """Record each process that is gone without an exit record, once, with what will not stay; true if that was written.

    Another user's directory, or one that can't be written, is left as it is: the state is the same without the record.
    """
    gone = unexplained_processes(loaded.digests)
    directory = loaded.row.directory
    if not gone or not may_write(directory):
        return False
    exits = [
        Exited(at_ns=last_seen_ns(each, loaded.digests), journal=each.journal, pid=process_of(each).pid, source="gone")
        for each in gone
    ]
    from holter.probes.postmortem import counters  # whoever lists runs rarely comes first
    from holter.probes.postmortem.past import recall

    past = recall(loaded.digests, loaded.by_itself.ended_at_ns or 0)
    counted = counters.later(past) if past is not None else None
    opened = as_command(gone[0].opened.run, gone[0].opened.attempt)
    if not write_down(directory, [*exits, *([counted] if counted is not None else [])], opened=opened):
        return False
    try:
        trim_the_dead(directory)
        Scrubber(directory).scrub(SCRUB_BYTES)
        complete_files(loaded)
    except OSError:
        return False
    return True


def complete_files(loaded: LoadedRun) -> None:
    """Bring the files that follow from the journals up to date, where there is no sidecar that does; idempotent."""
    sidecars = [each.opened for each in loaded.digests if each.opened.writer == "sidecar"]
    directory = loaded.row.directory
    if any(is_alive(writer_of(opened)) is not False for opened in sidecars) or not os.access(directory, os.W_OK):
        return
    try:
        write_files(directory, project(loaded.digests))
        remove_partial(directory)
    except OSError:
        return  # they say nothing that the journals do not say
