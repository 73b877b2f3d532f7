"""One attempt at a run, whoever begins it."""

from pathlib import Path
from typing import Any

import pytest

from holter.errors import UsageError
from holter.probes.identity import this_process
from holter.recording.attempt import Attempt, identify_here
from holter.recording.identity import Identity
from holter.recording.settings import Settings, read_settings
from holter.recording.voice import Voice


def begun(directory: Path, writer: str = "client", **chosen: Any) -> Attempt:
    """As whoever begins one does, with the first record written."""
    attempt = wanted(directory, **chosen)
    attempt.resume()
    attempt.make_place()
    journal = attempt.open_journal(writer)
    journal.record(attempt.describe(writer))
    journal.close()
    return attempt


def wanted(directory: Path, **chosen: Any) -> Attempt:
    settings: Settings = read_settings({"dir": str(directory), **chosen}, {})
    return Attempt(settings, this_process(), identity=Identity("r1"), voice=Voice(silent=True))


def test_each_beginning_of_a_run_is_another_attempt(tmp_path: Path) -> None:
    assert [begun(tmp_path).number for _ in range(3)] == [1, 2, 3]


def test_what_the_scheduler_counts_is_the_number(tmp_path: Path) -> None:
    begun(tmp_path)
    settings = read_settings({"dir": str(tmp_path)}, {})
    attempt = Attempt(settings, this_process(), identity=Identity("r1", attempt=7), voice=Voice(silent=True))
    attempt.resume()
    assert attempt.number == 7


def test_a_run_that_must_not_be_there_is_refused_with_what_to_change(tmp_path: Path) -> None:
    wanted(tmp_path, resume="never").resume()
    begun(tmp_path)
    with pytest.raises(UsageError, match=r"run r1 exists in .*/r1: choose another id or resume='allow'"):
        wanted(tmp_path, resume="never").resume()
    by_variable = read_settings({}, {"HOLTER_DIR": str(tmp_path), "HOLTER_RESUME": "never"})
    with pytest.raises(UsageError, match="choose another id or HOLTER_RESUME=allow"):
        Attempt(by_variable, this_process(), identity=Identity("r1"), voice=Voice(silent=True)).resume()


def test_a_run_that_must_be_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no run r1 in .*/r1 to resume: check the id and HOLTER_DIR"):
        wanted(tmp_path, resume="must").resume()
    begun(tmp_path)
    wanted(tmp_path, resume="must").resume()


def test_a_program_that_goes_on_keeps_what_its_run_was_called(tmp_path: Path) -> None:
    begun(tmp_path, project="night", name="first", tags=["a"])
    found = begun(tmp_path, project="day", tags=["b"]).describe("client")
    assert (found.project, found.name, found.tags, found.resumed) == ("night", "first", ("a",), True)


def test_a_launcher_that_goes_on_takes_what_was_chosen_now(tmp_path: Path) -> None:
    begun(tmp_path, "launcher", project="night", name="first", tags=["a"])
    found = begun(tmp_path, "launcher", tags=["b"]).describe("launcher")
    assert (found.project, found.name, found.tags, found.resumed) == ("night", "first", ("b",), True)


def test_a_program_adds_its_own_words_to_those_of_its_launcher(tmp_path: Path) -> None:
    begun(tmp_path, "launcher", project="night", name="first")
    attempt = wanted(tmp_path, project="day")
    attempt.resume()
    found = attempt.describe("client")
    assert (found.project, found.name, found.resumed) == ("day", "first", False)


def test_ranks_of_an_agent_without_an_id_are_one_run() -> None:
    environ = {"TORCHELASTIC_RUN_ID": "none", "RANK": "1"}
    first, second = identify_here("", environ), identify_here("", environ)
    assert (first.run, first.rank) == (second.run, 1)
    assert identify_here("", {}).run != identify_here("", {}).run
