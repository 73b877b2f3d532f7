"""The last words of a program in which nothing of ours ran."""

import traceback

import pytest

from holter.diagnosis.causality.console import with_printed_exception
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import End, Said, Surroundings
from holter.model.records import Raised
from tests.causes.specimens import before, evidence, exited, raised, said

DEAF = Surroundings(heeded=(2,))
TRACEBACK = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 9, in <module>
    main()
    ~~~~^^
  File "/home/ada/train.py", line 5, in main
    return torch.load(path)
  File "/venv/lib/python3.11/site-packages/torch/serialization.py", line 100, in load
    raise RuntimeError(text)
RuntimeError: no such file
and a second line of the message
"""
UNCAUGHT = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 9, in <module>
    1 / 0
ZeroDivisionError: division by zero
"""
LOGGED = """\
ERROR:root:batch 7 is broken
Traceback (most recent call last):
  File "/home/ada/train.py", line 5, in main
    step(batch)
ValueError: bad batch
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/ada/train.py", line 9, in <module>
  |     asyncio.run(main())
  |   File "/usr/lib/python3.11/asyncio/runners.py", line 190, in run
  |     return runner.run(main)
  |   File "/home/ada/train.py", line 7, in main
  |     async with asyncio.TaskGroup() as group:
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/ada/train.py", line 4, in fetch
    |     raise ValueError(f'shard {number}')
    | ValueError: shard 0
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/ada/train.py", line 5, in fetch
    |     config['lr']
    | KeyError: 'lr'
    +------------------------------------
"""


def lines(text: str, *, before_s: float = 1.0) -> tuple[Said, ...]:
    return tuple(said(line, before_s=before_s) for line in text.splitlines())


def test_a_traceback_as_the_last_words_of_a_command_is_its_exception() -> None:
    subject = exited(1, role="command")

    found = with_printed_exception(evidence(subject, said=lines(TRACEBACK))).subject.raised

    assert found is not None
    assert (found.type, found.where) == ("RuntimeError", "printed")
    assert found.message == "no such file\nand a second line of the message"
    assert [(frame.file, frame.line, frame.function) for frame in found.frames] == [
        ("/home/ada/train.py", 9, "<module>"),
        ("/home/ada/train.py", 5, "main"),
    ]


def unchanged(subject: End, text: str, *, before_s: float = 1.0) -> bool:
    before = evidence(subject, said=lines(text, before_s=before_s))
    return with_printed_exception(before) == before


def test_a_program_with_a_client_would_have_recorded_it_so_it_was_caught() -> None:
    assert unchanged(exited(1), TRACEBACK)


def test_a_code_for_which_there_is_no_python_is_not_the_tracebacks() -> None:
    assert unchanged(exited(137, role="command"), TRACEBACK)


def test_an_exit_code_that_python_does_not_use_makes_the_traceback_a_guess() -> None:
    seen = evidence(exited(3, role="command"), state="failed", said=lines(UNCAUGHT))

    found = diagnose(seen)

    assert (found.cause, found.grade) == ("uncaught-exception", "inferred")


def test_a_traceback_that_python_printed_and_another_code_were_both_the_programs_own_doing() -> None:
    seen = evidence(exited(7, role="command", name="/venv/bin/python3 train.py"), state="failed", said=lines(UNCAUGHT))

    found = diagnose(seen)

    assert found.cause == "nonzero-exit"
    assert "exit code 7" in found.title


def test_a_program_that_said_more_and_chose_a_code_had_caught_it() -> None:
    assert unchanged(exited(3, role="command"), UNCAUGHT + "giving up\n")


def test_a_traceback_that_begins_in_a_function_was_caught_there_and_counts_less() -> None:
    seen = evidence(exited(1, role="command"), state="failed", said=lines(LOGGED))

    found = diagnose(seen)

    assert (found.cause, found.grade) == ("uncaught-exception", "inferred")


@pytest.mark.parametrize(
    ("code", "text", "where"),
    [
        (1, UNCAUGHT, "last words"),
        (1, GROUP, "last words"),
        (1, f"epoch 3\n{UNCAUGHT}", "last words"),
        (1, f"ERROR:root:training failed\n{UNCAUGHT}", "printed"),  # somebody caught it, and gave it to a logger
        (1, f"{UNCAUGHT}giving up\n", "printed"),
        (1, TRACEBACK, "printed"),  # a message of two lines, or a program that went on
        (3, UNCAUGHT, "printed"),
    ],
)
def test_what_python_itself_says_last_is_told_from_what_a_program_prints(code: int, text: str, where: str) -> None:
    found = with_printed_exception(evidence(exited(code, role="command"), said=lines(text))).subject.raised

    assert found is not None
    assert found.where == where


def test_a_traceback_of_an_hour_ago_is_no_cause() -> None:
    assert unchanged(exited(1, role="command"), TRACEBACK, before_s=3600)


def test_a_program_that_went_on_printing_had_caught_it() -> None:
    more = "".join(f"epoch {number}: loss 0.1\n" for number in range(20))
    assert unchanged(exited(1, role="command"), TRACEBACK + more)


def test_a_recorded_exception_counts_more_than_a_printed_one() -> None:
    assert unchanged(exited(1, role="command", raised=raised("ValueError", "recorded")), TRACEBACK)


def test_what_looks_like_a_traceback_and_has_no_end_is_none() -> None:
    assert unchanged(exited(1, role="command"), "Traceback (most recent call last):\n  File")


def printed(text: str) -> Raised:
    found = with_printed_exception(evidence(exited(1, role="command"), said=lines(text))).subject.raised
    assert found is not None
    return found


def as_python_prints(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_exceptions_that_led_to_it_are_known_the_nearest_first() -> None:
    try:
        try:
            try:
                raise OSError(28, "No space left on device")
            except OSError as error:
                raise ValueError("no shard") from error
        except ValueError:
            raise RuntimeError("giving up")  # noqa: B904
    except RuntimeError as error:
        found = printed(as_python_prints(error))

    assert (found.type, found.message) == ("RuntimeError", "giving up")
    assert [(each.how, each.type, each.message) for each in found.causes] == [
        ("context", "ValueError", "no shard"),
        ("cause", "OSError", "[Errno 28] No space left on device"),
    ]


def test_two_tracebacks_without_a_link_are_no_chain() -> None:
    assert printed(LOGGED + UNCAUGHT).causes == ()


def test_a_group_of_exceptions_is_read_with_its_members() -> None:
    found = printed(GROUP)

    assert (found.type, found.message) == ("ExceptionGroup", "unhandled errors in a TaskGroup (2 sub-exceptions)")
    assert [(each.how, each.type, each.message) for each in found.causes] == [
        ("member", "ValueError", "shard 0"),
        ("member", "KeyError", "'lr'"),
    ]
    assert [(frame.file, frame.line) for frame in found.frames] == [
        ("/home/ada/train.py", 9),
        ("/home/ada/train.py", 7),
    ]


def test_a_group_as_this_python_prints_it_is_read() -> None:
    try:
        raise ExceptionGroup("several", [ValueError("one"), ExceptionGroup("inner", [KeyError("two")])])
    except ExceptionGroup as error:
        found = printed(as_python_prints(error))

    assert (found.type, found.message) == ("ExceptionGroup", "several (2 sub-exceptions)")
    assert [each.type for each in found.causes] == ["ValueError", "ExceptionGroup", "KeyError"]


def test_a_line_that_stands_for_many_frames_is_part_of_the_traceback() -> None:
    found = printed(
        "Traceback (most recent call last):\n"
        '  File "/home/ada/train.py", line 9, in <module>\n'
        "    loss(0)\n"
        '  File "/home/ada/train.py", line 5, in loss\n'
        "    return loss(step + 1)\n"
        "  [Previous line repeated 996 more times]\n"
        "RecursionError: maximum recursion depth exceeded\n"
    )

    assert found.type == "RecursionError"


@pytest.mark.parametrize("intro", ["Exception in thread Thread-1 (load):", "Exception ignored in: <function f at 0x1>"])
def test_what_a_thread_or_a_destructor_raised_ended_nothing(intro: str) -> None:
    assert unchanged(exited(1, role="command"), f"{intro}\n{TRACEBACK}")
    assert printed(f"{UNCAUGHT}{intro}\n{TRACEBACK}").type == "ZeroDivisionError"


def test_an_exception_without_words_and_one_of_a_class_in_a_function_have_their_types() -> None:
    assert printed(UNCAUGHT.replace("ZeroDivisionError: division by zero", "AssertionError")).type == "AssertionError"
    assert printed(UNCAUGHT.replace("ZeroDivisionError", "train.main.<locals>.Odd")).type == "train.main.<locals>.Odd"


UNREADABLE = """\
  File "/home/ada/train.py", line 3
    for step in range(10)
                         ^
SyntaxError: expected ':'
"""


def test_a_program_that_python_cannot_read_is_told_without_a_head() -> None:
    told = diagnose(evidence(exited(1, role="command"), said=lines(f"starting\n{UNREADABLE}"), surroundings=DEAF))
    assert told.cause == "uncaught-exception"
    assert "SyntaxError: expected ':'" in told.title


def test_what_cannot_be_read_within_a_traceback_begins_no_other_one() -> None:
    head = 'Traceback (most recent call last):\n  File "/home/ada/train.py", line 1, in <module>\n    import model\n'
    found = printed(head + UNREADABLE)
    assert (found.type, found.traceback.splitlines()[0]) == ("SyntaxError", "Traceback (most recent call last):")


@pytest.mark.parametrize(
    "text", ["ERROR LookupError: no scheduler called cosine", "ValueError: bad", "12:00:01 | data.DataError: no rows"]
)
def test_an_exception_in_one_line_may_have_ended_the_program_or_made_it_leave(text: str) -> None:
    told = diagnose(evidence(exited(1, role="command"), said=lines(f"loss 0.2\n{text}"), surroundings=DEAF))
    assert (told.cause, told.grade, told.candidates) == ("uncaught-exception", "inferred", ("nonzero-exit",))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "ValueError: bad"),
        (1, "ValueError: bad\ngiving up"),
        (1, "error: no such dataset"),
        (1, "ERROR: no such dataset"),
        (1, "could not load: ValueError"),
    ],
)
def test_other_last_lines_are_no_exception(code: int, text: str) -> None:
    assert unchanged(exited(code, role="command"), text)


PEER = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 19, in <module>
    peer.recv(1)
ConnectionResetError: [Errno 104] Connection reset by peer
"""


def test_of_two_processes_the_one_that_lost_the_other_did_not_die_first() -> None:
    ranks = tuple(End(pid=pid, role="child", status=256, at_ns=before(0.1)) for pid in (900, 901))
    found = with_printed_exception(evidence(exited(1, role="command"), said=lines(UNCAUGHT + PEER), children=ranks))
    assert found.subject.raised is not None
    assert found.subject.raised.type == "ZeroDivisionError"


def test_one_process_that_lost_another_says_so_itself() -> None:
    found = with_printed_exception(evidence(exited(1, role="command"), said=lines(UNCAUGHT + PEER)))
    assert found.subject.raised is not None
    assert found.subject.raised.type == "ConnectionResetError"


def test_what_the_user_s_own_code_raised_before_is_their_own_words() -> None:
    first = (
        'Traceback (most recent call last):\n  File "/home/ada/train.py", line 6, in <module>\n'
        "    raise OSError(5, 'simulated')\nOSError: [Errno 5] simulated\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
    )
    told = diagnose(evidence(exited(1, role="command"), said=lines(first + UNCAUGHT), surroundings=DEAF))
    assert told.cause == "uncaught-exception"
    assert told.confidence >= 0.9


UNPICKLED = """\
concurrent.futures.process._RemoteTraceback:
\'\'\'
Traceback (most recent call last):
  File "/usr/lib/python3.11/concurrent/futures/process.py", line 424, in wait_result_broken_or_wakeup
    result_item = result_reader.recv()
  File "/usr/lib/python3.11/multiprocessing/connection.py", line 251, in recv
    return _ForkingPickler.loads(buf.getbuffer())
TypeError: ShardError.__init__() missing 1 required positional argument: 'reason'
\'\'\'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/ada/train.py", line 18, in <module>
    for result in pool.map(work, range(8)):
concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly.
"""


def test_a_pool_that_cannot_read_what_a_worker_sent_ends_its_workers_itself() -> None:
    workers = tuple(End(pid=pid, role="child", status=15, source="connector", at_ns=before(0.5)) for pid in (30, 31))

    told = diagnose(evidence(exited(1, role="command"), said=lines(UNPICKLED), children=workers, state="failed"))

    assert told.cause == "uncaught-exception"


def test_what_make_says_of_its_command_is_no_part_of_the_exception() -> None:
    text = f"{UNCAUGHT}make: *** [Makefile:2: train] Error 1\n"

    found = with_printed_exception(evidence(exited(2, role="command"), said=lines(text))).subject.raised

    assert found is not None
    assert (found.type, found.message, found.where) == ("ZeroDivisionError", "division by zero", "printed")
