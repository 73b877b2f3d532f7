"""Reads what srun says of the tasks of its step: they are children of SLURM's daemon, so `holter run` sees none end."""

import re
import signal

import msgspec

from holter.diagnosis.printed import read_last_traceback
from holter.diagnosis.processes import BY_WORDS, left_with
from holter.diagnosis.texts import lines_near_end
from holter.model.evidence import End, Evidence, Job, Memory

BY_SRUN = "srun"
_TASK = re.compile(r"^srun: error: \S+: tasks? (?P<task>\d+)[\d,-]*: (?P<how>.+?)(?: \(core dumped\))?$")
_CODE = re.compile(r"Exited with exit code (\d+)")
_OUT_OF_MEMORY = "Out Of Memory"


def find_task(evidence: Evidence) -> Evidence | None:
    """The same evidence about the first task that did not end well; None where srun tells of none."""
    command = evidence.subject
    if command.role != "command" or not left_with(command):
        return None
    lines = list(lines_near_end(evidence))[::-1]
    for number, line in enumerate(lines):
        found = _TASK.match(line.text.strip())
        status = _status(found["how"]) if found else None
        if found is None or not status:
            continue
        task = End(
            pid=0,
            role="rank",
            rank=int(found["task"]),
            began_ns=command.began_ns,
            at_ns=line.at_ns,
            status=status,
            source=BY_SRUN,
            raised=read_last_traceback(lines[:number]) if status == 1 << 8 else None,
        )
        job = evidence.job or Job(scheduler="slurm", job="")
        told = msgspec.structs.replace(job, said=line.text) if found["how"] == _OUT_OF_MEMORY else evidence.job
        # The step has a cgroup of its own, perhaps on another machine.
        return msgspec.structs.replace(evidence, subject=task, memory=Memory(), surroundings=None, job=told)
    return None


def _status(how: str) -> int | None:
    """The wait status that srun puts into words; None for none, and for SIGTERM, with which the rest are ended."""
    code = _CODE.match(how)
    if code is not None:
        return int(code[1]) << 8
    number = signal.SIGKILL if how == _OUT_OF_MEMORY else BY_WORDS.get(how)
    return None if number == signal.SIGTERM else number
