"""What is, and what is not, `disk-full`."""

from holter.model.evidence import Disk, End, Said, Surroundings
from holter.model.records import Cause, Finished, Raised
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, failed, gone, said, signalled

_FULL = Surroundings(disks=(Disk(path="/scratch/run", what="working directory", free_bytes=0, total_bytes=10**11),))

_ROOMY = Surroundings(
    disks=(Disk(path="/scratch/run", what="working directory", free_bytes=10**10, total_bytes=10**11),)
)

_INODES = Surroundings(
    disks=(Disk(path="/scratch", free_bytes=10**10, total_bytes=10**11, free_inodes=0, total_inodes=1000),)
)

_GIVEN = Surroundings(disks=(Disk(path="b", what="argument", free_bytes=0, total_bytes=10**9),))

_OUTPUT = Surroundings(disks=(Disk(path="/scratch/train.log", what="output", free_bytes=0, total_bytes=10**9),))

_MAPPED = Surroundings(
    disks=(Disk(path="/data/a.npy", what="mapped file", free_bytes=0, total_bytes=2**22, file_bytes=2**24),)
)

_IN_MAP = caught(
    7, code=2, address=0x400000, stack_pointer=0x7FFD, mapping="100000-2000000 rw-s 00000000 00:28 2 /data/a.npy"
)

_LEFT = Finished(at_ns=before(0.1), how="atexit", exit_code=4)

_PIPE = failed("BrokenPipeError", "[Errno 32] Broken pipe", statement="packer.stdin.write(batch)")

_GZIP = End(pid=900, role="child", name="gzip", at_ns=before(0.2), status=256)

_SQLITE = "database or disk is full"

_TORCH = "[enforce fail at inline_container.cc:672] . unexpected pos 640 vs 534"

_CHAIN = Raised(
    at_ns=before(0.2),
    type="CheckpointError",
    message="could not save",
    traceback="",
    causes=(Cause(type="OSError", message="[Errno 28] No space left on device"),),
)

EXAMPLES = [
    Example(evidence(failed("OSError", "[Errno 28] No space left on device: '/scratch/a.pt'")), fires=True),
    Example(evidence(failed("OSError", "[Errno 28] No space left on device"), surroundings=_INODES), fires=True),
    Example(evidence(failed("RuntimeError", _TORCH), surroundings=_FULL), fires=True),
    Example(evidence(failed("OSError", "1000000 requested and 4096 written"), surroundings=_FULL), fires=True),
    Example(evidence(failed("OSError", "Not enough free space to write 33554432 bytes after offset 128")), fires=True),
    Example(evidence(exited(1, raised=_CHAIN)), fires=True),
    Example(evidence(signalled(7, signals=(_IN_MAP,)), surroundings=_MAPPED), fires=True),
    Example(
        evidence(exited(1, role="command"), said=(said("cp: error writing 'b': No space left on device"),)), fires=True
    ),
    Example(
        evidence(
            failed("subprocess.CalledProcessError", "Command '['cp', 'a', 'b']' returned non-zero exit status 1."),
            said=(said("cp: error writing 'b': No space left on device"),),
        ),
        fires=True,
    ),
    Example(
        evidence(
            failed("subprocess.CalledProcessError", "Command '['cp', 'a', 'b']' returned non-zero exit status 1."),
            surroundings=_GIVEN,
        ),
        fires=True,
    ),
    Example(evidence(gone(finished=_LEFT), said=(said("fatal: [Errno 28] No space left on device"),)), fires=True),
    Example(
        evidence(
            failed("subprocess.CalledProcessError", "Command '['tar', 'b']' returned non-zero exit status 2."),
            said=(said("tar: b: Wrote only 4096 of 10240 bytes"), said("tar: Error is not recoverable: exiting now")),
        ),
        fires=True,
    ),
    # The reader of its pipe said why it left; and one that left in order, or long ago.
    Example(evidence(_PIPE, children=(_GZIP,), said=(said("gzip: stdout: No space left on device"),)), fires=True),
    Example(evidence(_PIPE, said=(said("gzip: stdout: No space left on device"),)), fires=False),
    Example(evidence(_PIPE, children=(_GZIP,), surroundings=_FULL), fires=False),
    # Its own words went to where there was no room for them.
    Example(evidence(exited(1, role="command"), surroundings=_OUTPUT), fires=True),
    Example(evidence(exited(0, role="command"), surroundings=_OUTPUT), fires=False),
    Example(evidence(exited(1, role="command"), surroundings=_FULL), fires=False),
    # A command that was given a disk with room, while another one is full.
    Example(
        evidence(
            failed("subprocess.CalledProcessError", "Command '['cp', 'a', 'b']' returned non-zero exit status 1."),
            surroundings=_FULL,
        ),
        fires=False,
    ),
    # Something was said about a disk, and then the program failed for a reason of its own.
    Example(evidence(failed("ValueError", "x"), said=(said("No space left on device"),)), fires=False),
    Example(evidence(failed("RuntimeError", _TORCH), surroundings=_ROOMY), fires=False),
    # SQLite says the same of a limit that a database has of its own.
    Example(evidence(failed("sqlite3.OperationalError", _SQLITE), surroundings=_FULL), fires=True),
    Example(evidence(failed("sqlite3.OperationalError", _SQLITE)), fires=True),
    Example(evidence(failed("sqlite3.OperationalError", _SQLITE), surroundings=_ROOMY), fires=False),
    # A process that saves for the program has told it what it met; and a program that says so by itself.
    Example(
        evidence(
            failed("RuntimeError", "writer: [Errno 28] No space left on device", statement="raise RuntimeError(answer)")
        ),
        fires=True,
    ),
    Example(
        evidence(
            failed(
                "RuntimeError",
                "[Errno 28] No space left on device",
                statement='raise RuntimeError("[Errno 28] No space left on device")',
            )
        ),
        fires=False,
    ),
    Example(evidence(failed("OSError", "[Errno 27] File too large"), surroundings=_FULL), fires=False),
    Example(evidence(failed("OSError", "[Errno 28] inotify watch limit reached")), fires=False),
    Example(
        evidence(failed("RuntimeError", "No space left", statement='raise RuntimeError("No space left on device")')),
        fires=False,
    ),
    Example(evidence(exited(0), said=(Said(at_ns=before(1), text="No space left on device"),)), fires=False),
    Example(evidence(signalled(9), surroundings=_FULL), fires=False),
]
