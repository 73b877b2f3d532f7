"""Ends that look like each other, through all rules together."""

import pytest

from holter.diagnosis.ranking import diagnose
from holter.model.evidence import (
    End,
    Evidence,
    GpuEvents,
    HostEnd,
    Job,
    KernelEvent,
    KernelLine,
    Memory,
    MemoryLevel,
    NonFinite,
    Stall,
)
from holter.model.records import Finished
from tests.causes.specimens import before, caught, evidence, exited, failed, gone, raised, said, signalled

AT_EXIT = Finished(at_ns=before(0.1), how="atexit")
QUIET = Memory(levels=(MemoryLevel(level=0, kills=0),), host_kills=0)
NAN = NonFinite(key="loss", value="NaN", step=12, at_ns=before(4), last_finite=3.0, last_finite_step=11)
SLURM = (caught(18, before_s=2, sender="slurmstepd: [7.batch]"), caught(15, before_s=2, sender="slurmstepd: [7.batch]"))
XID_79 = KernelLine(at_ns=before(1), kind="xid", number=79, text="GPU has fallen off the bus.")


def worker(status: int, *, before_s: float = 1.0) -> End:
    return End(pid=900, role="child", name="loader", source="multiprocessing", status=status, at_ns=before(before_s))


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        # The loss went bad, and the program said so; or failed for a reason of its own.
        (evidence(failed("AssertionError", "", statement="assert math.isfinite(loss)"), non_finite=(NAN,)), "diverged"),
        (evidence(failed("KeyError", "'lr'"), non_finite=(NAN,)), "uncaught-exception"),
        # The program's own words prove nothing about a GPU or a library.
        (
            evidence(failed("RuntimeError", "device-side assert triggered", statement="raise RuntimeError(text)")),
            "uncaught-exception",
        ),
        (
            evidence(failed("ImportError", "undefined symbol: x", statement="raise ImportError(x)")),
            "uncaught-exception",
        ),
        # A traceback was printed and caught; the program left with a code.
        (evidence(exited(3, finished=AT_EXIT), said=(said("ValueError: caught"),)), "nonzero-exit"),
        # The worker's own cause, not the pool's complaint; where nobody knows it, that a worker died.
        (
            evidence(failed("BrokenProcessPool", "terminated abruptly"), children=(worker(9),), memory=QUIET),
            "killed",
        ),
        (evidence(failed("BrokenProcessPool", "terminated abruptly"), children=(worker(3 << 8),)), "worker-died"),
        (evidence(failed("RuntimeError", "DataLoader worker (pid(s) 900) exited unexpectedly")), "worker-died"),
        # Hardware against program.
        (
            evidence(failed("RuntimeError", "CUDA error: unknown error"), gpu=GpuEvents(xids=(XID_79,), lost=(0,))),
            "gpu-fault",
        ),
        (evidence(failed("torch.AcceleratorError", "CUDA error: device-side assert triggered")), "gpu-program-fault"),
        # Schedulers against people.
        (
            evidence(signalled(15, signals=SLURM), job=Job(scheduler="slurm", job="7", state="CANCELLED")),
            "scheduler-cancelled",
        ),
        (
            evidence(signalled(9, signals=SLURM), job=Job(scheduler="slurm", job="7", state="TIMEOUT"), memory=QUIET),
            "scheduler-time-limit",
        ),
        (evidence(signalled(15, signals=(caught(15, sender="bash", sender_pid=44),))), "terminated"),
        # A machine that went down against one that is still there.
        (
            evidence(gone(), host=HostEnd(boot_id="a", boot_id_now="b", booted_ns=before(-60), last_shutdown="crash")),
            "host-lost",
        ),
        (evidence(failed("OSError", "[Errno 116] Stale file handle: '/nfs/x'")), "storage-fault"),
        (evidence(failed("RuntimeError", "DataLoader timed out after 5 seconds")), "stalled"),
    ],
)
def test_the_cause(seen: Evidence, cause: str) -> None:
    assert diagnose(seen).cause == cause


def test_a_preempted_run_is_preempted_and_not_crashed() -> None:
    job = Job(
        scheduler="slurm", job="7", said="*** JOB 7 ON vm CANCELLED AT now DUE TO PREEMPTION ***", source="output"
    )

    found = diagnose(evidence(signalled(9, signals=SLURM), job=job, memory=QUIET))

    assert (found.state, found.cause) == ("preempted", "scheduler-preempted")
    assert found.confidence >= 0.9


def test_a_kernel_that_was_restarted_in_a_cell_failed() -> None:
    asked = KernelEvent(at_ns=before(2), kind="restart", is_busy=True)
    interrupted = exited(0, raised=raised("KeyboardInterrupt", ""), signals=(caught(2, before_s=2),))

    found = diagnose(evidence(interrupted, state="failed", is_notebook=True, kernel_events=(asked,)))

    assert (found.state, found.cause) == ("failed", "kernel-restarted")


def test_a_living_run_that_stands_still_is_stalled_and_runs() -> None:
    alive = End(pid=812, is_alive=True, last_step=4)

    found = diagnose(evidence(alive, state="running", stalls=(Stall(silent_s=900, usual_s=1, kernel_state="S"),)))

    assert (found.state, found.cause) == ("running", "stalled")


@pytest.mark.parametrize(
    "seen",
    [
        evidence(exited(0, finished=AT_EXIT), state="finished"),
        evidence(exited(0), state="finished", children=(worker(9),)),
        evidence(exited(0), state="finished", non_finite=(NAN,)),
        evidence(exited(0), state="finished", said=(said("torch.OutOfMemoryError: CUDA out of memory"),)),
        evidence(exited(0, others_raised=(raised("ValueError", "x", where="thread"),)), state="finished"),
        evidence(exited(0), state="finished", job=Job(scheduler="slurm", job="7", state="COMPLETED")),
        evidence(End(pid=1, is_alive=True), state="running", non_finite=(NAN,)),
        evidence(End(pid=1, is_alive=True), state="running", stalls=(Stall(silent_s=40, usual_s=30),)),
        evidence(exited(0), state="finished", kernel_events=(KernelEvent(at_ns=before(1), kind="restart"),)),
    ],
)
def test_normal_ends_have_no_cause(seen: Evidence) -> None:
    assert diagnose(seen).cause is None


def test_evidence_by_text_alone_is_never_sure() -> None:
    printed = (
        "Traceback (most recent call last):",
        '  File "/home/ada/train.py", line 3, in <module>',
        "    step()",
        "ImportError: /venv/x.so: undefined symbol: _Zfoo",
        "cleaning up",
    )
    command = exited(1, role="command", began_ns=before(3))

    found = diagnose(evidence(command, state="failed", said=tuple(said(line) for line in printed)))

    assert found.cause == "environment-mismatch"
    assert found.confidence < 0.9
