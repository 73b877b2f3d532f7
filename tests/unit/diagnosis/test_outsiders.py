"""Ends that outsiders thought of, and that were once told wrongly: through all rules together."""

import signal

import msgspec
import pytest

from holter.diagnosis.grades import SURE
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import Disk, End, Evidence, KernelLine, KernelLog, Memory, MemoryLevel, OomKill, Surroundings
from tests.causes.specimens import PID, before, caught, evidence, exited, failed, said, signalled

GIB = 2**30
QUIET = Memory(levels=(MemoryLevel(level=0, path="/job", kills=0, kills_lately=0),), host_kills=0)
KILLED_BEFORE = MemoryLevel(level=0, path="/job", limit_bytes=GIB, peak_bytes=GIB, kills=1, kills_lately=0)
SHORTER = caught(
    7, code=2, address=0x7F00_000C_3500, stack_pointer=0x7FFD, mapping="7f0000000000-7f0000100000 rw-s 0 0 9 /dev/shm/a"
)
OVER_THE_TOP = "python[813]: segfault at 7fdfc3611000 ip 00 sp 00007fdfc360feb0 error 6 in kernels.so[1143,7f+1000]"
BELOW = "python[813]: segfault at 7fdfc360fea8 ip 00 sp 00007fdfc360feb0 error 6 in kernels.so[1143,7f+1000]"


def child(status: int, before_s: float = 0.3, **more: object) -> End:
    usual = End(pid=900, role="child", source="connector", status=status, at_ns=before(before_s))
    return msgspec.structs.replace(usual, **more)


def free(shared_bytes: int) -> Surroundings:
    return Surroundings(
        disks=(Disk(path="/dev/shm", what="shared memory", free_bytes=shared_bytes, total_bytes=2**34),)
    )


def told(text: str) -> KernelLog:
    return KernelLog(lines=(KernelLine(at_ns=before(0.1), kind="fault", pid=PID, text=text),))


def printed(*lines: str) -> tuple[object, ...]:
    return tuple(said(line, before_s=0.1) for line in lines)


LEFT_WITH_A_TEXT = printed(
    "no shards for worker 2",
    "Traceback (most recent call last):",
    '  File "/home/ada/train.py", line 41, in fit',
    '    raise RuntimeError(f"worker 2 left with {code}")',
    "RuntimeError: worker 2 left with 1",
)
NOTICED = failed("RuntimeError", "worker 2 left with 1", statement='raise RuntimeError(f"worker 2 left with {code}")')


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        # A mistake about any numbers, and the training's own.
        (evidence(failed("FloatingPointError", "divide by zero encountered in divide")), "uncaught-exception"),
        (
            evidence(failed("FloatingPointError", "overflow encountered in exp", statement="loss = f(logits)")),
            "diverged",
        ),
        # A limit of the program's own that has the words of a full disk.
        (
            evidence(failed("OSError", "[Errno 28] No space left on device", statement="raise OSError(28, text)")),
            "uncaught-exception",
        ),
        # A file system that always was read-only, and one of which the kernel says why.
        (
            evidence(failed("OSError", "[Errno 30] Read-only file system: '/data/a'"), kernel_log=KernelLog()),
            "uncaught-exception",
        ),
        # A block that another process made shorter; or that had no room.
        (evidence(signalled(7, signals=(SHORTER,)), surroundings=free(8 * GIB)), "bus-error"),
        (evidence(signalled(7, signals=(SHORTER,)), surroundings=free(2**26)), "shared-memory-full"),
        # A function of the program's own that chose a code which a shell has for a killed command; and a shell.
        (
            evidence(
                failed("RuntimeError", "worker exited with 137", statement="raise RuntimeError(text)"),
                children=(child(137 << 8, source="multiprocessing", name="ForkProcess-1"),),
                memory=QUIET,
            ),
            "worker-died",
        ),
        (
            evidence(
                failed("RuntimeError", "worker exited with 137", statement="raise RuntimeError(text)"),
                children=(child(137 << 8, name="bash -c prepare"),),
                memory=QUIET,
            ),
            "killed",
        ),
        # What lies behind the upper end of a thread's stack, and below its lower one.
        (evidence(signalled(11), kernel_log=told(OVER_THE_TOP)), "segmentation-fault"),
        (evidence(signalled(11), kernel_log=told(BELOW)), "stack-overflow"),
        # Python faulted itself over writing down the stacks of a fault.
        (
            evidence(
                signalled(
                    11,
                    signals=(
                        caught(4, code=2, before_s=0.2, address=0x7F7C_E276_1000, is_handled=True),
                        caught(11, code=1, before_s=0.1, address=0x48, stack_pointer=0x7FFD_0000_0000),
                    ),
                )
            ),
            "illegal-instruction",
        ),
        # A tool that reached the limit of a file's size: nobody killed it.
        (
            evidence(
                failed("CalledProcessError", "Command 'head' died with <Signals.SIGXFSZ: 25>."),
                children=(child(signal.SIGXFSZ),),
            ),
            "worker-died",
        ),
        # The program's own traceback is not that of its worker, though both print to the same console.
        (
            evidence(
                NOTICED,
                ranks=(NOTICED,),
                children=(child(1 << 8, source="multiprocessing", name="ForkProcess-1"),),
                said=LEFT_WITH_A_TEXT,
            ),
            "worker-died",
        ),
        # xargs says with 125 that a signal ended its command.
        (evidence(exited(125, role="command"), children=(child(9),), memory=QUIET), "killed"),
    ],
)
def test_each_is_told_from_the_other(seen: Evidence, cause: str) -> None:
    assert diagnose(seen).cause == cause


def test_what_is_handed_on_as_text_may_be_the_cause_and_is_not_sure() -> None:
    answer = "writer failed at step 3: [Errno 28] No space left on device"
    told_so = diagnose(evidence(failed("RuntimeError", answer, statement='raise RuntimeError(f"writer {answer}")')))
    assert (told_so.cause, told_so.confidence < SURE) == ("disk-full", True)


def test_a_victim_that_nobody_saw_died_at_any_time_before() -> None:
    """The counter rose before the program spoke of it: of a child without a pid nobody knows when it died."""
    lost = failed("CalledProcessError", "Command '['decode']' died with <Signals.SIGKILL: 9>.")
    memory = Memory(levels=(KILLED_BEFORE,), host_kills=1)
    assert diagnose(evidence(lost, memory=memory, is_watched=False)).cause == "cgroup-out-of-memory"


def test_a_kill_in_another_cgroup_is_not_that_of_a_child_without_a_pid() -> None:
    lost = failed("CalledProcessError", "Command '['python']' died with <Signals.SIGKILL: 9>.")
    other = OomKill(at_ns=before(0.2), pid=77, name="python", cgroup="/other")
    seen = evidence(lost, memory=QUIET, kernel_log=KernelLog(kills=(other,)), is_watched=False)
    assert diagnose(seen).cause == "killed"


def test_what_a_failed_command_ran_may_have_been_killed_where_nobody_watched() -> None:
    lost = failed("subprocess.CalledProcessError", "Command '['make', 'index']' returned non-zero exit status 2.")
    told_so = diagnose(evidence(lost, said=(said("make: *** [index] Killed"),), is_watched=False))
    assert (told_so.cause, told_so.confidence < SURE) == ("uncaught-exception", True)
    assert "cgroup-out-of-memory" in told_so.candidates


def test_a_worker_whose_exception_the_program_hands_on_has_raised_it() -> None:
    text = "-- Process 1 terminated with the following error:\nTraceback (most recent call last):\nValueError: no data"
    worker = child(1 << 8, source="multiprocessing", name="SpawnProcess-2")
    told_so = diagnose(evidence(failed("ProcessRaisedException", text), children=(worker,), is_watched=False))
    assert told_so.cause == "uncaught-exception"


def test_a_worker_that_left_as_python_does_may_have_raised() -> None:
    report = said("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED", before_s=0.1)
    told_so = diagnose(evidence(exited(1, role="command"), children=(child(1 << 8),), said=(report,)))
    assert (told_so.cause, told_so.confidence < SURE) == ("worker-died", True)
    assert "uncaught-exception" in told_so.candidates


def test_a_command_that_prints_on_after_a_fault_got_over_it() -> None:
    again = [said(f"loss {number}", before_s=0.5, is_error=False) for number in range(3)]
    words = printed("Traceback (most recent call last):", '  File "/home/ada/train.py", line 9, in <module>', "    f()")
    seen = evidence(
        exited(1, role="command"),
        children=(child(11, 1.5),),
        said=(*again, *words, *printed("ValueError: half-written state")),
        surroundings=Surroundings(heeded=(2,)),
    )
    assert diagnose(seen).cause == "uncaught-exception"
    quiet = msgspec.structs.replace(seen, said=seen.said[3:])
    assert diagnose(quiet).cause == "segmentation-fault"


def test_a_child_may_have_used_up_the_cpu_time_of_its_shell() -> None:
    shell = exited(137, role="command", began_ns=before(4))
    seen = evidence(
        shell,
        ranks=(shell,),
        children=(child(9, 0.1),),
        memory=QUIET,
        surroundings=Surroundings(cpu_limit_s=3, open_files_limit=1024),
    )
    assert diagnose(seen).cause == "cpu-time-limit"
    young = msgspec.structs.replace(seen, surroundings=Surroundings(cpu_limit_s=3600, open_files_limit=1024))
    assert diagnose(young).cause == "killed"


def test_a_thread_of_native_code_was_not_called_from_a_thread_of_python() -> None:
    """Python writes down the newest thread first, and that may be one of ours."""
    stacks = (
        "Fatal Python error: Segmentation fault\n\nThread 0x02 (most recent call first):\n"
        '  File "/holter/wire/way_back.py", line 150 in messages\n\nThread 0x01 (most recent call first):\n'
        '  File "/home/ada/train.py", line 41 in step\n'
    )
    fault = caught(11, code=1, address=0x7FEE_5561_D000, stack_pointer=0x7FFD_0000_0000)
    title = diagnose(evidence(signalled(11, signals=(fault,), fault_log=stacks))).title
    assert title.endswith("while the first thread was at step (train.py:41)")
    current = stacks.replace("Thread 0x02", "Current thread 0x02").replace("/holter/wire/way_back", "/home/ada/net")
    title = diagnose(evidence(signalled(11, signals=(fault,), fault_log=current))).title
    assert title.endswith("called from messages (net.py:150)")
