"""Nobody is sure while a rival stands that nobody could look at; and a witness that is lost makes no verdict wrong."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.diagnosis.grades import SURE
from holter.diagnosis.loading import load_rules
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import (
    End,
    Evidence,
    KernelLine,
    KernelLog,
    Memory,
    MemoryLevel,
    OomKill,
    Surroundings,
)
from holter.model.records import Finished
from tests.causes import examples_of
from tests.causes.specimens import before, caught, evidence, exited, failed, gone, raised, said, signalled

replace = msgspec.structs.replace
TRACEBACK = (
    said("Traceback (most recent call last):"),
    said('  File "/home/ada/train.py", line 9, in <module>'),
    said("    1 / 0"),
    said("ZeroDivisionError: division by zero"),
)

DEAF, HEEDING = Surroundings(heeded=(2,)), Surroundings(heeded=(2, 15))


def without_signals(seen: Evidence) -> Evidence:
    def deaf(end: End) -> End:
        near = [number for number in end.handled if not (each := end.caught(number)) or each.at_ns >= before(60)]
        return replace(end, signals=(), has_signal_witness=False, handled=tuple(near))

    return replace(
        seen,
        subject=deaf(seen.subject),
        ranks=tuple(map(deaf, seen.ranks)),
        children=tuple(map(deaf, seen.children)),
        senders=(),
    )


def without_kernel_log(seen: Evidence) -> Evidence:
    return replace(seen, kernel_log=None)


def without_counters(seen: Evidence) -> Evidence:
    levels = tuple(
        replace(level, kills=None, kills_lately=None, limit_hits=None, kills_before=None)
        for level in seen.memory.levels
    )
    return replace(seen, memory=replace(seen.memory, levels=levels, host_kills=None), memory_of={})


def without_console(seen: Evidence) -> Evidence:
    return replace(seen, said=())


def without_scheduler(seen: Evidence) -> Evidence:
    """It is not asked, or does not answer; that there is one is known by the program's environment."""
    known = {"schedulers": {seen.job.scheduler: {"job_id": seen.job.job}}} if seen.job else {}
    return replace(seen, job=None, facts={**seen.facts, **known})


def without_sidecar(seen: Evidence) -> Evidence:
    """What is left is what the program wrote itself, and what its parent saw where that is `holter run`."""
    told = [child for child in seen.children if child.source == "multiprocessing"]
    end, around = seen.subject, seen.surroundings
    if end.role not in ("command", "watched"):
        end = replace(end, status=None, source="gone")
    return replace(
        seen,
        subject=end,
        children=tuple(told),
        memory=Memory(),
        memory_of={},
        surroundings=replace(around, heeded=None) if around and end.raised else None,
        surroundings_of={},
        kernel_log=None,
        oom_daemon=None,
        gpu=None,
        is_watched=False,
    )


LOSSES: tuple[Callable[[Evidence], Evidence], ...] = (
    without_signals,
    without_kernel_log,
    without_counters,
    without_console,
    without_scheduler,
    without_sidecar,
)
EXAMPLES = [
    (f"{rule.cause} {number}", example.evidence)
    for rule in load_rules()
    if not rule.contributes
    for number, example in enumerate(examples_of(rule.cause))
]


@given(st.sampled_from(EXAMPLES), st.sets(st.sampled_from(LOSSES), min_size=1))
@settings(max_examples=600, deadline=None)
def test_a_lost_witness_makes_no_other_cause_sure(
    example: tuple[str, Evidence], lost: set[Callable[[Evidence], Evidence]]
) -> None:
    name, seen = example
    told = diagnose(seen)
    less = seen
    for lose in LOSSES:
        less = lose(less) if lose in lost else less

    left = diagnose(less)

    is_sure = left.confidence >= SURE and left.cause is not None
    assert not is_sure or left.cause == told.cause, (name, [lose.__name__ for lose in lost], told, left)


def command(code: int) -> End:
    return exited(code, role="command")


def chose() -> End:
    return failed("RuntimeError", "preprocessing failed", statement="raise RuntimeError('preprocessing failed')")


@pytest.mark.parametrize(
    ("seen", "cause", "is_sure", "candidate"),
    [
        # `holter run` alone: the interpreter's own last words, and nothing else that could have ended it.
        (evidence(command(1), said=TRACEBACK, surroundings=DEAF), "uncaught-exception", True, ""),
        (evidence(command(1), said=TRACEBACK, surroundings=HEEDING), "uncaught-exception", False, "terminated"),
        (evidence(command(1), said=TRACEBACK), "uncaught-exception", False, "terminated"),
        (evidence(command(3), said=(said("no data"),), surroundings=DEAF), "nonzero-exit", True, ""),
        (evidence(command(3), said=(said("no data"),), surroundings=HEEDING), "nonzero-exit", False, "terminated"),
        (evidence(command(3), surroundings=DEAF), "nonzero-exit", False, ""),
        # A fatal signal that nobody saw arrive.
        (evidence(signalled(11)), "segmentation-fault", False, "killed"),
        (evidence(signalled(6)), "aborted", False, "killed"),
        # The witness would have seen it arrive, had somebody sent it.
        (evidence(signalled(6, has_signal_witness=True)), "aborted", False, ""),
        # A library has said why, and anybody may still have sent the signal after that.
        (evidence(signalled(6), said=(said("free(): invalid pointer"),)), "aborted", False, ""),
        (evidence(signalled(11, signals=(caught(11, code=1),))), "segmentation-fault", True, ""),
        # The program's own `raise`, which may be about a child whom nobody watched.
        (evidence(chose(), is_watched=False), "uncaught-exception", False, "worker-died"),
        (
            evidence(chose(), is_watched=False, surroundings=Surroundings(children_rss_bytes=0)),
            "uncaught-exception",
            True,
            "",
        ),
        (evidence(chose()), "uncaught-exception", True, ""),
        (evidence(failed("KeyError", "'lr'"), is_watched=False), "uncaught-exception", True, ""),
        (
            evidence(failed("EOFError", ""), is_watched=False, surroundings=Surroundings(children_rss_bytes=0)),
            "uncaught-exception",
            False,
            "worker-died",
        ),
        (evidence(failed("EOFError", "")), "uncaught-exception", True, ""),
        # What it lost died before it.
        (evidence(failed("BrokenPipeError", "[Errno 32] Broken pipe")), "uncaught-exception", False, "connection-lost"),
        # Who may kill for memory was not looked at.
        (evidence(signalled(15), oom_daemon=None), "terminated", False, "userspace-oom-killer"),
        (evidence(signalled(15)), "terminated", True, ""),
    ],
)
def test_a_verdict_is_sure_where_every_rival_could_be_looked_at(
    seen: Evidence, cause: str, is_sure: bool, candidate: str
) -> None:
    told = diagnose(replace(seen, state="failed" if seen.subject.code else "crashed"))

    assert (told.cause, told.confidence >= SURE) == (cause, is_sure), told
    assert not candidate or candidate in told.candidates


def test_a_fault_that_the_kernel_would_have_written_down_was_sent() -> None:
    told = diagnose(evidence(signalled(11), kernel_log=KernelLog(tells_faults=True), surroundings=DEAF))

    assert (told.cause, told.grade, told.candidates) == ("killed", "consistent", ("segmentation-fault",))


@pytest.mark.parametrize(
    ("log", "around"),
    [
        (KernelLog(), DEAF),  # a kernel that writes no faults down
        (KernelLog(tells_faults=True), Surroundings(heeded=(2, 11))),  # it writes only those that nobody handles
        (KernelLog(tells_faults=True), None),
    ],
)
def test_the_kernel_s_silence_about_a_fault_proves_nothing_where_it_need_not_speak(
    log: KernelLog, around: Surroundings | None
) -> None:
    told = diagnose(evidence(signalled(11), kernel_log=log, surroundings=around))

    assert (told.cause, told.candidates) == ("segmentation-fault", ("killed",))


def test_a_fault_of_an_unknown_thread_at_the_same_moment_was_its_own() -> None:
    line = KernelLine(at_ns=before(0.1), kind="fault", text="python[99]: segfault at 10 ip 0f sp 7ffd00 error 4")

    told = diagnose(evidence(signalled(11), kernel_log=KernelLog(lines=(line,), tells_faults=True), surroundings=DEAF))

    assert (told.cause, told.grade) == ("segmentation-fault", "consistent")


def test_whoever_waited_for_a_process_knows_that_it_was_too_small_to_be_the_victim() -> None:
    level = MemoryLevel(level=0, limit_bytes=8e9, kills=1, kills_lately=1)
    small, large = signalled(9, max_rss_bytes=50_000_000), signalled(9, max_rss_bytes=7_000_000_000)

    assert diagnose(evidence(small, memory=Memory(levels=(level,), own_bytes=1e7))).cause == "killed"
    told = diagnose(evidence(large, memory=Memory(levels=(level,), own_bytes=1e7)))
    assert (told.cause, told.confidence >= SURE) == ("cgroup-out-of-memory", True)


def test_a_command_of_which_only_the_name_is_known_is_found_in_the_kernel_log() -> None:
    died = "Command '['./leak']' died with <Signals.SIGKILL: 9>."
    kill = OomKill(at_ns=before(0.3), pid=4711, name="leak", constraint="CONSTRAINT_MEMCG", limited_cgroup="/job")
    seen = evidence(failed("subprocess.CalledProcessError", died), state="failed", kernel_log=KernelLog(kills=(kill,)))

    assert diagnose(seen).cause == "cgroup-out-of-memory"


def test_a_fault_of_an_unknown_thread_beside_its_stack_is_no_certainty() -> None:
    line = KernelLine(at_ns=before(0.1), kind="fault", text="python[99]: segfault at 7f00ff8 ip 0f sp 7f01000 error 6")
    told = diagnose(evidence(signalled(11), kernel_log=KernelLog(lines=(line,))))

    assert (told.cause, told.confidence < SURE) == ("stack-overflow", True)


def test_an_abort_after_words_that_the_program_outlived_may_have_been_sent() -> None:
    lines = (said("free(): invalid pointer", before_s=3), said("loss 0.1", before_s=0.1))
    told = diagnose(evidence(signalled(6, role="command"), said=lines))

    assert (told.cause, told.confidence < SURE, told.candidates) == ("aborted", True, ("killed",))


def test_a_thread_that_could_not_be_started_from_outside_may_have_lacked_memory() -> None:
    lines = (
        said("Traceback (most recent call last):"),
        said('  File "/home/ada/train.py", line 9, in <module>'),
        said("    thread.start()"),
        said("RuntimeError: can't start new thread"),
    )
    told = diagnose(evidence(command(1), said=lines, surroundings=DEAF, state="failed"))

    assert (told.cause, told.grade) == ("too-many-processes", "likely")
    assert told.candidates == ("allocation-refused",)


def test_a_file_that_could_not_be_opened_from_outside_may_have_been_one_too_many() -> None:
    lines = (
        *TRACEBACK[:2],
        said("    sqlite3.connect(path)"),
        said("sqlite3.OperationalError: unable to open database"),
    )
    told = diagnose(evidence(command(1), said=lines, surroundings=DEAF, state="failed"))

    assert (told.cause, told.confidence < SURE, told.candidates) == (
        "uncaught-exception",
        True,
        ("too-many-open-files",),
    )


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("tool: Cannot allocate memory", "allocation-refused"),
        ("worker pool: Resource temporarily unavailable", "too-many-processes"),
    ],
)
def test_who_leaves_saying_that_something_was_lacking_may_have_left_for_want_of_it(text: str, cause: str) -> None:
    left = exited(3, has_signal_witness=True)
    told = diagnose(evidence(left, said=(said("loss 0.1", before_s=2), said(text)), state="failed"))

    assert (told.cause, told.confidence < SURE, told.candidates) == ("nonzero-exit", True, (cause,))


def test_who_leaves_by_itself_may_have_caught_ctrl_c_where_nothing_saw_signals_arrive() -> None:
    unseen = diagnose(evidence(exited(1), said=(said("saved"),), state="failed"))
    seen = diagnose(evidence(exited(1, has_signal_witness=True), said=(said("saved"),), state="failed"))

    assert (unseen.cause, unseen.confidence < SURE, unseen.candidates) == ("nonzero-exit", True, ("interrupted",))
    assert (seen.cause, seen.confidence >= SURE, seen.candidates) == ("nonzero-exit", True, ())


def test_an_exception_that_a_test_runner_may_have_caught_is_no_certainty_where_nobody_read_the_exit() -> None:
    left = gone(raised=raised("OSError", "[Errno 2] x"), finished=Finished(at_ns=before(0.1), how="atexit"))
    told = diagnose(evidence(left, state="failed"))

    assert (told.cause, told.confidence < SURE) == ("uncaught-exception", True)


def test_who_said_so_and_went_on_left_for_a_reason_of_its_own() -> None:
    lines = (said("tool: Cannot allocate memory", before_s=5), said("threshold missed"))
    told = diagnose(evidence(exited(3, has_signal_witness=True), said=lines, state="failed"))

    assert (told.cause, told.confidence >= SURE) == ("nonzero-exit", True)


def test_a_division_of_floats_traps_in_silence() -> None:
    log = KernelLog(tells_faults=True)
    told = diagnose(evidence(signalled(8), kernel_log=log, surroundings=Surroundings(heeded=(2,))))

    assert (told.cause, told.grade, told.candidates) == ("killed", "inferred", ("arithmetic-fault",))


def test_another_process_s_fault_is_not_that_of_one_which_another_signal_ended() -> None:
    line = KernelLine(at_ns=before(0.1), kind="fault", text="python[99]: segfault at 7f00ff8 ip 0f sp 7f01000 error 6")
    told = diagnose(evidence(signalled(7), kernel_log=KernelLog(lines=(line,))))

    assert told.cause == "bus-error"


def test_kills_of_cgroups_beside_it_do_not_account_for_what_its_own_has_counted() -> None:
    level = MemoryLevel(level=0, path="/job_7", limit_bytes=8e9, usage_bytes=7.9e9, kills=1, kills_lately=1)
    memory = Memory(levels=(level,), own_bytes=7.8e9)

    def ask(cgroup: str) -> str | None:
        kill = OomKill(at_ns=before(2), pid=4242, name="python", cgroup=cgroup)
        return diagnose(evidence(signalled(9), memory=memory, kernel_log=KernelLog(kills=(kill,)))).cause

    assert [ask("/job_8"), ask("/job_7"), ask("/job_7/step_0")] == ["cgroup-out-of-memory", "killed", "killed"]


def test_workers_that_nobody_watched_may_have_been_ended_by_their_own_pool() -> None:
    workers = tuple(End(pid=pid, role="child", status=15, source="connector", at_ns=before(0.5)) for pid in (30, 31))
    broken = failed("BrokenProcessPool", "A process in the process pool was terminated abruptly")
    told = diagnose(evidence(broken, children=workers, state="failed"))

    assert (told.cause, told.confidence < SURE) == ("terminated", True)
    assert told.candidates == ("worker-died", "uncaught-exception")
