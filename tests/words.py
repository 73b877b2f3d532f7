"""The words for people: what no text that a user can meet may say."""

import re
from collections.abc import Iterable, Iterator

from holter.model.verdicts import Diagnosis

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


def texts_of(found: Diagnosis) -> Iterator[str]:
    """All that a diagnosis says to people."""
    yield from (found.title, *found.advice, *found.contributing)
    yield from (f"{fact.source} {fact.text}" if fact.source != "cgroup" else fact.text for fact in found.evidence)
    yield from (each.because for each in found.ruled_out)
    yield from (f"{each.because} {each.remedy}" for each in found.not_observable)


def wrong_words(texts: Iterable[str]) -> dict[str, list[str]]:
    """The texts that say what they may not, by what that is."""
    bare = {text: QUOTED.sub("", text) for text in set(texts)}
    wrong = {why: sorted(text for text in bare if re.search(how, bare[text])) for why, how in FORBIDDEN.items()}
    return {why: found for why, found in wrong.items() if found}
