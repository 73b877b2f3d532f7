"""Guards the words for people: every text that a rule or a recorded death brings forth says which kernel it means."""

import functools
import re
from collections.abc import Iterator

import pytest

from holter.diagnosis.loading import load_rules
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import Evidence
from tests.causes import examples_of
from tests.zoo.modes import all_modes
from tests.zoo.recorded import path_of, read_deaths

FORBIDDEN = {
    "a kernel that may be Linux's, a notebook's or a GPU's": r"(?<!notebook's )(?<!notebooks' )(?<!Linux )\bkernels?\b",
    "a cgroup without saying what that is": r"(?<!\()(?<!/)\bcgroups?\b(?!\))",
    "a verb for how programs end that nobody uses": r"\b(?:left|leaves|leave) (?:by itself|in order|with exit code)",
}
QUOTED = re.compile(
    r"CUDA kernel|no kernel image|kernel\.dmesg_restrict|_?kernels?\.(?:so|c|cpython)|/sys/(?:fs/cgroup|kernel)\S*|"
    r"Memory cgroup out of memory.*|the cgroup out-of-memory handler|PyInit__kernels"
)
"""What programs and Linux say in their own words, names of files and of settings."""


def deaths() -> Iterator[Evidence]:
    for mode in all_modes():
        if path_of(mode).exists():
            yield from (death.evidence for death in read_deaths(path_of(mode)))


def texts_for(evidence: Evidence) -> Iterator[str]:
    found = diagnose(evidence)
    yield from (found.title, *found.advice, *found.contributing)
    yield from (f"{fact.source} {fact.text}" if fact.source != "cgroup" else fact.text for fact in found.evidence)
    yield from (each.because for each in found.ruled_out)
    yield from (f"{each.because} {each.remedy}" for each in found.not_observable)


@functools.cache
def all_texts() -> set[str]:
    rules = [rule for rule in load_rules() if rule.module.startswith("holter.")]
    texts = {text for rule in rules for text in (rule.explanation, rule.remedy)}
    texts |= {text for rule in rules for each in examples_of(rule.cause) for text in texts_for(each.evidence)}
    return texts | {text for evidence in deaths() for text in texts_for(evidence)}


@pytest.mark.parametrize("pattern", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_no_text_for_people_has(pattern: str) -> None:
    assert sorted(text for text in all_texts() if re.search(pattern, QUOTED.sub("", text))) == []
