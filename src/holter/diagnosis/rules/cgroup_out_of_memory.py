"""Linux killed the process because the memory limit (cgroup) of its container or job was used up.

Everything under the limit counts: data-loader workers, other programs in the same container, and files in /dev/shm.
The limit may be set further up: on the pod, the scheduler's job, or the user's slice.

Use fewer data-loader workers or a smaller batch, stream the data instead of keeping it in arrays, or ask for more
memory (`--mem`, `--memory`).
"""

from holter.diagnosis import facts, kills, memory_reading, scheduling, words
from holter.diagnosis.causality import children
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED, REMOTE
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Evidence, OomKill
from holter.model.verdicts import Answer, Grade, NotObservable, RuledOut, Verdict

EXCLUDES = ("killed",)
ADVICE = (
    memory.fewer_workers,
    memory.more_memory,
    *memory.LESS_MEMORY,
    memory.SMALLER_NUMBERS,
    outside.resume,
)
CURVES = ("cgroup-0", "cgroup-1", "rss")
MEMCG = "CONSTRAINT_MEMCG"


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel log or the cgroup's own counter has the kill."""
    kill = kills.kill_of(evidence)
    if scheduling.says_out_of_memory(evidence) and (kill is None or kill.counted != 0):
        return _by_scheduler(evidence)
    if kill is None:
        return None
    if kill.report is not None:
        return _verdict(evidence, kill, NAMED) if _is_of_a_cgroup(kill.report) else None
    if kills.is_others_kill(kill):
        names = words.listed([f"{each.name} ({each.pid})" for each in kill.others[:3]])
        return RuledOut(because=f"the Linux kernel log says that Linux killed {names} for memory")
    if kill.counted is None and kill.host_kills == 0:
        return RuledOut(because="Linux has killed no process on this machine for memory since the run began")
    if kill.counted is None:
        return NotObservable(
            because="the counter of out-of-memory kills under its container's memory limit (cgroup) could not be read",
            remedy="mount /sys/fs/cgroup into the container, and keep holter's sidecar running",
        )
    if kill.counted == 0:
        return RuledOut(because=_unmoved(kill))
    if kills.is_scarce(evidence) and not kills.has_reached_limit(evidence):
        return None
    return _verdict(evidence, kill, _grade(evidence, kill))


def _by_scheduler(evidence: Evidence) -> Verdict:
    """The scheduler's own word: under it the sidecar dies with the job, and the cgroup and its counters are gone."""
    end, job, level = evidence.subject, evidence.job, memory_reading.tight_level(evidence)
    name = f"{job.scheduler.upper()} job {job.job}" if job else "the job"
    most = words.sized(" of {}", level.limit_bytes if level else None)
    title = f"Linux killed {words.process(end)}: {name} had used up its memory limit{most}"
    return Verdict(NAMED, title, [*scheduling.of_job(evidence), facts.of_status(end), facts.of_own(evidence)])


def _is_of_a_cgroup(report: OomKill) -> bool:
    return report.constraint == MEMCG or (not report.constraint and bool(report.limited_cgroup))


def _grade(evidence: Evidence, kill: kills.Kill) -> Grade:
    if kills.has_greater_neighbour(evidence) or kill.deaths > (kill.counted or 0):
        return INFERRED
    if kills.is_plausible(evidence):
        # Whoever vanished when its cgroup counted a kill was the one.
        return COUNTED if evidence.subject.status is None else kill.ending.certainty
    return REMOTE if kills.is_too_small(evidence) else CONSISTENT


def _unmoved(kill: kills.Kill) -> str:
    where = words.told(" of {}", kill.own.path) if kill.own else ""
    if kill.own and kill.own.kills:
        return f"oom_kill{where} had already risen to {kill.own.kills} well before the death"
    return f"oom_kill{where} did not move"


def _verdict(evidence: Evidence, kill: kills.Kill, grade: Grade, /) -> Verdict:
    end, level = evidence.subject, memory_reading.tight_level(evidence)
    at_ns = evidence.memory.sampled_ns or end.at_ns
    counted = facts.of_kills(kill.own, end.at_ns) if kill.own and kill.own.kills else None
    found = [facts.of_oom_kill(kill.report), counted, facts.of_end(end), facts.of_level(level, at_ns)]
    title = f"Linux killed {words.process(end)}: its container's memory limit (cgroup) was used up"
    if level is not None and level.limit_bytes:
        whose = "its container's" if level.level == 0 else words.told("{}'s", level.path) or "its job's or pod's"
        own = words.sized("; the run held {} when last measured", memory_reading.held_bytes(evidence))
        limit = f"{whose} memory limit (cgroup) of {words.size(level.limit_bytes)}"
        title = f"Linux killed {words.process(end)}: {limit} was used up{own}"
    return Verdict(grade, title, [*found, facts.of_own(evidence), facts.of_holders(evidence)])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Who fails may have looked at a child first, whose end nobody else saw."""
    is_open = verdict.is_vague and children.find_lost_child(evidence) is None
    return children.may_have_lost_a_child(evidence) if is_open else None
