"""What lies in the spool of a run whose sidecar is gone is made by whoever looks at it: here, in the background."""

import os
import threading

from holter.catalog.change.command_journal import may_write
from holter.errors import HolterError
from holter.journal.rundir import is_run_id
from holter.journal.spool import list_entries, spool_of
from holter.recording.workshop import settle_run
from holter.server.domain.services import Services

WITHIN_S = 120.0
_lock = threading.Lock()
_at_work: set[str] = set()


def begin_unmade(services: Services, run: str) -> int:
    """How many media of a run are not made yet; has them made where nobody does. Never blocks."""
    if not is_run_id(run):
        return 0
    directory = services.verdicts.directory(run)
    if not os.path.isdir(spool_of(directory)):
        return 0
    waiting = len(list_entries(directory))
    if waiting and may_write(directory):
        with _lock:
            # One at a time: workers are last in line for the CPU, and many of them still take memory.
            if not _at_work:
                _at_work.add(directory)
                threading.Thread(target=_make, args=(directory,), name="media", daemon=True).start()
    return waiting


def _make(directory: str) -> None:
    try:
        settle_run(directory, within_s=WITHIN_S)
    except (HolterError, OSError):  # whoever looks next tries again
        return
    finally:
        with _lock:
            _at_work.discard(directory)
