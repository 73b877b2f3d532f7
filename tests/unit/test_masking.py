"""What a process writes of a run has no secrets in it, wherever they were; and it knows how many there were."""

import pytest

from holter.journal.frame import encode_record
from holter.model.masking import Masking, masked_in_words
from holter.model.record import Record
from holter.model.records import (
    Alerted,
    Cause,
    ChildExited,
    Configured,
    Described,
    Edited,
    Facts,
    Finished,
    Launched,
    Looked,
    Noted,
    Raised,
    Summarised,
)
from holter.model.secrets import MASK
from tests.innocent_lines import LINES, VALUES
from tests.secret_samples import SAMPLES, Sample, leaks


def _records(text: str) -> list[Record]:
    """One of each kind that people or programs put texts into."""
    return [
        Described(at_ns=1, project=text, name=text, started_ns=1, notes=text, group=text, job_type=text, tags=(text,)),
        Configured(at_ns=1, config={"note": text, "deep": {"list": ["a", text, {"x": text}]}, text: 1}),
        Summarised(at_ns=1, summary={"note": text}),
        Alerted(at_ns=1, title=text, text=text),
        Raised(
            at_ns=1,
            type="ValueError",
            message=text,
            traceback=f'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    f()\nValueError: {text}\n',
            causes=(Cause(type="ValueError", message=text),),
        ),
        Finished(at_ns=1, exit_text=text),
        Noted(at_ns=1, text=text),
        Launched(at_ns=1, pid=1, process_started=1, command=("python", "-c", text)),
        ChildExited(at_ns=1, pid=1, source="x", command=text),
        Facts(at_ns=1, facts={"git": {"remote": text}, "environment": {"X": text}, "packages": [text]}),
        Looked(at_ns=1, source="x", found={"lines": [text]}),
        Edited(at_ns=1, by="ada", notes=text),
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_no_record_has_a_secret_in_it(sample: Sample) -> None:
    masking = Masking()
    written = [encode_record(masking.record(record)) for record in _records(sample.text)]
    assert [body for body in written if leaks(sample, body.decode("utf-8", "replace"))] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_no_row_has_a_secret_in_it(sample: Sample) -> None:
    row = Masking().row({"loss": 0.5, "note": sample.text, "list": ["x", sample.text]})
    assert row["loss"] == 0.5
    assert not leaks(sample, repr(row))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_no_name_of_a_value_has_a_secret_in_it(sample: Sample) -> None:
    assert not leaks(sample, repr(Masking().row({sample.text: 0.5, "loss": 0.5})))


def test_what_a_tokenizer_made_stays_in_a_row() -> None:
    row = {"token": " the", "sample/token": "hello", "loss": 0.5}
    assert Masking().row(row) == row


def test_a_journal_that_begins_anew_counts_only_what_is_new() -> None:
    masking = Masking()
    masking.row({"a": "password=hunter2"})
    masking.begin_journal()
    masking.row({"a": "password=hunter2", "b": "password=hunter3"})
    assert masking.counts == {"password in rows": 1}


def test_records_without_secrets_stay_as_they_are() -> None:
    masking = Masking()
    changed = [line for line in LINES if masking.record(Noted(at_ns=1, text=line)).text != line]  # type: ignore[attr-defined]
    assert len(changed) <= len(LINES) // 100, changed
    assert masking.record(Configured(at_ns=1, config=VALUES)) == Configured(at_ns=1, config=VALUES)


def test_a_text_under_a_telling_name_is_masked_whatever_it_looks_like() -> None:
    config = {"api_key": "x", "dbPassword": "hunter2", "hub": {"token": "abc"}, "secrets": {"db": "abc", "port": 5432}}
    masked = Masking().record(Configured(at_ns=1, config=config))
    assert masked.config == {  # type: ignore[attr-defined]
        "api_key": MASK,
        "dbPassword": MASK,
        "hub": {"token": MASK},
        "secrets": {"db": MASK, "port": 5432},
    }


def test_a_command_line_has_no_values_of_secret_options() -> None:
    command = ("train.py", "--token", "abc", "--lr", "0.1", "--api-key=x", "+db.password=y", "jwt==1.3.1")
    masked = Masking().record(Launched(at_ns=1, pid=1, process_started=1, command=command))
    assert masked.command == (  # type: ignore[attr-defined]
        "train.py", "--token", MASK, "--lr", "0.1", f"--api-key={MASK}", f"+db.password={MASK}", "jwt==1.3.1",
    )  # fmt: skip


def test_code_in_a_traceback_stays_readable() -> None:
    text = (
        'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    login(password=args.password)\n'
        "ValueError: no login with password=hunter2\n"
    )
    masked = Masking().record(Raised(at_ns=1, type="ValueError", message="", traceback=text))
    assert masked.traceback == text.replace("hunter2", MASK)  # type: ignore[attr-defined]


def test_a_name_can_be_left_alone() -> None:
    config = {"api_key": "public", "model": {"token": "public"}, "other": {"token": "secret"}}
    masked = Masking(["api_key", "model.token"]).record(Configured(at_ns=1, config=config))
    assert masked.config == {"api_key": "public", "model": {"token": "public"}, "other": {"token": MASK}}  # type: ignore[attr-defined]


def test_a_count_names_no_secret() -> None:
    masking = Masking()
    texts = [sample.text for sample in SAMPLES]
    masking.record(Configured(at_ns=1, config={"texts": texts, **{f"{text} token": "x" for text in texts}}))
    masking.record(Launched(at_ns=1, pid=1, process_started=1, command=tuple(texts)))
    names = "\n".join(masking.counts)
    assert [sample.kind for sample in SAMPLES if leaks(sample, names)] == []


def test_what_was_masked_is_counted_once_for_each_place() -> None:
    masking = Masking()
    for _ in range(3):
        masking.record(Configured(at_ns=1, config={"api_key": "x", "password": "y"}))
    masking.row({"note": "password=hunter2"})
    masking.found("token", "abc", place="console")
    assert masking.counts == {
        "api_key in config": 1,
        "password in config": 1,
        "password in rows": 1,
        "token in console": 1,
    }
    assert masked_in_words(masking.counts) == "4 secrets (api_key in config, password in config, password in rows, …)"
