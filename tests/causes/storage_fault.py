"""What is, and what is not, `storage-fault`."""

import signal

import msgspec

from holter.diagnosis.requests import SI_KERNEL
from holter.model.evidence import Disk, KernelLine, KernelLog, Surroundings
from holter.model.records import Cause
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, failed, raised, said, signalled


def _kernel(kind: str, text: str, *, before_s: float = 2.0) -> KernelLog:
    return KernelLog(lines=(KernelLine(at_ns=before(before_s), kind=kind, text=text),))


_IO = "[Errno 5] Input/output error: '/data/train.bin'"

_BEHIND = (Cause(type="OSError", message="[Errno 5] Input/output error: 'a.pt'", how="context"),)

_HANDLED = """Traceback (most recent call last):
  File "/home/ada/train.py", line 38, in fit
    raise OSError(5, 'Input/output error', 'a.pt')
OSError: [Errno 5] Input/output error: 'a.pt'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/ada/train.py", line 41, in fit
    writer.close()
AttributeError: 'dict' object has no attribute 'close'
"""

_CLEAN_UP = raised("AttributeError", "'dict' object has no attribute 'close'", causes=_BEHIND)

_MAP = "7f0000000000-7f0000100000 r--s 00000000 08:01 131 /data/train.bin"

EXAMPLES = [
    Example(
        evidence(failed("OSError", _IO), kernel_log=_kernel("io", "I/O error, dev sda, sector 2048 op 0x0:(READ)")),
        fires=True,
    ),
    Example(evidence(failed("OSError", _IO)), fires=True),
    Example(
        evidence(
            failed("OSError", "[Errno 30] Read-only file system: '/data/last.ckpt'"),
            surroundings=Surroundings(disks=(Disk(path="/data/last.ckpt", what="error", is_read_only=True),)),
        ),
        fires=True,
    ),
    Example(evidence(failed("OSError", "[Errno 116] Stale file handle: '/nfs/train.bin'")), fires=True),
    Example(
        evidence(
            signalled(7, signals=(caught(7, code=2, mapping=_MAP),)),
            kernel_log=_kernel("io", "Buffer I/O error on dev sda1, logical block 12, async page read"),
        ),
        fires=True,
    ),
    # It failed once more while it cleaned up.
    Example(evidence(exited(1, raised=_CLEAN_UP)), fires=True),
    # The same, but the first failure, too, was the user's own words.
    Example(
        evidence(exited(1, raised=msgspec.structs.replace(_CLEAN_UP, traceback=_HANDLED))),
        fires=False,
    ),
    # A terminal that was closed; who ignores SIGHUP is still sent SIGCONT.
    Example(
        evidence(
            failed(
                "OSError",
                "[Errno 5] Input/output error",
                statement="self.file.write(line)",
                signals=(caught(signal.SIGCONT, code=SI_KERNEL, before_s=1),),
            )
        ),
        fires=False,
    ),
    Example(evidence(failed("OSError", "[Errno 5] Input/output error", statement="print(loss)")), fires=False),
    Example(evidence(failed("OSError", "[Errno 28] No space left on device")), fires=False),
    # The user's own words, and a kernel line of another time.
    Example(evidence(failed("OSError", _IO, statement="raise OSError(5, text)")), fires=False),
    Example(evidence(signalled(9), kernel_log=_kernel("io", "I/O error, dev sdb", before_s=5000)), fires=False),
    Example(evidence(exited(0), said=(said("Input/output error"),)), fires=False),
]
