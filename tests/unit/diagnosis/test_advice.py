"""Guards the advice: every remedy is printed by some cause, every cause prints some."""

import importlib
import inspect
import itertools
import pkgutil

import pytest

from holter.diagnosis import advice, remedies
from holter.diagnosis.advice import MOST, Remedy
from holter.diagnosis.loading import load_rules
from holter.diagnosis.ranking import diagnose
from holter.diagnosis.remedies import memory
from holter.diagnosis.rules import uncaught_exception
from holter.model.evidence import Evidence, Holder, Memory, MemoryLevel
from holter.model.verdicts import Verdict
from tests.causes import examples_of
from tests.causes.specimens import PID, evidence, exited, failed, gone, signalled

PROMISED = {
    "smaller batch": "batch",
    "fewer workers": "lower num_workers from 8 to 4",
    "generators or memmaps": "memmap",
    "narrower numbers": "float16",
    "memory growth": "set_memory_growth",
    "clear_session": "clear_session",
    "detached losses": "detach()",
    "graph mode": "tf.function",
    "Out[]": "Out[]",
    "a fresh kernel": "restart the notebook's kernel",
    "a script": "as a script",
    "shm": "--shm-size",
    "open files": "ulimit -n",
    "more memory": "--mem=",
    "a warning before the end": "--signal=B:USR1@120",
    "versions": "cuDNN",
    "cooling": "cool it",
    "resume": "holter.init(",
}


ADVICE = {rule.cause: rule.advice for rule in load_rules()}


def advise(cause: str, seen: Evidence) -> tuple[str, ...]:
    return advice.advise(seen, ADVICE[cause])


def all_remedies() -> list[Remedy]:
    modules = [
        importlib.import_module(f"{remedies.__name__}.{each.name}") for each in pkgutil.iter_modules(remedies.__path__)
    ]
    shared = [
        value
        for module in modules
        if not module.__name__.endswith(".particulars")
        for name, value in vars(module).items()
        if (inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"))
        or (isinstance(value, str) and name.isupper())
    ]
    return [*shared, *(remedy for cures in ADVICE.values() for remedy in cures if remedy not in shared)]


def say(remedy: Remedy, seen: Evidence) -> str:
    return remedy if isinstance(remedy, str) else remedy(seen)


def printed() -> list[tuple[str, Evidence, tuple[str, ...]]]:
    answers = [
        (rule, each.evidence, rule.ask(each.evidence)) for rule in load_rules() for each in examples_of(rule.cause)
    ]
    return [(rule.cause, seen, answer.advice) for rule, seen, answer in answers if isinstance(answer, Verdict)]


PRINTED = printed()


@pytest.mark.parametrize("words", PROMISED.values(), ids=list(PROMISED))
def test_every_remedy_that_we_promise_is_printed_by_some_cause(words: str) -> None:
    assert [cause for cause, _, told in PRINTED if any(words in text for text in told)]


@pytest.mark.parametrize("remedy", all_remedies(), ids=itertools.count())
def test_every_remedy_is_printed_by_some_cause(remedy: Remedy) -> None:
    causes = [cause for cause, seen, told in PRINTED if say(remedy, seen) in told]
    unknown = diagnose(evidence(gone()))
    assert causes or say(remedy, evidence(gone())) in unknown.advice


def test_every_remedy_can_speak_about_any_evidence() -> None:
    for remedy in all_remedies():
        for _, seen, _ in PRINTED:
            text = say(remedy, seen)
            assert text == " ".join(text.split())
            assert "None" not in text


def test_workers_are_halved_with_what_they_held() -> None:
    holders = [Holder(pid=900 + n, name="pt_data_worker", rss_bytes=2**30, is_ours=True) for n in range(4)]
    main = Holder(pid=PID, name="python", rss_bytes=2**31, is_ours=True)
    machine = Memory(levels=(MemoryLevel(level=0, limit_bytes=8 * 2**30),), holders=(main, *holders))
    seen = evidence(signalled(9), memory=machine, config={"data": {"num_workers": 4}})
    assert advise("cgroup-out-of-memory", seen)[0] == (
        "workers held 4.0 GiB of the 8.0 GiB limit: lower num_workers from 4 to 2"
    )


def test_workers_that_were_seen_at_different_times_do_not_hold_more_than_there_is() -> None:
    holders = tuple(Holder(pid=900 + n, name="pt_data_worker", rss_bytes=3 * 2**30, is_ours=True) for n in range(4))
    machine = Memory(levels=(MemoryLevel(level=0, limit_bytes=8 * 2**30),), holders=holders)
    seen = evidence(signalled(9), memory=machine, config={"num_workers": 4})
    assert advise("cgroup-out-of-memory", seen)[0].startswith("workers held nearly all of the 8.0 GiB limit: lower")


def test_a_run_without_workers_is_not_told_to_use_fewer() -> None:
    seen = evidence(signalled(9), config={"num_workers": 0})
    assert not [text for text in advise("cgroup-out-of-memory", seen) if "workers" in text]


def test_workers_that_nobody_saw_are_not_blamed() -> None:
    main = Holder(pid=PID, name="python", rss_bytes=2**31, is_ours=True)
    seen = evidence(signalled(9), memory=Memory(holders=(main,)), config={"num_workers": 8})
    assert not [text for text in advise("cgroup-out-of-memory", seen) if "workers" in text]


def test_a_batch_of_one_is_not_halved() -> None:
    assert not [
        text for text in advise("gpu-out-of-memory", evidence(exited(1), config={"batch_size": 1})) if "batch" in text
    ]


MEMORY_CAUSES = sorted(cause for cause, cures in ADVICE.items() if memory.smaller_batch in cures)


@pytest.mark.parametrize("cause", [*MEMORY_CAUSES, "gpu-out-of-memory", "arithmetic-fault", "diverged"])
def test_a_program_without_batches_is_not_advised_about_them(cause: str) -> None:
    seen = evidence(signalled(9), config={"lr": 0.1}, facts={"packages": {"pandas": "3.0"}})
    assert not [text for text in advise(cause, seen) if "batch" in text]


@pytest.mark.parametrize("cause", [*MEMORY_CAUSES, "gpu-out-of-memory"])
def test_a_batch_that_the_config_names_is_halved(cause: str) -> None:
    told = "lower bs from 64 to 32, and accumulate gradients over 2 steps to keep the effective batch"
    assert told in advise(cause, evidence(signalled(9), config={"bs": 64}))


def test_a_framework_that_fills_the_gpu_is_taken_to_have_batches() -> None:
    seen = evidence(failed("torch.OutOfMemoryError", "CUDA out of memory."))
    assert any(text.startswith("lower the batch size") for text in advise("gpu-out-of-memory", seen))


def test_slurm_is_asked_in_its_own_words() -> None:
    machine = Memory(levels=(MemoryLevel(level=0, limit_bytes=8 * 2**30),))
    seen = evidence(signalled(9), memory=machine, facts={"schedulers": {"slurm": {"job": "7"}}})
    assert "ask SLURM for more memory (now 8.0 GiB): --mem=12G" in advise("cgroup-out-of-memory", seen)


def test_special_remedies_come_first_and_advice_stays_short() -> None:
    seen = evidence(failed("ValueError", "x"), is_notebook=True)
    found = advice.advise(seen, ADVICE["gpu-out-of-memory"], first=["mend the roof"])
    assert found[0] == "mend the roof"
    assert len(found) <= MOST


@pytest.mark.parametrize(("unused", "is_told"), [("2.00 MiB", False), ("30.50 GiB", True)])
def test_another_allocator_is_advised_only_where_the_pieces_would_have_sufficed(unused: str, *, is_told: bool) -> None:
    message = (
        f"CUDA out of memory. Tried to allocate 30.00 GiB. […] and {unused} is reserved by PyTorch but unallocated."
    )
    told = advise("gpu-out-of-memory", evidence(failed("torch.OutOfMemoryError", message)))
    assert any(f"expandable_segments:True: {unused}" in each for each in told) is is_told


@pytest.mark.parametrize("cause", sorted(ADVICE))
def test_a_notebook_is_never_sent_to_gdb_or_told_to_start_with_holter_run(cause: str) -> None:
    for role in ("program", "kernel"):
        for end in (signalled(11, role=role), exited(1, role=role)):
            told = " ".join(advise(cause, evidence(end, is_notebook=role == "program")))
            assert not any(word in told for word in ("gdb", "valgrind", "start it with holter run")), told


def test_a_kernel_that_cannot_start_is_mended_by_one_command_with_its_own_python() -> None:
    command = "/opt/my env/bin/python -m ipykernel_launcher -f kernel-1.json"
    end = failed("ModuleNotFoundError", "No module named 'ipykernel'", role="kernel", name=command)
    found = uncaught_exception.diagnose(evidence(end))
    assert isinstance(found, Verdict)
    assert found.advice[0] == "install it for the notebook's kernel: '/opt/my env/bin/python' -m pip install ipykernel"
    assert not any("%load_ext" in each for each in found.advice)
