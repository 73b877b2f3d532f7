"""What torchrun says of its ranks, where nothing of ours ran in them."""

import msgspec

from holter.diagnosis.ranking import diagnose
from holter.model.evidence import End, Evidence, Memory, MemoryLevel, Said
from holter.model.verdicts import Diagnosis
from tests.causes.specimens import before, evidence, exited, said

REPORT = """\
W1115 11:52:08.606000 11575 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 900 closing signal
E1115 11:52:08.721000 11575 torch/distributed/elastic/multiprocessing/api.py:1002] failed local_rank: 1 (pid: 901)
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "/venv/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-15_11:52:08
  host      : localhost
  rank      : {other} (local_rank: {other})
  exitcode  : -15 (pid: 90{other})  (SIGTERM)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 90{other}
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-15_11:52:08
  host      : localhost
  rank      : {first} (local_rank: {first})
  exitcode  : {code} (pid: 90{first})
  error_file: <N/A>
  traceback : To enable traceback see: the documentation
============================================================
"""
RAISED = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/ada/train.py", line 9, in <module>
[rank1]:     step(batch)
[rank1]: ValueError: bad batch
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/ada/train.py", line 12, in <module>
[rank0]:     dist.all_reduce(t)
[rank0]: RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:53996.
"""
TIMED_OUT = """\
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/ada/train.py", line 12, in <module>
[rank0]:     dist.all_reduce(t)
[rank0]: RuntimeError: [unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete
"""
COUNTED = Memory(levels=(MemoryLevel(level=0, kills=0),), host_kills=0)


def lines(text: str) -> tuple[Said, ...]:
    return tuple(said(line) for line in text.splitlines())


def child(number: int, status: int, *, before_s: float) -> End:
    return End(pid=900 + number, role="child", source="zombie-stat", status=status, at_ns=before(before_s))


def ask(text: str, *children: End) -> Diagnosis:
    seen: Evidence = evidence(exited(1, role="command"), state="failed", said=lines(text), memory=COUNTED)
    return diagnose(msgspec.structs.replace(seen, children=children))


def test_the_rank_that_was_killed_is_named_and_not_the_agents_exit_code() -> None:
    report = REPORT.format(first=1, other=0, code=-9)

    found = ask(report, child(1, 9, before_s=1.5), child(0, 15, before_s=1.4))

    assert found.cause == "killed"
    assert "rank 1" in found.title


def test_the_exception_of_the_rank_that_died_first_is_the_cause() -> None:
    report = RAISED + REPORT.format(first=1, other=0, code=1)

    found = ask(report, child(1, 256, before_s=1.2), child(0, 15, before_s=1.1))

    assert found.cause == "uncaught-exception"
    assert found.title.startswith("Rank 1: ValueError: bad batch")
    assert found.confidence < 0.9


def test_in_a_hang_the_rank_that_torchrun_does_not_blame_is_the_laggard() -> None:
    report = TIMED_OUT + REPORT.format(first=0, other=1, code=1)

    found = ask(report, child(0, 256, before_s=0.7), child(1, 15, before_s=0.6))

    assert found.cause == "collective-timeout"
    assert found.title == "Rank 0 waited in vain for rank 1, which did not come"
    assert found.confidence < 0.9


def test_the_only_rank_that_torchrun_blames_is_known_by_its_own_words() -> None:
    report = RAISED.partition("[rank0]")[0] + REPORT.format(first=1, other=7, code=1)

    found = ask(report, child(1, 256, before_s=1.2))

    assert found.cause == "uncaught-exception"
    assert found.title.startswith("ValueError: bad batch")


PLAIN = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 9, in <module>
    step(batch)
{error}: bad batch
"""


def test_ranks_that_do_not_say_who_they_are_are_known_by_what_all_of_them_raise() -> None:
    report = PLAIN.format(error="ValueError") * 2 + REPORT.format(first=1, other=0, code=1)

    found = ask(report, child(1, 256, before_s=1.2), child(0, 256, before_s=1.1))

    assert found.cause == "uncaught-exception"
    assert found.title.startswith("Rank 1: ValueError: bad batch")
    assert found.confidence < 0.9


def test_nobody_can_tell_whose_exception_it_was_where_ranks_raise_several() -> None:
    raised = PLAIN.format(error="ValueError") + PLAIN.format(error="KeyError")

    found = ask(raised + REPORT.format(first=1, other=0, code=1), child(1, 256, before_s=1.2), child(0, 15, before_s=1))

    assert (found.cause, found.confidence < 0.9) == ("nonzero-exit", True)
