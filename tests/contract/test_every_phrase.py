"""What every phrase of `diagnosis/phrases` promises."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from holter import diagnosis
from holter.diagnosis.phrases.tags import TOPICS, Tags, needles, read_table, tags_in
from tests.zoo.fault import load_faults

FAULTS = {fault.name for fault in load_faults()}
HOUSE = Path(diagnosis.__path__[0])
SAMPLES = Path(__file__).parents[1] / "phrases"
TAGS = read_table()
ASKING = {"says": 1, "in_exception": 1, "says_at_its_end": 1, "line_near_end": 1, "last_words": 1, "_first": 0}
"""Who takes a tag, and at which place."""
ALSO_SAY = {
    "library-mismatch": "cannot-open gpu-spoken-of",
    "cuda-mismatch": "gpu-spoken-of",
    "gpu-spoken-of": "gpu-memory-refused-to-library",
    "gpu-program-fault": "exception-of-accelerator gpu-spoken-of",
    "gpu-hardware-fault": "gpu-spoken-of memory-failed",
    "gpu-memory-refused-by-type": (
        "gpu-memory-asked gpu-memory-refused gpu-spoken-of job-out-of-memory memory-lacking no-memory"
        " out-of-memory torch-asked"
    ),
    "gpu-memory-refused": (
        "gpu-memory-asked gpu-memory-refused-by-type gpu-spoken-of job-out-of-memory memory-lacking no-memory"
        " out-of-memory torch-asked"
    ),
    "gpu-memory-refused-to-library": "gpu-spoken-of",
    "exception-of-accelerator": "cuda-not-initialised gpu-spoken-of",
    "gpu-memory-asked": (
        "asked-bytes bytes-to-write gpu-memory-refused gpu-memory-refused-by-type gpu-spoken-of job-out-of-memory"
        " memory-lacking no-memory out-of-memory torch-asked"
    ),
    "torch-asked": (
        "gpu-memory-asked gpu-memory-refused gpu-memory-refused-by-type gpu-spoken-of job-out-of-memory"
        " memory-lacking no-memory out-of-memory"
    ),
    "cuda-after-fork": "gpu-spoken-of",
    "cuda-not-initialised": "exception-of-accelerator gpu-spoken-of",
    "no-such-gpu": "exception-of-accelerator gpu-spoken-of",
    "array-refused": "memory-refused no-memory",
    "asked-bytes": "bytes-to-write gpu-memory-asked memory-of-cpu memory-refused",
    "bad-alloc": "aborts memory-lacking memory-refused memory-refused-natively",
    "out-of-memory": "job-out-of-memory memory-lacking no-memory",
    "memory-refused": (
        "aborts array-refused asked-bytes bad-alloc exception-of-accelerator gpu-memory-refused gpu-spoken-of"
        " job-out-of-memory memory-lacking memory-of-cpu memory-refused-natively no-memory out-of-memory"
        " shared-memory-refused"
    ),
    "no-memory": "array-refused job-out-of-memory memory-lacking memory-refused out-of-memory",
    "memory-refused-natively": "aborts bad-alloc memory-lacking memory-refused",
    "memory-lacking": (
        "aborts bad-alloc job-out-of-memory memory-refused memory-refused-natively no-memory out-of-memory"
    ),
    "shared-memory-refused": "disk-full logged no-disk no-memory room-lacking",
    "aborts": "bad-alloc gives-up logged memory-lacking memory-refused memory-refused-natively wrapper",
    "gives-up": "aborts",
    "fatal-signal": "aborts gives-up",
    "no-new-thread": "start-refused team-refused thread-refused",
    "team-refused": "no-new-thread start-refused tasks-lacking thread-refused",
    "thread-refused": "no-new-thread start-refused tasks-lacking team-refused",
    "start-refused": "no-new-thread tasks-lacking team-refused thread-refused",
    "tasks-lacking": "aborts",
    "collective-watchdog": "collective-timeout gpu-spoken-of rank-prefix",
    "job-out-of-memory": "scheduler-process",
    "handed-over": "of-a-worker",
    "fork-among-threads": "child-spoken-of exit-spoken-of package-mismatch",
    "peer-lost": "child-spoken-of exit-spoken-of pipe-broken",
    "child-lost": "child-spoken-of command-of-child exit-spoken-of signal-of-child",
    "collective-timeout": "collective-watchdog gpu-spoken-of",
    "work-enqueued": "gpu-spoken-of",
    "pipe-broken": "peer-lost",
    "signal-of-child": "child-lost child-spoken-of command-of-child exit-spoken-of",
    "command-of-child": "child-lost child-spoken-of exit-spoken-of signal-of-child",
    "pids": "exit-spoken-of",
    "number": "exit-spoken-of",
    "negative-number": "exit-spoken-of",
    "child-spoken-of": "child-lost exit-spoken-of signal-of-child",
    "exit-spoken-of": "child-lost child-spoken-of command-failed signal-of-child",
    "srun-code": "exit-spoken-of",
    "rank-failed": "exit-spoken-of",
    "wrapper": "aborts",
    "exception-line": "gpu-memory-refused gpu-spoken-of job-out-of-memory memory-lacking no-memory out-of-memory",
    "exception-named": "gpu-memory-refused gpu-spoken-of job-out-of-memory memory-lacking no-memory out-of-memory",
    "goes-on": "gpu-memory-refused gpu-spoken-of job-out-of-memory memory-lacking no-memory out-of-memory",
    "room-lacking": "disk-full",
    "database-full": "disk-full",
    "disk-full": "bytes-to-write database-full room-lacking",
    "bytes-to-write": "disk-full",
    "command-failed": "exit-spoken-of",
    "no-disk": "no-memory shared-memory-refused",
    "errno": (
        "asked-bytes bytes-to-write disk-full gpu-memory-asked memory-of-cpu memory-refused no-disk no-memory"
        " room-lacking shared-memory-refused"
    ),
    "cannot-open": "library-mismatch",
    "files-lacking": "too-many-files",
    "too-many-files": "files-lacking",
    "descriptors-lost": "cannot-open no-disk shared-memory-refused",
    "writes-to-terminal": "loss own-numbers",
    "path": "disk-full no-disk no-memory room-lacking shared-memory-refused",
    "not-finite": "loss own-numbers",
    "loss": "not-finite own-numbers",
    "own-numbers": "loss not-finite",
    "metric-of-loss": "loss not-finite own-numbers",
}
"""What else the messages of a tag say."""
FORMS = frozenset(
    "path command-name errno errno-of-python errno-first writes-to-terminal metric-of-loss in-a-fork line-of-a-stack"
    " place number negative-number exit-code pids exception-line exception-named goes-on not-own-file".split()
)
"""Which are in messages of any meaning."""


class Sample(NamedTuple):
    """A real message: `source` is `zoo: ` and the name of a fault, else a source file of who says it."""

    tag: str
    pattern: str
    source: str
    text: str


def read_samples() -> dict[str, list[Sample]]:
    """Those of each tag, of the phrases of other tags that say it, too."""
    form = re.compile(r"^(?P<tag>\S+)$|^ {4}(?P<pattern>\S.*)\n {8}(?P<source>.+)\n {8}(?P<text>.+)$", re.MULTILINE)
    own: dict[str, Sample] = {}
    for topic in TOPICS:
        tag = ""
        for found in form.finditer((SAMPLES / f"{topic.__name__.rpartition('.')[2]}.txt").read_text()):
            tag = found["tag"] or tag
            if found["pattern"]:
                text = found["text"].replace("\\n", "\n")
                own[found["pattern"]] = Sample(tag, found["pattern"], found["source"], text)
    return {name: [own[phrase.pattern] for phrase in tag.phrases] for name, tag in TAGS.items()}


READ = read_samples()


def asked() -> Iterator[str]:
    """Each tag that is asked for, by its name."""
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield from (str(each.value) for each in given(node) if isinstance(each, ast.Constant))


def given(call: ast.Call) -> list[ast.expr]:
    """The tags that a call is given."""
    name = ast.unparse(call.func)
    if (asking := name.removeprefix("texts.")) in ASKING:
        return call.args[ASKING[asking] :][:1]
    if name.startswith("tags_in("):
        return call.args[:1]
    return call.args[:1] if name == "Mistake" else []


@pytest.mark.parametrize("tag", TAGS)
def test_its_real_messages_say_it(tag: str) -> None:
    silent = [each for each in READ[tag] if not re.search(each.pattern, each.text)]
    unheard = [each for each in READ[tag] if tag not in Tags(each.text)]
    assert silent == unheard == []


@pytest.mark.parametrize("tag", TAGS)
def test_it_names_who_says_it_and_where_that_was_seen(tag: str) -> None:
    assert all(phrase.by for phrase in TAGS[tag].phrases)
    for each in READ[tag]:
        place, _, what = each.source.partition(": ")
        assert place
        assert what, "name a file, a function or a tool"
        assert place != "zoo" or what in FAULTS, "no fault is called so"


@pytest.mark.parametrize("tag", TAGS)
def test_what_else_its_messages_say_is_known(tag: str) -> None:
    said = {other for each in READ[tag] for other in TAGS if other in Tags(each.text)}
    assert " ".join(sorted(said - FORMS - {tag})) == ALSO_SAY.get(tag, "")


def test_a_text_is_read_once_for_each_tag() -> None:
    text = "OSError: [Errno 28] No space left on device: '/data/a.pt'"
    assert tags_in(text) is tags_in("".join(text))
    assert tags_in(text).get("disk-full") is tags_in(text).get("disk-full")
    assert [match[1] for match in tags_in(text).every("errno")] == ["28"]


def test_the_first_place_that_says_it_counts() -> None:
    found = tags_in("unspecified launch failure after an illegal memory access").get("gpu-program-fault")
    assert found is not None
    assert found[0] == "unspecified launch failure"


def test_what_follows_every_error_of_cuda_is_no_device_side_assert() -> None:
    text = "CUDA error: invalid device ordinal\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
    assert "gpu-program-fault" not in tags_in(text)
    assert "no-such-gpu" in tags_in(text)


@pytest.mark.parametrize("word", ["failed", "Failed"])
def test_who_hears_nothing_from_the_store_of_its_ranks_has_lost_one_in_old_and_new_pytorch(word: str) -> None:
    text = f"torch.distributed.DistBackendError: store->get('0') got error: {word} to recv, got 0 bytes"
    assert "peer-lost" in tags_in(text)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("GPU is lost", ("gpu is lost",)),
        (r"free\(\): |double free", ("free(): ", "double free")),
        (r"(?i)(?:not enough|insufficient) memory", (" memory",)),
        (r"Tried to allocate ([\d.]+) ([KMGT]iB)", ("tried to allocate ",)),
        (r"no connections?", ("no connection",)),
        (r"\[0x[0-9a-f]+\]", ("[0x",)),
    ],
)
def test_words_that_are_in_each_text_with_the_pattern(pattern: str, words: tuple[str, ...]) -> None:
    assert needles(pattern) == words


def test_each_tag_has_a_name_of_its_own_and_a_meaning() -> None:
    heads = [line for topic in TOPICS for line in topic.TABLE.splitlines() if line and not line.startswith(" ")]
    names = Counter(head.partition(": ")[0].removesuffix(" (end)") for head in heads)
    assert [name for name, times in names.items() if times > 1] == []
    assert set(names) == set(TAGS)
    assert all(tag.means and tag.phrases for tag in TAGS.values())


def test_each_tag_is_asked_for_or_part_of_another_and_no_others_are() -> None:
    parts = {line.strip()[2:] for topic in TOPICS for line in topic.TABLE.splitlines() if line.startswith("    + ")}
    assert set(asked()) | parts == set(TAGS)
