"""Asks the sources after the fact, when whoever watched is gone, or when better evidence may have come since."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from holter.journal.digest import Digest
from holter.model.evidence import ALL_ASKED, SOURCES, Counters, Finding, Job, Unseen
from holter.model.records import ChildExited, Facts, Launched, Looked, Opened, Record
from holter.model.witnesses import KERNEL_LOG, witnesses_without
from holter.probes.identity import boot_id, host_name, pid_namespace
from holter.probes.postmortem import host, job, kernel_log, oom_daemon, process_table, system_journal
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.counters import look_later

RECORDING = ("client", "worker", "launcher", "provisioner")
# After so long no scheduler says anything new about a job.
JOB_WITHIN_NS = 14 * 86_400_000_000_000
LAST_STATES = job.ENDED - {"CANCELLED", "COMPLETED", "FAILED"}


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What the journals say of the newest attempt on one host, as far as a source needs it."""

    opened: Opened
    pid: int
    """Of the program: that of the command under `holter run`."""
    began_ns: int
    ended_ns: int
    pids: frozenset[int]
    looked: tuple[Looked, ...] = ()
    schedulers: Mapping[str, Any] = {}

    @property
    def is_here(self) -> bool:
        """It ran on this machine, in this boot or in an earlier one."""
        return self.opened.host == host_name()

    @property
    def is_this_boot(self) -> bool:
        """Its counters and pids still mean something."""
        has_same_pids = self.opened.pid_namespace in ("", pid_namespace())
        return self.is_here and self.opened.boot_id == boot_id() and has_same_pids

    def said(self, source: str, pid: int | None = None) -> list[Finding]:
        """What the source has answered so far, about one process or at all; forms of a newer holter are left out."""
        found = []
        for record in self.looked:
            if record.source == source and not record.because and pid in (None, record.pid):
                try:
                    found.append(msgspec.convert(record.found, SOURCES[source]))
                except msgspec.ValidationError:
                    continue
        return found


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
    asked = [_ask_host(past), _ask_counters(past), _ask_kernel_log(past), _ask_oom_daemons(past), _ask_job(past)]
    return [record for record in asked if record is not None]


def recall(digests: Sequence[Digest], ended_ns: int) -> Past | None:
    """Return what is known of the run's newest attempt, None for one that nobody recorded into. Pure."""
    clients = [each for each in digests if each.opened.writer in RECORDING]
    if not clients:
        return None
    attempt = max(each.opened.attempt for each in clients)
    newest = [each for each in clients if each.opened.attempt == attempt]
    first = min(newest, key=lambda each: (each.opened.rank or 0, each.opened.at_ns))
    said = [record for each in digests if each.opened.attempt == attempt for record in each.said]
    pids = {each.opened.pid for each in newest}
    pids |= {record.pid for kind in (ChildExited, Launched) for record in _of(said, kind)}
    launched = [record.pid for record in _of(first.said, Launched)]
    facts: dict[str, Any] = {}
    for record in _of(said, Facts):
        facts |= record.facts
    return Past(
        opened=first.opened,
        pid=launched[-1] if launched else first.opened.pid,
        began_ns=min(each.opened.at_ns for each in newest),
        ended_ns=ended_ns,
        pids=frozenset(pids),
        looked=tuple(sorted(_of(said, Looked), key=lambda record: record.at_ns)),
        schedulers=facts.get("schedulers") or {},
    )


def _ask_host(past: Past) -> Looked | None:
    has_outlived_it = any(record.source == ALL_ASKED for record in past.looked)
    if not past.is_here or past.said("host") or has_outlived_it:
        return None
    return _answered("host", host.look(past.opened.boot_id, past.began_ns))


def _ask_counters(past: Past) -> Looked | None:
    """The counters moved on after the end; but those that stand still prove that nobody was killed."""
    known = [each for each in past.said("counters", past.pid) if isinstance(each, Counters)]
    firsts = [each for each in known if each.is_first]
    if not past.is_this_boot or len(firsts) < len(known) or not firsts:
        return None
    return _answered("counters", look_later(firsts[-1]), pid=past.pid)


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


def _of(said: Iterable[Record], kind: type[Any]) -> list[Any]:
    return [record for record in said if isinstance(record, kind)]


def _answered(source: str, found: Finding, *, pid: int = 0) -> Looked:
    return answer(source, found, at_ns=time.time_ns(), pid=pid)
