"""The machine's memory failed: it found an error that it could not correct, in a page of the program.

Linux then sends SIGBUS with a code of its own (MCEERR) or kills the process, and logs a hardware error. Corrected
errors are no cause, but a warning.

Have the memory modules tested and the machine taken out of use; results since the first error may be wrong.
"""

import signal

from holter.diagnosis import facts, testimony
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import LIKELY, NAMED, REMOTE
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.outside import REPLACE_HARDWARE, resume
from holter.model.evidence import Evidence, KernelLine, Unseen
from holter.model.verdicts import Answer, NotObservable, RuledOut, Verdict

CAUSE = "memory-fault"
ADVICE = (
    "have the memory modules tested (memtest86+, edac-util): results since the first error may be wrong",
    REPLACE_HARDWARE,
    resume,
)
MACHINE_CHECKS = (4, 5)
"""si_code of a SIGBUS for failing memory: action required, action optional."""
NEAR_S = 60.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGBUS with the code of failing memory, or on the kernel's word about this process."""
    ending = ending_of(evidence)
    if ending is None or ending.signal not in (signal.SIGBUS, signal.SIGKILL):
        return None
    end = evidence.subject
    code = ending.caught.code if ending.caught else None
    line = _line(evidence)
    is_machine_check = ending.signal == signal.SIGBUS and code in MACHINE_CHECKS
    if not is_machine_check and line is None:
        return _absent(evidence, ending.signal, code)
    found = [facts.of_signal(ending.caught)] if is_machine_check and ending.caught else []
    found += [testimony.of_kernel_line(line)] if line else []
    is_ours = line is not None and line.pid == end.pid
    grade = NAMED if is_machine_check or is_ours else LIKELY if ending.signal == signal.SIGBUS else REMOTE
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title="The machine's memory failed in a page that the program used",
        because=testimony.few([*found, facts.of_status(end), *testimony.of_steps(end)]),
    )


def _line(evidence: Evidence) -> KernelLine | None:
    """The kernel's word on memory that failed near the end; not of errors that were corrected."""
    end = evidence.subject
    near = [
        line
        for line in (evidence.kernel_log.lines if evidence.kernel_log else ())
        if line.kind == "hardware" and abs(end.at_ns - line.at_ns) / 1e9 <= NEAR_S and line.pid in (0, end.pid)
    ]
    grave = [line for line in near if says(line.text, "memory-failed") and not says(line.text, "memory-corrected")]
    return next((line for line in grave if line.pid), grave[-1] if grave else None)


def _absent(evidence: Evidence, number: int, code: int | None, /) -> Answer:
    """Only said of a SIGBUS, where one may suspect it."""
    if number != signal.SIGBUS:
        return None
    if code is not None:
        return RuledOut(cause=CAUSE, because=f"SIGBUS came with code {code}; failing memory has 4 or 5")
    if evidence.kernel_log is not None:
        return RuledOut(cause=CAUSE, because="the Linux kernel log has no hardware error near the end")
    unseen = evidence.unseen.get("kernel-log", Unseen(because="the Linux kernel log could not be read"))
    remedy = unseen.remedy or "let the user read the Linux kernel log (group adm, or kernel.dmesg_restrict=0)"
    return NotObservable(cause=CAUSE, because=unseen.because, remedy=remedy)
