"""Linux killed the process because the memory limit (cgroup) of its container or job was used up.

Everything under the limit counts: data-loader workers, other programs in the same container, and files in /dev/shm.
The limit may be set further up: on the pod, the scheduler's job, or the user's slice.

Use fewer data-loader workers or a smaller batch, stream the data instead of keeping it in arrays, or ask for more
memory (`--mem`, `--memory`).
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.children import find_lost_child, may_have_lost_a_child
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED, REMOTE
from holter.diagnosis.kills import (
    Kill,
    has_greater_neighbour,
    has_reached_limit,
    is_others_kill,
    is_plausible,
    is_scarce,
    is_too_small,
    kill_of,
)
from holter.diagnosis.memory_reading import held_bytes, tight_level
from holter.diagnosis.remedies.memory import LESS_MEMORY, SMALLER_NUMBERS, fewer_workers, more_memory
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.scheduling import of_job, says_out_of_memory
from holter.model.evidence import Evidence, OomKill
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, RuledOut, Verdict

CAUSE = "cgroup-out-of-memory"
EXCLUDES = ("killed",)
ADVICE = (fewer_workers, more_memory, *LESS_MEMORY, SMALLER_NUMBERS, resume)
CURVES = ("cgroup-0", "cgroup-1", "rss")
MEMCG = "CONSTRAINT_MEMCG"
SUDDEN, CROWDED, DOUBTFUL, SMALL = CONSISTENT, INFERRED, INFERRED, REMOTE


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel's log or the cgroup's own counter has the kill."""
    kill = kill_of(evidence)
    if says_out_of_memory(evidence) and (kill is None or kill.counted != 0):
        return _by_scheduler(evidence)
    if kill is None:
        return None
    if kill.report is not None:
        return _verdict(evidence, kill, NAMED) if _is_of_a_cgroup(kill.report) else None
    if is_others_kill(kill):
        names = words.listed([f"{each.name} ({each.pid})" for each in kill.others[:3]])
        return RuledOut(cause=CAUSE, because=f"the Linux kernel log says that Linux killed {names} for memory")
    if kill.counted is None:
        return _unobservable(kill)
    if kill.counted == 0:
        return RuledOut(cause=CAUSE, because=_unmoved(kill))
    if is_scarce(evidence) and not has_reached_limit(evidence):
        return None
    return _verdict(evidence, kill, _grade(evidence, kill))


def _by_scheduler(evidence: Evidence) -> Verdict:
    """The scheduler's own word: under it the sidecar dies with the job, and the cgroup and its counters are gone."""
    end, job = evidence.subject, evidence.job
    name = f"{job.scheduler.upper()} job {job.job}" if job else "the job"
    limit = tight_level(evidence)
    most = f" of {words.size(limit.limit_bytes)}" if limit and limit.limit_bytes else ""
    found = [*(of_job(job, end.at_ns) if job else ()), facts.of_status(end), *facts.of_own(evidence)]
    return Verdict(
        cause=CAUSE,
        grade=NAMED,
        title=words.sentence(f"Linux killed {words.process(end)}: {name} had used up its memory limit{most}"),
        because=tuple(found[:5]),
    )


def _is_of_a_cgroup(report: OomKill) -> bool:
    return report.constraint == MEMCG or (not report.constraint and bool(report.limited_cgroup))


def _grade(evidence: Evidence, kill: Kill) -> Grade:
    if has_greater_neighbour(evidence):
        return DOUBTFUL
    if kill.deaths > (kill.counted or 0):
        return CROWDED
    if is_plausible(evidence):
        # Whoever vanished when its cgroup counted a kill was the one.
        return COUNTED if evidence.subject.status is None else min(NAMED, kill.ending.certainty)
    return SMALL if is_too_small(evidence) else SUDDEN


def _unobservable(kill: Kill) -> Answer:
    if kill.host_kills == 0:
        return RuledOut(
            cause=CAUSE, because="Linux has killed no process on this machine for memory since the run began"
        )
    return NotObservable(
        cause=CAUSE,
        because="the counter of out-of-memory kills under its container's memory limit (cgroup) could not be read",
        remedy="mount /sys/fs/cgroup into the container, and keep holter's sidecar running",
    )


def _unmoved(kill: Kill) -> str:
    level = kill.own
    where = f" of {level.path}" if level and level.path else ""
    if level and level.kills:
        return f"oom_kill{where} had already risen to {level.kills} well before the death"
    return f"oom_kill{where} did not move"


def _verdict(evidence: Evidence, kill: Kill, grade: Grade, /) -> Verdict:
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(evidence, kill),
        because=_because(evidence, kill),
    )


def _title(evidence: Evidence, kill: Kill) -> str:
    level = tight_level(evidence)
    who = words.process(evidence.subject)
    if level is None or not level.limit_bytes:
        return words.sentence(f"Linux killed {who}: its container's memory limit (cgroup) was used up")
    whose = "its container's" if level.level == 0 else f"{level.path}'s" if level.path else "its job's or pod's"
    held = held_bytes(evidence)
    own = f"; the run held {words.size(held)} when last measured" if held else ""
    return words.sentence(
        f"Linux killed {who}: {whose} memory limit (cgroup) of {words.size(level.limit_bytes)} was used up{own}"
    )


def _because(evidence: Evidence, kill: Kill) -> tuple[Fact, ...]:
    end, memory = evidence.subject, evidence.memory
    at_ns = memory.sampled_ns or end.at_ns
    found = [facts.of_oom_kill(kill.report)] if kill.report else []
    found += [facts.of_kills(kill.own, end.at_ns)] if kill.own and kill.own.kills else []
    found.append(facts.of_status(end) if end.status is not None else facts.of_absence(end))
    level = tight_level(evidence)
    found += [facts.of_level(level, at_ns)] if level else []
    return tuple([*found, *facts.of_own(evidence), *facts.of_holders(memory.holders, memory.holders_ns or at_ns)][:5])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Who fails may have looked at a child first, whose end nobody else saw."""
    is_open = verdict.is_vague and find_lost_child(evidence) is None
    return may_have_lost_a_child(evidence) if is_open else None
