"""What is asked when whoever watched is gone."""

import msgspec

from holter.journal.digest import Digest
from holter.model.evidence import Counters, Job, MemoryLevel, Unseen
from holter.model.record import Record
from holter.model.records import ChildExited, Exited, Facts, Launched, Looked, Opened
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.asking import look_again
from holter.probes.postmortem.job import known_job
from holter.probes.postmortem.past import recall


def digest(writer: str, *said: Record, host: str = "elsewhere", attempt: int = 1, pid: int = 7) -> Digest:
    opened = Opened(
        at_ns=100,
        run="r",
        writer=writer,
        host=host,
        boot_id="b",
        pid=pid,
        process_started=1,
        holter="0",
        attempt=attempt,
    )
    return Digest(f"{writer}-{attempt}-{pid}", opened, said=list(said))


def test_a_run_that_nobody_recorded_into_has_no_past() -> None:
    assert recall([digest("sidecar")], 0) is None
    assert look_again([], 0) == []


def test_only_the_newest_attempt_counts() -> None:
    facts = Facts(at_ns=1, facts={"schedulers": {"slurm": {"job_id": "7"}}})
    child = ChildExited(at_ns=5, pid=9, source="gone")
    digests = [digest("client", pid=3), digest("client", attempt=2), digest("sidecar", facts, child, attempt=2, pid=8)]
    past = recall(digests, 200)
    assert past is not None
    assert past.opened.pid == 7
    assert past.pids == {7, 9}
    assert past.schedulers == {"slurm": {"job_id": "7"}}


def test_under_holter_run_the_program_is_the_command() -> None:
    command = Launched(at_ns=1, pid=99, process_started=1, command=("python", "train.py"))
    past = recall([digest("launcher", command)], 200)
    assert past is not None
    assert (past.opened.pid, past.pid, past.pids) == (7, 99, frozenset({7, 99}))


def test_on_another_host_nobody_is_asked_about_this_one() -> None:
    assert look_again([digest("client", Exited(at_ns=5, journal="x", pid=7, source="gone"))], 200) == []


def test_answers_of_a_newer_holter_are_left_out() -> None:
    strange = Looked(at_ns=1, source="counters", pid=7, found={"levels": "many"})
    past = recall([digest("client"), digest("sidecar", strange)], 200)
    assert past is not None
    assert past.said("counters") == []


def test_a_source_that_could_not_answer_has_said_nothing() -> None:
    past = recall([digest("client"), digest("sidecar", answer("kernel-log", Unseen(because="no"), at_ns=1))], 200)
    assert past is not None
    assert past.said("kernel-log") == []


def test_a_job_is_put_together_from_all_that_was_learnt() -> None:
    facts = Facts(at_ns=1, facts={"schedulers": {"slurm": {"job_id": "7"}}})
    begun = answer("job", Job(scheduler="slurm", job="7", restarts=1, output="/home/me/7.out"), at_ns=2)
    ended = answer("job", Job(scheduler="slurm", job="7", state="COMPLETING"), at_ns=3)
    past = recall([digest("client"), digest("sidecar", facts, begun, ended)], 200)
    assert past is not None
    assert known_job(past) == Job(
        scheduler="slurm", job="7", state="COMPLETING", restarts=1, output="/home/me/7.out", source="environment"
    )


def test_answers_survive_the_journal() -> None:
    counters = Counters(levels=(MemoryLevel(level=0, path="/job", kills=1),), host_kills=1)
    kept = answer("counters", counters, at_ns=1, pid=7)
    assert msgspec.convert(kept.found, Counters) == counters
    assert answer("job", Unseen(because="no", remedy="do"), at_ns=1) == Looked(
        at_ns=1, source="job", because="no", remedy="do"
    )
