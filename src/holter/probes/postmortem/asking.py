"""Asks the sources after the fact, when whoever watched is gone, or when better evidence may have come since."""

import time
from collections.abc import Sequence

import msgspec

from holter.journal.digest import Digest
from holter.model.evidence import ALL_ASKED, Counters, Finding, Job, Unseen
from holter.model.records import Looked
from holter.model.witnesses import KERNEL_LOG, witnesses_without
from holter.probes.postmortem import host, job, kernel_log, oom_daemon, process_table, system_journal
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.past import Past, ask_counters, recall

# After so long no scheduler says anything new about a job.
JOB_WITHIN_NS = 14 * 86_400_000_000_000
LAST_STATES = job.ENDED - {"CANCELLED", "COMPLETED", "FAILED"}


def look_again(digests: Sequence[Digest], ended_ns: int) -> list[Looked]:
    """Return what can still be learnt about the end of a run that is over, to be kept or only to be used.

    Asks nobody who has given a final answer before. Blocks: milliseconds, and some seconds where a scheduler or the
    system's journal must be asked. Never raises.

    Args:
        digests: of all the run's journals.
        ended_ns: when the run ended, or was last seen.
    """
    past = recall(digests, ended_ns)
    if past is None:
        return []
    asked = [_ask_host(past), ask_counters(past), _ask_kernel_log(past), _ask_oom_daemons(past), _ask_job(past)]
    return [record for record in asked if record is not None]


def _ask_host(past: Past) -> Looked | None:
    has_outlived_it = any(record.source == ALL_ASKED for record in past.looked)
    if not past.is_here or past.said("host") or has_outlived_it:
        return None
    return _answered("host", host.look(past.opened.boot_id, past.began_ns))


def _ask_kernel_log(past: Past) -> Looked | None:
    if not past.is_here or past.said("kernel-log"):
        return None
    if KERNEL_LOG in witnesses_without():
        return _answered("kernel-log", kernel_log.switched_off())
    found: Finding = Unseen(because="the machine has rebooted since, and the Linux kernel log began anew")
    if past.is_this_boot:
        found = kernel_log.look(past.began_ns, past.pids, near_ns=[past.ended_ns])
    if isinstance(found, Unseen):
        found = system_journal.look_at_kernel(past.began_ns, past.pids, until_ns=past.ended_ns)
    return _answered("kernel-log", found)


def _ask_oom_daemons(past: Past) -> Looked | None:
    if not past.is_this_boot or past.said("oom-daemon"):
        return None
    running = oom_daemon.find_running(process_table.read_table())
    levels = [level for each in past.said("counters") if isinstance(each, Counters) for level in each.levels]
    cgroups = {level.path for level in levels if level.level == 0}
    return _answered("oom-daemon", oom_daemon.look(running, past.began_ns, pids=past.pids, cgroups=cgroups))


def _ask_job(past: Past) -> Looked | None:
    """SLURM writes its last word after the death, and its accounting later still."""
    known = known_job(past)
    is_settled = known is not None and (bool(known.said) or known.state in LAST_STATES)
    if known is None or known.scheduler != "slurm" or is_settled:
        return None
    if time.time_ns() - past.ended_ns > JOB_WITHIN_NS:
        return None
    found = job.look(known, past.began_ns)
    return None if isinstance(found, Unseen) and known.state else _answered("job", found)


def known_job(past: Past) -> Job | None:
    """The job that the run was in, with what was learnt of it so far. Pure."""
    slurm = past.schedulers.get("slurm") or {}
    known = Job(scheduler="slurm", job=str(slurm["job_id"]), source="environment") if slurm.get("job_id") else None
    for each in past.said("job"):
        if isinstance(each, Job):
            said = {name: value for name, value in msgspec.structs.asdict(each).items() if value not in (None, "")}
            known = msgspec.structs.replace(known or each, **said)
    return known


def _answered(source: str, found: Finding, *, pid: int = 0) -> Looked:
    return answer(source, found, at_ns=time.time_ns(), pid=pid)
