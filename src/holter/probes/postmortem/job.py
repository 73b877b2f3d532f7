"""What a scheduler says about the job that the run was in: SLURM by its commands and by the end of the job's output."""

import os
import re
import time
from collections.abc import Mapping

import msgspec

from holter.model.evidence import Job, Unseen
from holter.model.records import Looked
from holter.probes.postmortem.commands import ask
from holter.probes.postmortem.past import Past
from holter.probes.postmortem.scene import Scene
from holter.probes.schedulers import scheduler_identity

TURN = 9
ASKS_OF_GOOD_ENDS = True
WITHIN_S = 3.0
TAIL_BYTES = 64 << 10
MOST_SAID = 300
# A job's output may go on in the file of its earlier start; clocks of nodes differ a little.
SLACK_S = 60
# What ends a job for good; any other state of a job says that it goes on, or will be begun again.
ENDED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
)
LAST_STATES = ENDED - {"CANCELLED", "COMPLETED", "FAILED"}
# After so long no scheduler says anything new about a job.
JOB_WITHIN_NS = 14 * 86_400_000_000_000
REASONS = {
    "TIME LIMIT": "TIMEOUT",
    "PREEMPTION": "PREEMPTED",
    "NODE FAIL": "NODE_FAIL",
    "JOB REQUEUE": "REQUEUED",
}
CANCELLED = re.compile(
    r"\*\*\* (?:JOB|STEP) (?P<job>\d+)(?:\.\S+)?(?: ON \S+)? CANCELLED AT (?P<at>\S+)"
    r"(?: DUE TO (?P<why>[^*]+))? ?\*\*\*"
)
OUT_OF_MEMORY = re.compile(
    r"Detected \d+ oom[-_]kill event(?:\(?s\)?)? in (?:StepId=|step )(?P<job>\d+)"
    # By SLURM itself, where it counts the memory of jobs and Linux does not limit it.
    r"|error: (?:StepId=|Step |Job )(?P<counted>\d+)\S* exceeded (?:\w+ )?memory limit"
    r"|srun: error: \S+: tasks? \S+: Out Of Memory"
)
TASK_ENDED = re.compile(r"srun: error: \S+: tasks? \S+: (?!Exited)")
FACTS = {
    "state": re.compile(r"(?:^|\s)JobState=(\S+)"),
    "reason": re.compile(r"(?:^|\s)Reason=(\S+)"),
    "exit_code": re.compile(r"(?:^|\s)ExitCode=(\S+)"),
    "restarts": re.compile(r"(?:^|\s)Restarts=(\d+)"),
    "ends": re.compile(r"(?:^|\s)EndTime=(\S+)"),
    "output": re.compile(r"(?:^|\s)StdOut=(.*?)(?=\s+\w+=|\s*$)", re.MULTILINE),
}


def look(job: Job, began_ns: int, *, is_over: bool = True) -> Job | Unseen:
    """Ask again about a job: the commands of the scheduler, and the file that its output went to. Blocks for seconds.

    Args:
        job: as `find` had it, with `output` where that is known.
        is_over: it ended some time ago; the accounting, if there is one, may know of it by now.
    """
    if job.scheduler != "slurm":
        return job
    known = ask_scontrol(job.job) or (ask_sacct(job.job) if is_over else None)
    output = job.output or (known.output if known else "")
    said = parse_output(read_tail(output), job.job, began_ns=began_ns) if output else None
    if known is None and said is None:
        because = f"neither scontrol nor sacct knows job {job.job}, and its output can't be read"
        return Unseen(
            because=because, remedy="run `holter why` on the cluster soon after the job's end, or set up sacct"
        )
    found = msgspec.structs.replace(known, ends_at_ns=known.ends_at_ns or job.ends_at_ns) if known else job
    return merge(msgspec.structs.replace(found, output=output), said)


def at_start(scene: Scene) -> None:
    """Where the job's output goes to, for whoever looks when the job and we are gone."""
    job = find(os.environ)
    if job is None:
        return
    known = ask_scontrol(job.job) if job.scheduler == "slurm" else None
    if known is not None:
        # What it is now says nothing about its end.
        job = scene.job = msgspec.structs.replace(known, state="", reason="", exit_code="")
    scene.say("job", job)


def at_death(scene: Scene) -> None:
    """A program that a scheduler told to leave may do so with 0. Only a scheduler that has answered before is asked."""
    job = find(os.environ)
    if job is None or scene.job is None or all(death.is_child for death in scene.deaths):
        return
    job = msgspec.structs.replace(job, output=scene.job.output)
    scene.say("job", look(job, scene.began_ns, is_over=False))


def later(past: Past) -> Looked | None:
    """SLURM writes its last word after the death, and its accounting later still."""
    known = known_job(past)
    is_settled = known is not None and (bool(known.said) or known.state in LAST_STATES)
    if known is None or known.scheduler != "slurm" or is_settled:
        return None
    if time.time_ns() - past.ended_ns > JOB_WITHIN_NS:
        return None
    found = look(known, past.began_ns)
    return None if isinstance(found, Unseen) and known.state else past.answer("job", found)


def known_job(past: Past) -> Job | None:
    """The job that the run was in, with what was learnt of it so far. Pure."""
    slurm = past.schedulers.get("slurm") or {}
    known = Job(scheduler="slurm", job=str(slurm["job_id"]), source="environment") if slurm.get("job_id") else None
    for each in past.said("job"):
        if isinstance(each, Job):
            said = {name: value for name, value in msgspec.structs.asdict(each).items() if value not in (None, "")}
            known = msgspec.structs.replace(known or each, **said)
    return known


def find(environment: Mapping[str, str]) -> Job | None:
    """Return the job that a process with these variables is in, None outside of any."""
    found = scheduler_identity(environment)
    if slurm := found.get("slurm"):
        ends_at, restarts = slurm.get("ends_at", ""), slurm.get("restart_count", "")
        return Job(
            scheduler="slurm",
            job=slurm["job_id"],
            restarts=int(restarts) if restarts.isdigit() else None,
            ends_at_ns=int(ends_at) * 1_000_000_000 if ends_at.isdigit() else None,
            source="environment",
        )
    for scheduler, key in (("kubernetes", "pod"), ("pbs", "job_id"), ("lsf", "job_id")):
        if named := found.get(scheduler):
            return Job(scheduler=scheduler, job=named.get(key, ""), source="environment")
    return None


def ask_scontrol(job: str) -> Job | None:
    """Return what SLURM's controller knows; it forgets a job some minutes after its end. Blocks."""
    text = ask(["scontrol", "show", "job", "--oneliner", job], WITHIN_S) if job.isdigit() else None
    return parse_scontrol(text, job) if text else None


def ask_sacct(job: str) -> Job | None:
    """Return what SLURM's accounting knows, where the cluster has one. Blocks."""
    if not job.isdigit():
        return None
    command = ["sacct", "--jobs", job, "--allocations", "--noheader", "--parsable2", "--duplicates"]
    text = ask([*command, "--format=JobIDRaw,State,ExitCode,Reason,Restarts"], WITHIN_S)
    text = text or ask([*command, "--format=JobIDRaw,State,ExitCode"], WITHIN_S)  # older ones have no more columns
    return parse_sacct(text, job) if text else None


def parse_scontrol(text: str, job: str) -> Job | None:
    """Take the one line of `scontrol show job -o` apart; None where it has no job."""
    found = {name: match[1] for name, pattern in FACTS.items() if (match := pattern.search(text))}
    if "state" not in found:
        return None
    reason = found.get("reason", "")
    return Job(
        scheduler="slurm",
        job=job,
        state=found["state"],
        reason="" if reason == "None" else reason,
        exit_code=found.get("exit_code", ""),
        restarts=int(found.get("restarts", 0)),
        source="scontrol",
        # Of a job that is over it is the end that it really had.
        ends_at_ns=_local_ns(found.get("ends", "")) if found["state"] == "RUNNING" else None,
        output=found.get("output", "").replace("(null)", ""),
    )


def parse_sacct(text: str, job: str) -> Job | None:
    """Take the lines of `sacct --parsable2` apart: of a job that was begun several times the last counts."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith(f"{job}|")]
    if not rows:
        return None
    fields = [*rows[-1], "", "", "", ""]
    state, _, by = fields[1].partition(" by ")
    return Job(
        scheduler="slurm",
        job=job,
        state=state.strip("+"),
        exit_code=fields[2],
        reason="" if fields[3] == "None" else fields[3],
        restarts=int(fields[4]) if fields[4].isdigit() else len(rows) - 1,
        source="sacct",
        by=by,
    )


def parse_output(text: str, job: str, *, began_ns: int) -> Job | None:
    """Return the last thing that SLURM itself wrote into the job's output since then; None where it wrote nothing."""
    said: Job | None = None
    for line in text.splitlines():
        if (found := CANCELLED.search(line)) and found["job"] == job:
            at_ns = _local_ns(found["at"])
            if at_ns is not None and at_ns < began_ns - SLACK_S * 1_000_000_000:
                continue  # of an earlier start of the same job
            state = next((state for words, state in REASONS.items() if words in (found["why"] or "")), "CANCELLED")
        elif (found := OUT_OF_MEMORY.search(line)) and (found["job"] or found["counted"]) in (None, job):
            state = "OUT_OF_MEMORY"
        elif TASK_ENDED.search(line) and said is None:  # says how, not why
            state = ""
        else:
            continue
        said = Job(scheduler="slurm", job=job, state=state, said=line.strip()[:MOST_SAID], source="output")
    return said


def merge(known: Job, said: Job | None) -> Job:
    """Return both in one. What SLURM wrote into the output is exact; its record may be of the next start."""
    if said is None:
        return known
    is_exact = said.state not in ("CANCELLED", "")
    state = said.state if is_exact or known.state not in ENDED else known.state
    source = "output" if state == said.state else known.source
    return msgspec.structs.replace(known, state=state, said=said.said, source=source)


def read_tail(path: str) -> str:
    """Return the end of a file, empty where nobody can look."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read(TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _local_ns(text: str) -> int | None:
    """Return a time as SLURM writes it, in the time zone of the machine."""
    try:
        return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))) * 1_000_000_000
    except (ValueError, OverflowError):
        return None
