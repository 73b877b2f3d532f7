"""A child died, and then the program ended in its own words: which of both is the cause, and how sure that is."""

from typing import Any

import msgspec
import pytest

from holter.diagnosis.causality.children import find_suspect, weigh
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import Caught, End, Evidence, Memory, MemoryLevel, Surroundings
from holter.model.records import Cause, Finished
from holter.model.verdicts import Grade
from tests.causes.specimens import PID, before, caught, evidence, exited, failed, raised, said

RAISE = "raise RuntimeError('augmentation failed')"
BY_A_SHELL = "Command '['bash', '-c', 'prepare | tee log']' returned non-zero exit status 137."
QUIET = Memory(levels=(MemoryLevel(level=0, kills=0, kills_lately=0),), host_kills=0)
GIB = 2**30
FULL = MemoryLevel(
    level=0, path="/job", limit_bytes=GIB, usage_bytes=0.97 * GIB, peak_bytes=GIB, kills=1, kills_lately=1
)
OOM = Memory(sampled_ns=before(9), levels=(FULL,), host_kills=1, own_bytes=0.9 * GIB)


def child(status: int | None, before_s: float, **more: Any) -> End:
    usual = End(pid=900, role="child", name="loader", source="connector", status=status, at_ns=before(before_s))
    return msgspec.structs.replace(usual, **more)


def fault(number: int, before_s: float) -> Caught:
    return caught(number, code=1, before_s=before_s, pid=900)


def sent(number: int, before_s: float, *, by: int) -> Caught:
    return caught(number, before_s=before_s, pid=900, sender_pid=by)


def chose(**more: Any) -> End:
    """It raised by a statement of its own, 0.2 s before its end."""
    return failed("RuntimeError", "augmentation failed", statement=RAISE, **more)


def fell(**more: Any) -> End:
    return failed("KeyError", "'labels'", statement="labels = batch['labels']", **more)


def waited(**more: Any) -> End:
    return failed("_queue.Empty", "", statement="queue.get(timeout=6)", **more)


def left(code: int = 1, **more: Any) -> End:
    return exited(code, finished=Finished(at_ns=before(0.1), how="atexit", exit_code=code), **more)


SEGFAULT = child(11, 0.5, signals=(fault(11, 0.5),), has_signal_witness=True)


@pytest.mark.parametrize(
    ("seen", "cause", "least", "most"),
    [
        # It looked at the child, and ended for it in its own words.
        (evidence(chose(), children=(SEGFAULT,)), "segmentation-fault", Grade.CONSISTENT, Grade.CONSISTENT),
        (evidence(left(), children=(SEGFAULT,)), "segmentation-fault", Grade.CONSISTENT, Grade.CONSISTENT),
        (
            evidence(chose(), children=(child(6, 0.5, signals=(fault(6, 0.5),)),)),
            "aborted",
            Grade.LIKELY,
            Grade.CONSISTENT,
        ),
        (evidence(fell(), children=(SEGFAULT,)), "segmentation-fault", Grade.LIKELY, Grade.LIKELY),
        # Only the child's witness saw it.
        (
            evidence(chose(), children=(child(None, 0.5, signals=(fault(11, 0.5),)),)),
            "segmentation-fault",
            Grade.LIKELY,
            Grade.CONSISTENT,
        ),
        # Killed for memory: the counters moved when that child died, whatever they say later.
        (
            evidence(chose(), children=(child(9, 0.6),), memory=QUIET, memory_of={900: OOM}),
            "cgroup-out-of-memory",
            Grade.CONSISTENT,
            Grade.CONSISTENT,
        ),
        (
            evidence(waited(), children=(child(9, 7),), memory=QUIET, memory_of={900: OOM}),
            "cgroup-out-of-memory",
            Grade.CONSISTENT,
            Grade.COUNTED,
        ),
        # Tolerated: it went on for seconds, and then a mistake of its own ended it.
        (
            evidence(fell(last_row_ns=before(0.3)), children=(child(9, 4.5),), memory_of={900: OOM}),
            "uncaught-exception",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        (
            evidence(fell(last_row_ns=before(3)), children=(child(9, 4.5),), memory_of={900: OOM}),
            "uncaught-exception",
            Grade.INFERRED,
            Grade.CONSISTENT,
        ),
        # Nobody can tell: it went on, and then chose to leave.
        (
            evidence(chose(last_row_ns=before(0.3)), children=(child(11, 6, signals=(fault(11, 6),)),)),
            "uncaught-exception",
            Grade.INFERRED,
            Grade.CONSISTENT,
        ),
        (
            evidence(chose(), children=(child(11, 300, signals=(fault(11, 300),)),)),
            "uncaught-exception",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        # A program kills its own children when it is done with them.
        (evidence(fell(), children=(child(9, 0.5),), memory=QUIET), "uncaught-exception", Grade.COUNTED, Grade.NAMED),
        (
            evidence(chose(), children=(child(9, 0.5),), memory=QUIET),
            "uncaught-exception",
            Grade.INFERRED,
            Grade.CONSISTENT,
        ),
        (
            evidence(chose(), children=(child(9, 0.5, parent_signal=9),), memory=QUIET),
            "uncaught-exception",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        # It did not, or was waiting: then somebody else did.
        (
            evidence(chose(), children=(child(9, 0.5, parent_signal=0),), memory=QUIET),
            "killed",
            Grade.LIKELY,
            Grade.CONSISTENT,
        ),
        (evidence(waited(), children=(child(9, 6),), memory=QUIET), "killed", Grade.LIKELY, Grade.CONSISTENT),
        (
            evidence(
                failed("subprocess.TimeoutExpired", "Command 'x' timed out"), children=(child(9, 0.3),), memory=QUIET
            ),
            "uncaught-exception",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        (evidence(chose(), children=(child(15, 0.5),)), "uncaught-exception", Grade.COUNTED, Grade.NAMED),
        (
            evidence(left(has_signal_witness=True), children=(child(15, 0.5, signals=(sent(15, 0.5, by=PID),)),)),
            "nonzero-exit",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        # Somebody else ended it.
        (
            evidence(left(), children=(child(15, 0.5, signals=(sent(15, 0.5, by=4242),)),)),
            "terminated",
            Grade.LIKELY,
            Grade.CONSISTENT,
        ),
        # What died after the exception followed it.
        (
            evidence(
                chose(raised=raised("RuntimeError", "augmentation failed", statement=RAISE, at_ns=before(3))),
                children=(SEGFAULT,),
            ),
            "uncaught-exception",
            Grade.COUNTED,
            Grade.NAMED,
        ),
        # A child that left with a code of its own is no better explanation than the program's words.
        (evidence(chose(), children=(child(1 << 8, 0.5),)), "uncaught-exception", Grade.COUNTED, Grade.NAMED),
    ],
)
def test_the_cause_and_how_sure_it_is(seen: Evidence, cause: str, least: Grade, most: Grade) -> None:
    found = diagnose(seen)
    assert (found.cause, least <= Grade[found.grade.upper()] <= most) == (cause, True), found


def test_of_a_pipeline_the_command_that_was_killed_is_meant_and_not_those_that_lost_their_reader() -> None:
    writer, sorter = child(13, 0.31, pid=901), child(9, 0.3, pid=902)
    program = failed("subprocess.CalledProcessError", BY_A_SHELL)
    unheard = evidence(program, children=(writer, sorter), memory=OOM, is_watched=False)
    assert diagnose(unheard).cause == "cgroup-out-of-memory"
    assert "902" in diagnose(unheard).title


def test_the_other_one_is_a_candidate() -> None:
    assert diagnose(evidence(chose(), children=(SEGFAULT,))).candidates == ("uncaught-exception",)
    possible = evidence(chose(last_row_ns=before(0.3)), children=(child(11, 6, signals=(fault(11, 6),)),))
    assert "segmentation-fault" in diagnose(possible).candidates


def test_the_evidence_tells_of_both() -> None:
    told = " ".join(fact.text for fact in diagnose(evidence(chose(), children=(SEGFAULT,))).evidence)
    assert "augmentation failed" in told
    assert "SIGSEGV" in told


def test_a_pool_that_ends_its_other_workers_is_no_stranger_to_them() -> None:
    """The worker that left with 3 is asked about, and its parent has ended the other one."""
    program = failed("concurrent.futures.process.BrokenProcessPool", "A process was terminated abruptly")
    left_with_3 = child(3 << 8, 0.6)
    ended = child(15, 0.5, pid=901, signals=(caught(15, before_s=0.5, pid=901, sender_pid=PID),))
    found = diagnose(evidence(program, ranks=(program,), children=(left_with_3, ended)))
    assert found.cause == "worker-died"


def test_a_run_that_finished_has_no_suspect() -> None:
    assert find_suspect(evidence(exited(0), children=(SEGFAULT,))) is None


def test_of_several_the_first_is_suspected() -> None:
    second = child(6, 0.4, pid=901, signals=(caught(6, code=1, pid=901, before_s=0.4),))
    suspect = find_suspect(evidence(chose(), children=(SEGFAULT, second)))
    assert suspect is not None
    assert suspect.evidence.subject.pid == 900


@pytest.mark.parametrize("delay_s", [0.1, 1.5, 2.5, 10, 14])
def test_a_later_end_is_never_more_likely_to_follow(delay_s: float) -> None:
    assert (weigh(child(11, 0.2 + delay_s), chose()) or 0) >= (weigh(child(11, 0.2 + delay_s + 2), chose()) or 0)


def test_what_subprocess_says_of_a_command_is_believed_where_nobody_else_saw_it() -> None:
    words = "Command '['./tool']' died with <Signals.SIGSEGV: 11>."
    found = diagnose(evidence(failed("subprocess.CalledProcessError", words)))
    assert (found.cause, found.confidence < 0.9) == ("segmentation-fault", True)
    assert "./tool" in found.title
    own = failed("subprocess.CalledProcessError", words, statement="raise CalledProcessError(-11, 'tool')")
    assert diagnose(evidence(own)).cause != "segmentation-fault"


def test_a_kill_for_memory_whose_victim_nobody_saw_makes_the_program_s_own_words_less_sure() -> None:
    told = diagnose(evidence(chose(), memory=OOM, state="failed"))
    assert (told.cause, told.candidates) == ("uncaught-exception", ("cgroup-out-of-memory",))
    assert told.confidence < 0.9
    assert diagnose(evidence(chose(), memory=QUIET, state="failed")).confidence >= 0.9


def test_an_exit_code_that_only_the_program_told_of_is_no_certainty() -> None:
    left = Finished(at_ns=before(0.1), how="atexit", exit_code=130)
    gone = End(pid=PID, at_ns=before(0), source="gone", finished=left)
    told = diagnose(evidence(gone, state="failed"))
    assert told.cause == "nonzero-exit"
    assert told.confidence < 0.9


def test_the_worker_whose_exit_code_the_program_names_is_meant_and_not_one_that_it_had_replaced() -> None:
    fallen = child(11, 2.4, pid=899, source="multiprocessing", signals=(caught(11, code=1, before_s=2.4, pid=899),))
    left_with_2 = child(2 << 8, 1.2, source="multiprocessing")
    program = failed(
        "RuntimeError", "worker left with 2", statement="raise RuntimeError(text)", last_row_ns=before(0.3)
    )
    found = diagnose(evidence(program, children=(fallen, left_with_2)))
    assert found.cause == "worker-died"
    assert "900" in found.title


@pytest.mark.parametrize(
    ("program", "code", "memory", "cause"),
    [
        (left(139), 139, QUIET, "segmentation-fault"),
        (failed("subprocess.CalledProcessError", BY_A_SHELL), 137, QUIET, "killed"),
        (failed("subprocess.CalledProcessError", BY_A_SHELL), 137, OOM, "cgroup-out-of-memory"),
        # Codes that say nothing of a signal.
        (left(3), 3, QUIET, "nonzero-exit"),
        (failed("subprocess.CalledProcessError", BY_A_SHELL.replace("137", "1")), 1, QUIET, "uncaught-exception"),
    ],
)
def test_what_a_shell_says_of_its_command(program: End, code: int, memory: Memory, cause: str) -> None:
    found = diagnose(evidence(program, children=(child(code << 8, 0.3, name=""),), memory=memory))
    assert found.cause == cause
    assert cause in ("nonzero-exit", "uncaught-exception") or found.confidence < 0.9


UNREADABLE = """
'''
Traceback (most recent call last):
  File "/usr/lib/python3.11/concurrent/futures/process.py", line 424, in wait_result_broken_or_wakeup
    result_item = result_reader.recv()
{error}
'''"""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("TypeError: ShardError.__init__() missing 1 required positional argument", "uncaught-exception"),
        # The worker was gone in the middle of a word.
        ("EOFError", "worker-died"),
    ],
)
def test_a_pool_breaks_over_what_it_cannot_read_though_its_workers_are_well(error: str, cause: str) -> None:
    behind = Cause(type="concurrent.futures.process._RemoteTraceback", message=UNREADABLE.format(error=error))
    broken = raised("concurrent.futures.process.BrokenProcessPool", "terminated abruptly", causes=(behind,))
    ended = child(15, 0.1, signals=(sent(15, 0.1, by=PID),))
    assert diagnose(evidence(exited(1, raised=broken), children=(ended,))).cause == cause


WAITED_FOR_ONE = Surroundings(children_rss_bytes=1 << 20)


def test_where_children_go_unheard_the_victim_of_a_kill_for_memory_was_probably_one() -> None:
    unheard = evidence(chose(), memory=OOM, state="failed", is_watched=False)
    told = diagnose(unheard)
    assert told.cause == "cgroup-out-of-memory"
    assert told.grade in ("inferred", "likely")
    assert "uncaught-exception" in told.candidates
    known = msgspec.structs.replace(unheard, children=(child(9, 0.4),), memory_of={900: OOM})
    assert diagnose(known).cause == "cgroup-out-of-memory"


def test_a_program_that_went_on_for_long_without_the_victim_ends_for_its_own_reason() -> None:
    spared = Memory(levels=(msgspec.structs.replace(FULL, kills_lately=0),), own_bytes=0.9 * GIB)
    assert diagnose(evidence(chose(), memory=spared, is_watched=False)).cause == "uncaught-exception"


@pytest.mark.parametrize("code", [3, 42])
@pytest.mark.parametrize("how", ["_exit", "atexit"])
def test_a_code_of_its_own_after_more_rows_has_nothing_to_do_with_a_worker_that_faulted(code: int, how: str) -> None:
    own = exited(code, finished=Finished(at_ns=before(0.1), how=how, exit_code=code), last_row_ns=before(0.11))
    told = diagnose(evidence(own, children=(SEGFAULT,)))
    assert told.cause == "nonzero-exit"
    assert told.confidence < 0.9
    assert "segmentation-fault" in told.candidates


def test_a_program_that_left_at_once_when_its_child_had_died_chose_the_code_for_that() -> None:
    own = exited(5, finished=Finished(at_ns=before(0.1), how="atexit", exit_code=5), last_row_ns=before(9))
    assert diagnose(evidence(own, children=(SEGFAULT,))).cause == "segmentation-fault"


@pytest.mark.parametrize("code", [1, 11, 139, 245])
def test_the_code_of_any_failure_and_that_of_the_signal_do(code: int) -> None:
    assert diagnose(evidence(left(code), children=(SEGFAULT,))).cause == "segmentation-fault"


def test_a_shell_chooses_a_code_for_what_it_ran() -> None:
    shell = exited(3, role="command", name="bash -c python3 train.py || exit 3")
    assert diagnose(evidence(shell, children=(SEGFAULT,))).cause == "segmentation-fault"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("worker failed with exit code -11", "segmentation-fault"),
        ("worker 3 failed: -11", "segmentation-fault"),
        ("the loss fell to -11", "uncaught-exception"),
        ("worker failed with exit code 11", "uncaught-exception"),
        ("score -11", "uncaught-exception"),
    ],
)
def test_the_exit_code_that_a_command_names_is_that_of_a_worker_which_went_unheard(text: str, cause: str) -> None:
    command = failed(
        "RuntimeError", text, statement="raise RuntimeError(text)", role="command", name="python3 train.py"
    )
    told = diagnose(evidence(command, is_watched=False))
    assert told.cause == cause
    assert told.confidence < 0.9
    assert diagnose(evidence(command)).cause == "uncaught-exception"


def test_what_a_program_says_of_a_command_is_believed_where_its_end_went_unheard() -> None:
    words = "Command 'ffmpeg' died with <Signals.SIGKILL: 9>."
    own = failed("subprocess.CalledProcessError", words, statement="raise subprocess.CalledProcessError(code, 'x')")
    unheard = evidence(own, is_watched=False, memory=QUIET, surroundings=WAITED_FOR_ONE)
    assert diagnose(unheard).cause == "killed"
    alone = msgspec.structs.replace(unheard, surroundings=Surroundings(children_rss_bytes=0))
    assert diagnose(alone).cause != "killed"


def test_a_code_of_128_and_a_signal_is_that_of_a_child_which_went_unheard() -> None:
    handed_on = evidence(left(143, has_signal_witness=True), is_watched=False, surroundings=WAITED_FOR_ONE)
    told = diagnose(handed_on)
    assert told.cause == "terminated"
    assert told.confidence < 0.9


@pytest.mark.parametrize(
    "seen",
    [
        evidence(left(139, has_signal_witness=True), surroundings=WAITED_FOR_ONE),
        evidence(left(139, has_signal_witness=True), is_watched=False, surroundings=Surroundings(children_rss_bytes=0)),
        evidence(left(139), is_watched=False, surroundings=WAITED_FOR_ONE),
        evidence(left(5, has_signal_witness=True), is_watched=False, surroundings=WAITED_FOR_ONE),
    ],
    ids=["every child was heard", "there was none", "it may have got the signal itself", "another code"],
)
def test_a_code_that_may_be_the_program_s_own_choice_is_not(seen: Evidence) -> None:
    assert diagnose(seen).cause == "nonzero-exit"


@pytest.mark.parametrize(("number", "cause"), [(1, "hangup"), (3, "killed"), (15, "terminated"), (10, "killed")])
def test_timeout_ends_a_command_with_any_signal(number: int, cause: str) -> None:
    told = diagnose(evidence(exited(124, role="command"), children=(child(number, 0.1),), state="failed"))
    assert told.cause == cause


def test_what_came_together_with_a_printed_exception_is_no_sign_that_the_program_went_on() -> None:
    end = failed("RuntimeError", "features failed", raised=raised("RuntimeError", "features failed", where="printed"))
    at_once = tuple(said(text, before_s=0.2, is_error=False) for text in ("loss 1", "loss 2", "loss 3", "Traceback"))
    before_it = tuple(said(text, before_s=0.5, is_error=False) for text in ("loss 1", "loss 2", "loss 3"))
    faulted = child(11, 1.2)

    died_of_it = find_suspect(evidence(end, children=(faulted,), said=at_once))
    went_on = find_suspect(evidence(end, children=(faulted,), said=before_it))

    assert died_of_it is not None
    assert went_on is not None
    assert died_of_it.likelihood > went_on.likelihood
