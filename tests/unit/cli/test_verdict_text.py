"""A verdict in words, for terminals of all kinds."""

import time
from collections.abc import Iterator

import pytest

from holter.cli.stdout import Look
from holter.cli.verdict_text import verdict_lines
from holter.diagnosis.words import how_sure
from holter.model.verdicts import CauseMark, Diagnosis, Fact, NotObservable, RuledOut

AT = 1_700_000_000.0
OUT_OF_MEMORY = Diagnosis(
    cause="cgroup-out-of-memory",
    confidence=0.985,
    title="Linux killed process 77 because its container's memory limit (cgroup) of 8.0 GiB was used up.",
    state="crashed",
    evidence=(
        Fact("counters", AT, "oom_kill of /job rose from 0 to 1"),
        Fact("exit status", AT + 1, "SIGKILL ended process 77"),
    ),
    advice=("lower num_workers from 8 to 4 — workers held 7.1 GiB of the 8.0 GiB limit", "ask for more with --mem"),
    contributing=("memory-leak",),
    ruled_out=(
        RuledOut(cause="host-out-of-memory", because="9.0 GiB of the machine were free"),
        RuledOut(cause="userspace-oom-killer", because="9.0 GiB of the machine were free"),
    ),
    not_observable=(
        NotObservable(cause="killed", because="the Linux kernel log may not be read", remedy="join the group adm"),
    ),
)


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def test_what_a_person_says_against_it_stands_below_the_cause() -> None:
    mark = CauseMark(cause="disk-full", reason="df showed 100 %", by="ada", at=AT)
    assert verdict_lines(OUT_OF_MEMORY, Look(), now=AT, mark=mark)[1:4] == [
        "cgroup-out-of-memory, certain (98 %)",
        "ada says that it was disk-full: df showed 100 % (22:13:20.0)",
        "",
    ]


def test_a_verdict_has_all_its_parts_in_order() -> None:
    assert verdict_lines(OUT_OF_MEMORY, Look(), now=AT) == [
        "Linux killed process 77 because its container's memory limit (cgroup) of 8.0 GiB was used up.",
        "cgroup-out-of-memory, certain (98 %)",
        "",
        "Evidence",
        "  22:13:20.0  counters     oom_kill of /job rose from 0 to 1",
        "  22:13:21.0  exit status  SIGKILL ended process 77",
        "",
        "Also involved",
        "  - memory-leak",
        "",
        "What to do",
        "  1. lower num_workers from 8 to 4 — workers held 7.1 GiB of the 8.0 GiB limit",
        "  2. ask for more with --mem",
        "",
        "Ruled out",
        "  - host-out-of-memory, userspace-oom-killer: 9.0 GiB of the machine were free",
        "",
        "What could not be seen",
        "  - killed: the Linux kernel log may not be read. To see it: join the group adm",
    ]


@pytest.mark.parametrize("width", [80, 40])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = verdict_lines(OUT_OF_MEMORY, Look(width=width), now=AT)
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    assert "workers held 7.1 GiB of the 8.0 GiB limit" in words


def test_a_terminal_without_unicode_gets_none() -> None:
    lines = verdict_lines(OUT_OF_MEMORY, Look(has_unicode=False), now=AT)
    assert all(line.isascii() for line in lines)
    assert any("from 8 to 4 - workers" in line for line in lines)


def test_colours_are_for_terminals_that_have_them() -> None:
    assert "\x1b" not in "".join(verdict_lines(OUT_OF_MEMORY, Look(width=80), now=AT))
    assert "\x1b[1mcgroup-out-of-memory\x1b[0m" in "\n".join(
        verdict_lines(OUT_OF_MEMORY, Look(has_colour=True), now=AT)
    )


def test_what_moves_the_cursor_does_not() -> None:
    wild = Diagnosis(cause="killed", confidence=0.5, title="\x1b[2Jgone\x07", state="crashed")
    assert "\x1b" not in "".join(verdict_lines(wild, Look(), now=AT))


def test_where_nothing_can_be_told_the_candidates_are() -> None:
    unknown = Diagnosis(
        cause="unknown", confidence=0.3, title="It can't be told.", state="crashed", candidates=("killed", "host-lost")
    )
    assert verdict_lines(unknown, Look(), now=AT) == [
        "It can't be told.",
        "unknown",
        "",
        "It could be",
        "  - killed",
        "  - host-lost",
    ]


@pytest.mark.parametrize(
    ("confidence", "words"),
    [
        (1.0, "certain (99 %)"),
        (0.93, "almost certain (93 %)"),
        (0.8, "likely (80 %)"),
        (0.5, "more likely than not (50 %)"),
        (0.2, "a guess (20 %)"),
    ],
)
def test_certainty_has_words_and_a_number(confidence: float, words: str) -> None:
    assert how_sure(confidence) == words
