"""The machine's memory failed: it found an error that it could not correct, in a page of the program.

Linux then sends SIGBUS with a code of its own (MCEERR) or kills the process, and logs a hardware error. Corrected
errors are no cause, but a warning.

Have the memory modules tested and the machine taken out of use; results since the first error may be wrong.
"""

import signal

from holter.diagnosis import facts
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import LIKELY, NAMED, REMOTE
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence, KernelLine
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (
    "have the memory modules tested (memtest86+, edac-util): results since the first error may be wrong",
    outside.REPLACE_HARDWARE,
    outside.resume,
)
MACHINE_CHECKS = (4, 5)
"""si_code of a SIGBUS for failing memory: action required, action optional."""
NEAR_S = 60.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGBUS with the code of failing memory, or on Linux's word about this process."""
    end, ending = evidence.subject, ending_of(evidence)
    if ending is None or ending.signal not in (signal.SIGBUS, signal.SIGKILL):
        return None
    is_bus, caught, line = ending.signal == signal.SIGBUS, ending.caught, _line(evidence)
    is_check = is_bus and caught is not None and caught.code in MACHINE_CHECKS
    if not is_check and line is None:
        return _absent(evidence, caught.code if caught else None) if is_bus else None
    is_ours = line is not None and line.pid == end.pid
    found = [facts.of_signal(caught if is_check else None), facts.of_kernel_line(line)]
    return Verdict(
        NAMED if is_check or is_ours else LIKELY if is_bus else REMOTE,
        "The machine's memory failed in a page that the program used",
        [*found, facts.of_status(end), facts.of_steps(end)],
    )


def _line(evidence: Evidence) -> KernelLine | None:
    """Linux's word on memory that failed near the end; not of errors that were corrected."""
    end = evidence.subject
    near = [
        line
        for line in evidence.kernel_lines
        if line.kind == "hardware" and abs(end.at_ns - line.at_ns) / 1e9 <= NEAR_S and line.pid in (0, end.pid)
    ]
    grave = [line for line in near if says(line.text, "memory-failed") and not says(line.text, "memory-corrected")]
    return next((line for line in grave if line.pid), grave[-1] if grave else None)


def _absent(evidence: Evidence, code: int | None) -> Answer:
    """Of a SIGBUS one may suspect it."""
    if code is not None:
        return RuledOut(because=f"SIGBUS came with code {code}; failing memory has 4 or 5")
    if evidence.kernel_log is not None:
        return RuledOut(because="the Linux kernel log has no hardware error near the end")
    remedy = "let the user read the Linux kernel log (group adm, or kernel.dmesg_restrict=0)"
    because = "the Linux kernel log could not be read"
    return facts.not_observable(evidence, "kernel-log", because=because, remedy=remedy)
