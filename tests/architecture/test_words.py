"""Guards the words for people: every text that a rule and its examples bring forth says which kernel it means.

Those of the recorded deaths are looked through where these are judged again: tests/zoo/test_recorded_deaths.py.
"""

import re
from pathlib import Path

import holter
from holter.diagnosis.loading import load_rules
from holter.diagnosis.ranking import diagnose
from tests.causes import examples_of
from tests.words import FORBIDDEN, texts_of, wrong_words


def test_no_text_for_people_has_a_wrong_word() -> None:
    rules = [rule for rule in load_rules() if rule.module.startswith("holter.")]
    texts = {text for rule in rules for text in (rule.explanation, rule.remedy)}
    texts |= {text for rule in rules for each in examples_of(rule.cause) for text in texts_of(diagnose(each.evidence))}
    assert len(texts) > 100
    assert wrong_words(texts) == {}


def test_each_wrong_word_is_found() -> None:
    said = ["The kernel died.", "It reached the limit of its cgroup.", "The program left by itself."]
    assert wrong_words(said) == {why: [text] for why, text in zip(FORBIDDEN, said, strict=True)}
    assert wrong_words(["The notebook's kernel died: its container's memory limit (cgroup), /sys/fs/cgroup/x"]) == {}


OF_NOTEBOOKS = (
    "jupyter/",
    "client/notebook/",
    "client/extension.py",
    "diagnosis/kernel_requests.py",
    "recording/kernels.py",
    "diagnosis/rules/kernel_",
    "catalog/present/deaths.py",
    "catalog/read/cells.py",
    "catalog/judge/ends.py",
    "catalog/read/fatal_cell.py",
    "model/records.py",
)
"""Files in which a kernel is Jupyter's, whatever stands around the word."""


def test_linux_is_called_so_and_a_kernel_is_that_of_a_notebook() -> None:
    source = Path(holter.__file__).parent
    meant = re.compile(r"notebook|[Jj]upyter|kernel(?:'s)? log|kernel \w+ module")
    found = []
    for path in sorted(source.rglob("*.py")):
        name = str(path.relative_to(source))
        if not name.startswith(OF_NOTEBOOKS):
            lines = enumerate(path.read_text().splitlines(), start=1)
            said = [(number, line) for number, line in lines if re.search(r"\b[Tt]he kernel\b", line)]
            found += [f"{name}:{number}: {line.strip()}" for number, line in said if not meant.search(line)]
    assert found == []
