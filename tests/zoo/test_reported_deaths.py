"""Deaths of which people said that the verdict was wrong: exported for real, and judged again by the rules of today."""

import os
import signal
from pathlib import Path

import pytest

from holter.cli.main import main
from tests.e2e.programs import data_directory, only_run, start
from tests.zoo.case import Case
from tests.zoo.figures import wrong_confident
from tests.zoo.modes import STANDARD
from tests.zoo.recorded import REPORTED, Report, judge_again, read_deaths, read_reports

TRAINING = """
    import holter, time
    run = holter.init(project="p", name="otter", config={"batch_size": 64, "corpus": "reviews-of-ada"})
    run.log({"loss": 1.0})
    print("reading /home/ada/corpus with password=correct-horse-battery-9", flush=True)
    print("ready", flush=True)
    time.sleep(600)
"""


def judged(report: Report) -> Case:
    """As a person says that it was; of the state they say nothing."""
    answer = judge_again(report.evidence)
    return Case(
        fault=report.fault,
        kind="reported",
        share="open",
        mode=STANDARD,
        truths=(None if report.says.cause == "none" else report.says.cause,),
        state=answer["state"],
        answer=answer,
    )


@pytest.mark.parametrize("path", sorted(REPORTED.iterdir()), ids=lambda path: path.stem)
def test_what_was_reported_is_not_told_wrong_and_sure_again(path: Path) -> None:
    for report in read_reports(path):
        assert report.says.cause != "other", "say which cause it was, before it becomes a case"
        case = judged(report)
        assert wrong_confident([case]) == [], case.words
        assert case.is_right or not report.was_right, case.words


def exported(path: Path, capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `holter why --wrong` says on stderr; what it prints is the file."""
    capfd.readouterr()
    assert main(["why", "--wrong", *arguments]) == 0
    out, told = capfd.readouterr()
    path.write_text(out)
    return told


def test_a_wrong_verdict_is_exported_without_names_and_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with start(TRAINING) as program:
        assert program.stdout is not None
        while program.stdout.readline() != "ready\n":
            assert program.poll() is None
        os.kill(program.pid, signal.SIGKILL)
    loaded = only_run()
    assert loaded.row.cause == "killed"
    path = tmp_path / "wrong.jsonl"
    assert "nobody has said" in exported(path, capfd)
    assert path.read_text() == ""
    monkeypatch.setenv("LOGNAME", "ada")
    said = ["mark", "otter", "--cause", "gpu-out-of-memory", "--reason", "nvidia-smi showed 79/80 GB"]
    assert main(said) == 0
    told = exported(path, capfd, "otter")
    assert "holter says killed; ada says that it was gpu-out-of-memory: nvidia-smi showed 79/80 GB" in told
    assert "1 death exported" in told
    [report] = read_reports(path)
    assert (report.says.cause, report.says.reason) == ("gpu-out-of-memory", "nvidia-smi showed 79/80 GB")
    assert judged(report).cause == "killed"
    assert not judged(report).is_right
    assert report.evidence.config == {"batch_size": 64}
    assert [line.text for line in report.evidence.said][:1] == [f"reading /home/ann/corpus with password={'*' * 23}"]
    text = path.read_text()
    private = ["/ada", str(Path.cwd()), str(data_directory()), f'"{os.uname().nodename}"']
    assert [each for each in private if each in text] == []
    [death] = read_deaths(path)
    assert (death.fault, death.was_right) == (
        f"is said to have died of gpu-out-of-memory (run {loaded.row.id})",
        False,
    )
