"""`resume="auto"`: which run a program continues that is started again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.recording.identity import place_of

PROGRAM = """
import os, sys, holter
run = holter.init(project="p", resume="auto", mode="offline", settings={"silent": True})
run.log({"a": 1})
print(run.id, run.step, flush=True)
word = sys.stdin.readline().strip()
if word == "die":
    os.kill(os.getpid(), 9)
"""
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAMESPACE": "ml", "JOB_COMPLETION_INDEX": "3"}


class Program:
    def __init__(self, **environ: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.run, self.step = self._process.stdout.readline().split()

    def end(self, word: str = "") -> "Program":
        self._process.communicate(word + "\n")
        return self


def test_two_at_once_never_continue_one_run() -> None:
    died = Program().end("die")
    first = Program()
    second = Program()
    assert (first.run, first.step) == (died.run, "2")
    assert second.run != died.run
    second.end()
    first.end("die")
    assert Program().end().run == died.run


def test_a_pod_of_a_job_continues_the_run_of_the_pod_before_it_also_where_its_disk_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Program(**POD, POD_NAME="train-3-x7k2p").end("die")
    other = Program(**{**POD, "JOB_COMPLETION_INDEX": "4"}, POD_NAME="train-4-bbbbb").end("die")
    again = Program(**POD, POD_NAME="train-3-9zq4d").end()
    assert (again.run, again.step) == (first.run, "2")
    assert other.run != first.run
    assert Program(**POD, POD_NAME="train-3-c4c4c").end("die").run != first.run  # it had ended well
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "new-disk"))
    assert Program(**POD, POD_NAME="train-3-w5w5w").end("die").run == first.run


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, ""),
        ({"HOSTNAME": "laptop"}, ""),
        ({**POD, "HOSTNAME": "train-3-x7k2p"}, "kubernetes/ml/train/3"),
        ({"KUBERNETES_SERVICE_HOST": "1", "HOSTNAME": "train-x7k2p"}, "kubernetes//train/"),
        ({"KUBERNETES_SERVICE_HOST": "1", "HOSTNAME": "fit-worker-1", "RANK": "2"}, "kubernetes//fit/"),
        ({"KUBERNETES_SERVICE_HOST": "1", "HOSTNAME": "fit-master-0", "RANK": "0"}, "kubernetes//fit/"),
    ],
)
def test_the_name_that_stays_is_the_jobs(environ: dict[str, str], place: str) -> None:
    assert place_of(environ) == place
