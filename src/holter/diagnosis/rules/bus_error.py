"""The process touched a mapped page that was gone: the file had become shorter than its mapping.

It happens to `numpy.memmap` and to safetensors or arrow files that are rewritten while they are mapped, and on
network file systems whose server lost the file.

Never truncate or overwrite a mapped file: write a new one and rename it into its place.
"""

import signal

from holter.diagnosis import crashes, facts, spaces
from holter.diagnosis.grades import CONSISTENT, NAMED
from holter.diagnosis.remedies import outside, program
from holter.model.evidence import Caught, Disk, Evidence
from holter.model.verdicts import Answer, Grade, RuledOut

GENERALITY = 1
ADVICE = (
    "never truncate or overwrite a file that is mapped: write a new one and rename it into its place",
    program.see_native_stack,
    outside.CHECK_DISK,
)
FAILING_MEMORY = (4, 5)
MISALIGNED = 1


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGBUS that a fault raised, unless failing memory did."""
    crash = crashes.crash_of(evidence, signal.SIGBUS)
    if crash is None:
        return None
    caught, shared = crash.ending.caught, spaces.shared_memory(evidence)
    if caught is not None and caught.code in FAILING_MEMORY:
        return RuledOut(because=f"si_code {caught.code} says that the memory itself failed")
    disk = spaces.mapped_disk(evidence, facts.map_path(caught)) if caught else None
    if caught is not None and disk is not None and spaces.is_cut(disk, caught) is False and spaces.has_no_room(disk):
        return RuledOut(because=f"{disk.path} was not truncated; its disk has no room for its pages")
    seen = shared if shared and shared.free_bytes is not None else None
    grade = min(crash.grade, _most(evidence, caught, disk))
    what = f"crashed{crashes.where(evidence, crash)}: {_what(caught)}"
    return crashes.told(evidence, crash, what, grade, facts.of_disk(seen, evidence.subject.at_ns))


def _most(evidence: Evidence, caught: Caught | None, disk: Disk | None, /) -> Grade:
    """What it can be at most: a page of a file that is written may also lack a block on a full disk, and
    one that can't be read looks the same to who can't read the kernel log."""
    is_unread = evidence.kernel_log is None and (caught is None or disk is None or not spaces.is_cut(disk, caught))
    if caught is None or is_unread:
        return CONSISTENT
    is_written = caught.mapping.split(" ")[1:2] == ["rw-s"] and facts.map_path(caught).startswith("/")
    return CONSISTENT if is_written and disk is None else NAMED


def _what(caught: Caught | None) -> str:
    path = facts.map_path(caught)
    if path.startswith("/"):
        return f"a page of the mapped file {path} was gone, as when a file is truncated"
    if caught is not None and caught.code == MISALIGNED:
        return f"an address was not aligned ({caught.address:#x})"
    return "a page of mapped memory was gone (bus error)"
