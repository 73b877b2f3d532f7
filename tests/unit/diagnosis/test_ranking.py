"""Look-alikes and who they are: one row for each pair that is easily taken for each other."""

from typing import Any

import msgspec
import pytest

from holter.diagnosis import facts, ranking
from holter.diagnosis.loading import Rule
from holter.model.evidence import (
    Disk,
    End,
    Evidence,
    HostEnd,
    Job,
    KernelEvent,
    KernelLine,
    KernelLog,
    Memory,
    MemoryLevel,
    OomDaemon,
    OomKill,
    Surroundings,
)
from holter.model.records import Finished
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, RuledOut, Verdict
from tests.causes.specimens import (
    END_NS,
    PID,
    before,
    caught,
    evidence,
    exited,
    failed,
    gone,
    raised,
    said,
    signalled,
)

GIB = 2**30


def memory(kills: int | None = 0, *, own: float = 7.8 * GIB, used: float = 7.85 * GIB, **more: Any) -> Memory:
    """A run in a cgroup of 8 GiB on a machine with room."""
    level = MemoryLevel(level=0, path="/job", limit_bytes=8.0 * GIB, usage_bytes=used, kills=kills)
    usual: dict[str, Any] = {
        "levels": (level,),
        "own_bytes": own,
        "total_bytes": 64.0 * GIB,
        "available_bytes": 40.0 * GIB,
    }
    return Memory(**usual | more)


def oom_kill(pid: int = PID, *, before_s: float = 0.0, constraint: str = "CONSTRAINT_MEMCG") -> KernelLog:
    return KernelLog(kills=(OomKill(at_ns=before(before_s), pid=pid, name="python", constraint=constraint),))


def child(status: int | None, *, pid: int = 900, before_s: float = 1.0, **more: Any) -> End:
    return End(pid=pid, role="child", name="Process-1", at_ns=before(before_s), status=status, source="wait", **more)


def rank(number: int, end: End) -> End:
    return msgspec.structs.replace(end, rank=number, role="rank", pid=PID + number)


def many(*ranks: End, **more: Any) -> Evidence:
    """Ranks of one run; the one with number 0 is its main process."""
    subject = next(end for end in ranks if end.rank == 0)
    return evidence(subject, ranks=tuple(sorted(ranks, key=lambda end: end.at_ns)), **more)


DONE = Finished(at_ns=before(1), exit_code=0)
SHELL = caught(15, sender_pid=77, sender="bash: -bash")
LOADER = failed("RuntimeError", "DataLoader worker (pid(s) 900) exited unexpectedly")
POOL = failed("concurrent.futures.process.BrokenProcessPool", "A process in the process pool was terminated abruptly")
FULL_MAP = Surroundings(
    disks=(Disk(path="/data/a.npy", what="mapped file", free_bytes=0, total_bytes=2**22, file_bytes=2**24),)
)
IN_FULL = caught(
    7, code=2, address=0x400000, stack_pointer=0x7FFD, mapping="100000-2000000 rw-s 00000000 00:28 2 /data/a.npy"
)
FULL = Surroundings(disks=(Disk(path="/scratch", what="working directory", free_bytes=0, total_bytes=10**12),))
NO_SHM = Surroundings(disks=(Disk(path="/dev/shm", what="shared memory", free_bytes=0, total_bytes=2**26),))
TORCH_SAVE = "[enforce fail at inline_container.cc:672] . unexpected pos 640 vs 534"
IN_SHM = caught(7, code=2, address=0x7F00, stack_pointer=0x7FFD, mapping="7f00-7fff rw-s 0 0:1a 5 /dev/shm/torch_1")
IN_FILE = caught(7, code=2, address=0x7F00, stack_pointer=0x7FFD, mapping="7f00-7fff r--s 0 8:1 5 /data/train.bin")
BAD_RAM = caught(7, code=4, address=0x7F00, stack_pointer=0x7FFD)
NULL = caught(11, code=1, address=0x10, stack_pointer=0x7FFD_0000_0000)
AGAIN = caught(11, code=-6, sender_pid=PID, before_s=0.05)
OVER = caught(11, code=1, address=0x7FFD_0000_0000, stack_pointer=0x7FFD_0000_0100)
SEGFAULT = KernelLine(at_ns=END_NS, kind="fault", pid=PID, text="python[812]: segfault at 8 ip 0 sp 7ffd00 error 4")

LOOK_ALIKES: dict[str, tuple[Evidence, str, Grade, Grade]] = {
    # SIGKILL
    "the own counter moved": (
        evidence(signalled(9), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.NAMED,
        Grade.NAMED,
    ),
    "the kernel names it": (
        evidence(signalled(9), memory=memory(1), kernel_log=oom_kill()),
        "cgroup-out-of-memory",
        Grade.NAMED,
        Grade.NAMED,
    ),
    "a limit above": (
        evidence(
            signalled(9),
            memory=Memory(
                own_bytes=3.9 * GIB,
                levels=(
                    MemoryLevel(level=0, kills=1),
                    MemoryLevel(level=1, limit_bytes=4.0 * GIB, peak_bytes=4.0 * GIB, kills=0, limit_hits=98),
                ),
            ),
        ),
        "cgroup-out-of-memory",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "kill -9 at 98 % of the limit": (evidence(signalled(9), memory=memory(0)), "killed", Grade.COUNTED, Grade.NAMED),
    "kill -9 and a foreign OOM in the same second": (
        evidence(signalled(9), memory=memory(0, host_kills=1), kernel_log=oom_kill(pid=4242)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a neighbour in the cgroup was the victim, says the log": (
        evidence(signalled(9), memory=memory(1, own=GIB), kernel_log=oom_kill(pid=4242, before_s=2)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a neighbour in the cgroup may have been the victim": (
        evidence(signalled(9), memory=memory(1, own=GIB)),
        "cgroup-out-of-memory",
        Grade.INFERRED,
        Grade.INFERRED,
    ),
    "the counter moved long ago": (
        evidence(
            signalled(9),
            memory=Memory(levels=(MemoryLevel(level=0, limit_bytes=8e9, kills=2, kills_lately=0),), own_bytes=7e9),
        ),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a sudden burst": (
        evidence(signalled(9), memory=memory(1, own=GIB, used=1.1 * GIB)),
        "cgroup-out-of-memory",
        Grade.LIKELY,
        Grade.CONSISTENT,
    ),
    "the machine is out of memory": (
        evidence(
            signalled(9),
            memory=Memory(levels=(MemoryLevel(level=0, kills=1),), host_kills=1, available_bytes=1e8, total_bytes=6e10),
        ),
        "host-out-of-memory",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "the machine is out of memory, says the log": (
        evidence(signalled(9), kernel_log=oom_kill(constraint="CONSTRAINT_NONE")),
        "host-out-of-memory",
        Grade.NAMED,
        Grade.NAMED,
    ),
    "the machine was out of memory, but the own counter did not move": (
        evidence(
            signalled(9),
            memory=Memory(levels=(MemoryLevel(level=0, kills=0),), host_kills=1, available_bytes=1e8, total_bytes=6e10),
        ),
        "unknown",
        Grade.REMOTE,
        Grade.REMOTE,
    ),
    "no kill on the whole machine": (
        evidence(signalled(9), memory=Memory(host_kills=0)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "no counter to be read": (evidence(signalled(9)), "killed", Grade.INFERRED, Grade.INFERRED),
    "SIGKILL by elimination": (
        evidence(gone(has_signal_witness=True), memory=memory(0)),
        "killed",
        Grade.CONSISTENT,
        Grade.CONSISTENT,
    ),
    "out of memory by elimination": (
        evidence(gone(has_signal_witness=True), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.COUNTED,
        Grade.COUNTED,
    ),
    "an interpreter that gave up": (
        evidence(
            gone(has_signal_witness=True), memory=memory(0), said=(said("Fatal Python error: deallocating None"),)
        ),
        "aborted",
        Grade.LIKELY,
        Grade.CONSISTENT,
    ),
    "SIGQUIT that nobody saw arrive": (evidence(signalled(3)), "killed", Grade.INFERRED, Grade.LIKELY),
    "gone without any witness": (evidence(gone()), "unknown", Grade.REMOTE, Grade.REMOTE),
    "gone without a witness, but the counter moved": (
        evidence(gone(), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.CONSISTENT,
        Grade.COUNTED,
    ),
    "gone without a witness, but Python wrote its stacks": (
        evidence(gone(fault_log="Fatal Python error: Bus error\n\nCurrent thread 0x1 (most recent call first):\n")),
        "bus-error",
        Grade.INFERRED,
        Grade.INFERRED,
    ),
    "a daemon for memory": (
        evidence(
            signalled(9),
            memory=Memory(host_kills=0, available_bytes=2e9, total_bytes=64e9, full_pressure_percent=62.0),
            oom_daemon=OomDaemon(running=("systemd-oomd",)),
        ),
        "userspace-oom-killer",
        Grade.INFERRED,
        Grade.CONSISTENT,
    ),
    "a scheduler's word beats the signal": (
        evidence(
            signalled(9, signals=(caught(15, before_s=30),)),
            memory=memory(0),
            job=Job(scheduler="slurm", job="7", state="TIMEOUT", reason="TimeLimit", source="scontrol"),
        ),
        "scheduler-time-limit",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "the machine was started again": (
        evidence(
            gone(has_signal_witness=True),
            memory=msgspec.structs.replace(memory(0), sampled_ns=before(1)),
            host=HostEnd(boot_id="a", boot_id_now="b", booted_ns=END_NS),
        ),
        "host-lost",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    # fatal signals
    "a null pointer": (evidence(signalled(11, signals=(NULL,))), "segmentation-fault", Grade.COUNTED, Grade.NAMED),
    "a null pointer, raised again by a handler": (
        evidence(signalled(11, signals=(NULL, AGAIN))),
        "segmentation-fault",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a null pointer, by the kernel log": (
        evidence(signalled(11), kernel_log=KernelLog(lines=(SEGFAULT,))),
        "segmentation-fault",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a fault that nobody saw arrive": (evidence(signalled(11)), "segmentation-fault", Grade.INFERRED, Grade.INFERRED),
    "kill -11": (evidence(signalled(11, signals=(caught(11, sender_pid=77),))), "killed", Grade.COUNTED, Grade.NAMED),
    "kill -6": (evidence(signalled(6, signals=(caught(6, sender_pid=77),))), "killed", Grade.COUNTED, Grade.NAMED),
    "abort()": (
        evidence(signalled(6, signals=(caught(6, code=-6, sender_pid=PID),))),
        "aborted",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a stack that ran over": (evidence(signalled(11, signals=(OVER,))), "stack-overflow", Grade.COUNTED, Grade.NAMED),
    "RecursionError": (
        evidence(failed("RecursionError", "maximum recursion depth exceeded"), state="failed"),
        "uncaught-exception",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "SIGBUS in full shared memory": (
        evidence(signalled(7, signals=(IN_SHM,)), surroundings=NO_SHM),
        "shared-memory-full",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "SIGBUS in a file that was cut": (
        evidence(signalled(7, signals=(IN_FILE,)), kernel_log=KernelLog()),
        "bus-error",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "SIGBUS in a file that nobody can measure, nor read the kernel's log": (
        evidence(signalled(7, signals=(IN_FILE,))),
        "bus-error",
        Grade.CONSISTENT,
        Grade.CONSISTENT,
    ),
    "SIGBUS in a file on a full disk": (
        evidence(signalled(7, signals=(IN_FULL,)), surroundings=FULL_MAP),
        "disk-full",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "SIGBUS by failing memory": (
        evidence(signalled(7, signals=(BAD_RAM,))),
        "memory-fault",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "a Java machine's own SIGSEGV": (
        evidence(failed("ValueError", "bad label", signals=(NULL,)), state="failed"),
        "uncaught-exception",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "the limit of CPU time": (
        evidence(signalled(24, signals=(caught(24, code=128),))),
        "cpu-time-limit",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "kill -XCPU": (evidence(signalled(24, signals=(caught(24, sender_pid=77),))), "killed", Grade.COUNTED, Grade.NAMED),
    # asked to leave
    "SIGTERM": (evidence(signalled(15, signals=(SHELL,))), "terminated", Grade.COUNTED, Grade.NAMED),
    "SIGTERM, handled, exit 0": (
        evidence(exited(0, signals=(SHELL,), handled=(15,))),
        "terminated",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "SIGTERM, handled by raising": (
        evidence(failed("RuntimeError", "stop", signals=(SHELL,), handled=(15,))),
        "terminated",
        Grade.CONSISTENT,
        Grade.COUNTED,
    ),
    "SIGTERM an hour ago, then an exception": (
        evidence(failed("ValueError", "bad", signals=(caught(15, before_s=3600),), handled=(15,))),
        "uncaught-exception",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "SIGTERM, then SIGKILL": (
        evidence(signalled(9, signals=(caught(15, before_s=5, sender_pid=77),)), memory=memory(0)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "SIGTERM by earlyoom": (
        evidence(signalled(15, signals=(caught(15, sender_pid=31, sender="earlyoom: earlyoom -r 60"),))),
        "userspace-oom-killer",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "Ctrl-C": (
        evidence(failed("KeyboardInterrupt", "", signals=(caught(2, code=128),), handled=(2,), status=2)),
        "interrupted",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "Ctrl-C, after which Python ends itself": (
        evidence(
            failed(
                "KeyboardInterrupt",
                "",
                signals=(caught(2, code=128), caught(2, sender_pid=PID, before_s=0.01)),
                status=2,
            )
        ),
        "interrupted",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a closed terminal": (evidence(signalled(1, signals=(caught(1, code=128),))), "hangup", Grade.COUNTED, Grade.NAMED),
    # exceptions
    "a full disk": (
        evidence(failed("OSError", "[Errno 28] No space left on device")),
        "disk-full",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a full disk that torch hides": (
        evidence(failed("RuntimeError", TORCH_SAVE), surroundings=FULL),
        "disk-full",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "too large a file": (
        evidence(failed("OSError", "[Errno 27] File too large"), surroundings=FULL),
        "uncaught-exception",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "no room in shared memory": (
        evidence(
            failed("RuntimeError", "unable to allocate shared memory(shm) for file </torch_1>"), surroundings=NO_SHM
        ),
        "shared-memory-full",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "MemoryError at a limit": (
        evidence(
            failed("MemoryError", ""),
            surroundings=Surroundings(address_space_bytes=990, address_space_limit_bytes=1000),
        ),
        "allocation-refused",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "MemoryError by hand": (
        evidence(failed("MemoryError", "mine", statement="raise MemoryError('mine')")),
        "uncaught-exception",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "no memory on the GPU": (
        evidence(failed("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 64.00 GiB.")),
        "gpu-out-of-memory",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "no memory on the GPU, by hand": (
        evidence(failed("RuntimeError", "CUDA out of memory", statement='raise RuntimeError("CUDA out of memory")')),
        "uncaught-exception",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "no memory on the GPU, by its words": (
        evidence(failed("RuntimeError", "CUDA error: out of memory")),
        "gpu-out-of-memory",
        Grade.LIKELY,
        Grade.CONSISTENT,
    ),
    "too many open files": (
        evidence(failed("OSError", "[Errno 24] Too many open files: 'x'")),
        "too-many-open-files",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "too many threads": (
        evidence(
            failed("RuntimeError", "can't start new thread"), surroundings=Surroundings(threads=100, threads_limit=100)
        ),
        "too-many-processes",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "decoy text an hour ago": (
        evidence(
            exited(3, finished=Finished(at_ns=before(0.1), how="atexit"), has_signal_witness=True),
            said=(said("CUDA out of memory", before_s=3600),),
        ),
        "nonzero-exit",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    # children
    "a worker out of memory": (
        evidence(LOADER, children=(child(9),), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a worker killed by hand": (
        evidence(LOADER, children=(child(9),), memory=memory(0)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a worker with a null pointer": (
        evidence(LOADER, children=(child(11, signals=(msgspec.structs.replace(NULL, pid=900),)),)),
        "segmentation-fault",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a worker that left": (evidence(LOADER, children=(child(4 << 8),)), "worker-died", Grade.CONSISTENT, Grade.NAMED),
    "a worker that nobody saw": (evidence(LOADER), "worker-died", Grade.INFERRED, Grade.CONSISTENT),
    "a pool whose worker was killed, and that ended the others": (
        evidence(POOL, children=(child(9, pid=901, before_s=2), child(15, pid=902)), memory=memory(0)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a shell whose command died": (
        evidence(exited(137, role="command"), children=(child(9, before_s=0.1),), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a program that looked at its child's exit code": (
        evidence(
            failed("RuntimeError", "worker failed with exitcode -11"),
            children=(child(11, signals=(msgspec.structs.replace(NULL, pid=900),)),),
        ),
        "segmentation-fault",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a queue that broke": (
        evidence(failed("EOFError", "", statement="queue.get()"), children=(child(9),), memory=memory(0)),
        "killed",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    "a child's own exception": (
        evidence(
            failed("RuntimeError", "worker exited with exit code 1"),
            children=(child(1 << 8, raised=raised("ValueError", "bad label", where="child")),),
        ),
        "uncaught-exception",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "an exception of its own, long after a worker died": (
        evidence(failed("ValueError", "bad label"), children=(child(9, before_s=3000),), memory=memory(0)),
        "uncaught-exception",
        Grade.COUNTED,
        Grade.NAMED,
    ),
    # ranks
    "a rank out of memory, the other ended by the agent": (
        many(rank(1, signalled(9, at_ns=before(3))), rank(0, signalled(15)), memory=memory(1)),
        "cgroup-out-of-memory",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
    "a rank with an exception, the other lost its peer": (
        many(
            rank(1, failed("ValueError", "bad label", at_ns=before(3))),
            rank(0, failed("RuntimeError", "Connection closed by peer [10.0.0.2]:4711")),
        ),
        "uncaught-exception",
        Grade.CONSISTENT,
        Grade.NAMED,
    ),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_are_told_apart(name: str) -> None:
    seen, cause, least, most = LOOK_ALIKES[name]
    diagnosis = ranking.diagnose(seen)
    assert (diagnosis.cause, least <= Grade[diagnosis.grade.upper()] <= most) == (cause, True), diagnosis


WELL = {
    "it finished": evidence(exited(0, finished=DONE), state="finished"),
    "an exception in a thread": evidence(
        exited(0, others_raised=(raised("ValueError", "x", where="thread"),)), state="finished"
    ),
    "a signal that it survived": evidence(
        exited(0, signals=(caught(10, before_s=100),), handled=(10,)), state="finished"
    ),
    "text about a death": evidence(
        exited(0), state="finished", said=(said("Segmentation fault"), said("CUDA out of memory"), said("Killed"))
    ),
    "a worker that was replaced": evidence(exited(0), state="finished", children=(child(9, before_s=50),)),
    "killed after finish()": evidence(signalled(9, finished=DONE), state="finished", memory=memory(1)),
    "a kernel shut down while no cell ran": evidence(
        signalled(15), kernel_events=(KernelEvent(at_ns=before(1), kind="shutdown"),), is_notebook=True
    ),
}


@pytest.mark.parametrize("name", WELL)
def test_a_normal_end_has_no_cause(name: str) -> None:
    diagnosis = ranking.diagnose(WELL[name])
    assert (diagnosis.cause, diagnosis.confidence, diagnosis.state) == (None, 1.0, "finished")
    assert diagnosis.advice == ()


def test_a_living_run_that_is_well_has_no_cause() -> None:
    diagnosis = ranking.diagnose(evidence(End(pid=PID, is_alive=True, at_ns=END_NS), state="running"))
    assert (diagnosis.cause, diagnosis.confidence, diagnosis.state) == (None, 1.0, "running")


def test_what_is_unknown_comes_with_candidates_and_with_what_would_have_told() -> None:
    diagnosis = ranking.diagnose(evidence(gone()))
    assert {"killed", "terminated"} <= set(diagnosis.candidates)
    assert {"killed", "terminated"} <= {each.cause for each in diagnosis.not_observable}
    assert diagnosis.evidence
    assert any("holter run" in text for text in diagnosis.advice)


def test_what_else_it_may_have_been_is_a_candidate() -> None:
    seen, *_ = LOOK_ALIKES["a neighbour in the cgroup may have been the victim"]
    assert ranking.diagnose(seen).candidates == ("killed",)


def test_a_worker_whose_cause_is_almost_known_is_no_sure_answer() -> None:
    rules = [
        rule("worker-died", verdict("worker-died", Grade.COUNTED), generality=2),
        rule("killed", verdict("killed", Grade.REMOTE), generality=1),
        rule("gpu-fault", verdict("gpu-fault", Grade.REMOTE)),
    ]
    diagnosis = ranking.diagnose(evidence(LOADER, children=(child(9),)), rules)
    assert (diagnosis.cause, diagnosis.candidates) == ("worker-died", ("killed", "gpu-fault"))
    assert diagnosis.grade == "inferred"


def test_what_was_ruled_out_says_by_which_number() -> None:
    diagnosis = ranking.diagnose(evidence(signalled(9), memory=memory(0, host_kills=0)))
    assert RuledOut(cause="cgroup-out-of-memory", because="oom_kill of /job did not move") in diagnosis.ruled_out
    assert "killed" not in {each.cause for each in diagnosis.ruled_out}


def test_a_contributing_cause_is_added_to_the_cause() -> None:
    grown = memory(1, growth_bytes_per_s=2e6, growth_s=3000.0, own_peak_bytes=7.8 * GIB)
    diagnosis = ranking.diagnose(evidence(signalled(9, last_step=4100), memory=grown))
    assert diagnosis.cause == "cgroup-out-of-memory"
    assert "memory-leak" in diagnosis.contributing


def test_the_curves_of_the_cause_come_before_those_of_what_contributed() -> None:
    grown = memory(1, growth_bytes_per_s=2e6, growth_s=3000.0, own_peak_bytes=7.8 * GIB)
    diagnosis = ranking.diagnose(evidence(signalled(9, last_step=4100), memory=grown))
    assert diagnosis.curves == ("cgroup-0", "cgroup-1", "rss", "host-memory")


def test_the_title_names_the_worker_that_died_first() -> None:
    seen, *_ = LOOK_ALIKES["a worker out of memory"]
    assert "900" in ranking.diagnose(seen).title


def rule(cause: str, answer: Answer | Exception, **more: Any) -> Rule:
    def diagnose(_: Evidence) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Rule(cause=cause, diagnose=diagnose, explanation="", remedy="", module="theirs.rules", **more)


def verdict(cause: str, grade: Grade, *, source: str = facts.EXIT_STATUS, **more: Any) -> Verdict:
    return Verdict(cause=cause, grade=grade, title="It died", because=(Fact(source, 1.0, "x"),), **more)


def test_a_broken_rule_does_not_silence_the_others() -> None:
    rules = [rule("mine", ValueError("oh")), rule("killed", verdict("killed", Grade.CONSISTENT))]
    diagnosis = ranking.diagnose(evidence(signalled(9)), rules)
    assert diagnosis.cause == "killed"
    [unseen] = diagnosis.not_observable
    assert unseen == NotObservable(
        cause="mine", because="its rule failed: ValueError: oh", remedy="report it to the author of theirs.rules"
    )


def test_a_verdict_by_text_alone_is_never_sure() -> None:
    rules = [rule("disk-full", verdict("disk-full", Grade.NAMED, source=facts.CONSOLE))]
    assert ranking.diagnose(evidence(exited(1)), rules).confidence < 0.9


def test_a_consequence_never_wins_over_a_cause() -> None:
    rules = [
        rule("terminated", verdict("terminated", Grade.NAMED, is_consequence=True)),
        rule("stalled", verdict("stalled", Grade.INFERRED)),
    ]
    assert ranking.diagnose(evidence(signalled(15)), rules).cause == "stalled"


def test_a_weak_explanation_does_not_replace_what_is_certain() -> None:
    rules = [
        rule("uncaught-exception", verdict("uncaught-exception", Grade.NAMED)),
        rule("disk-full", verdict("disk-full", Grade.REMOTE)),
    ]
    assert ranking.diagnose(evidence(exited(1)), rules).cause == "uncaught-exception"


def test_two_causes_near_to_each_other_are_left_open() -> None:
    rules = [
        rule("gpu-fault", verdict("gpu-fault", Grade.LIKELY)),
        rule("disk-full", verdict("disk-full", Grade.INFERRED)),
    ]
    diagnosis = ranking.diagnose(evidence(exited(1)), rules)
    assert (diagnosis.cause, diagnosis.candidates) == ("unknown", ("gpu-fault", "disk-full"))


def test_a_verdict_may_demand_a_state() -> None:
    rules = [rule("scheduler-preempted", verdict("scheduler-preempted", Grade.CONSISTENT, state="preempted"))]
    assert ranking.diagnose(evidence(signalled(15)), rules).state == "preempted"


def test_only_rules_of_the_living_are_asked_about_the_living() -> None:
    rules = [
        rule("stalled", verdict("stalled", Grade.CONSISTENT), is_of_the_living=True),
        rule("killed", verdict("killed", Grade.COUNTED)),
    ]
    alive = evidence(End(pid=PID, is_alive=True, at_ns=END_NS), state="running")
    assert ranking.diagnose(alive, rules).cause == "stalled"
