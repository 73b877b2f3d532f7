"""What is, and what is not, `too-many-open-files`."""

from holter.model.evidence import Surroundings
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, gone, said

_DATABASE = "sqlite3.OperationalError"

_NEAR_LIMIT = Surroundings(open_files=1024, open_files_limit=1024)

EXAMPLES = [
    # Nobody read its exit code, and it had said with which one it left.
    Example(
        evidence(
            gone(finished=Finished(at_ns=before(0.1), how="atexit", exit_code=1)),
            said=(said("OSError: [Errno 24] Too many open files"),),
        ),
        fires=True,
    ),
    Example(
        evidence(failed("OSError", "[Errno 24] Too many open files: 'a.npy'"), surroundings=_NEAR_LIMIT), fires=True
    ),
    Example(
        evidence(
            failed("RuntimeError", "received 0 items of ancdata"),
            surroundings=_NEAR_LIMIT,
            facts={"packages": {"torch": "2.13.0"}},
        ),
        fires=True,
    ),
    Example(evidence(failed("RuntimeError", "unable to mmap: Too many open files (24)")), fires=True),
    Example(
        evidence(
            failed("RuntimeError", "received 0 items of ancdata"),
            surroundings=Surroundings(open_files=9, open_files_limit=1024),
        ),
        fires=False,
    ),
    Example(evidence(failed(_DATABASE, "unable to open database file"), surroundings=_NEAR_LIMIT), fires=True),
    # A path that is not there.
    Example(
        evidence(
            failed(_DATABASE, "unable to open database file"),
            surroundings=Surroundings(open_files=980, open_files_limit=1024),
        ),
        fires=False,
    ),
    Example(evidence(failed("ValueError", "24 classes"), surroundings=_NEAR_LIMIT), fires=False),
    Example(evidence(exited(0), said=(said("Too many open files"),)), fires=False),
]
