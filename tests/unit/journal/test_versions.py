"""An older holter meets what a newer one wrote."""

from pathlib import Path

import msgspec
import pytest

from holter.errors import NewerJournal
from holter.journal.columns import read_tables
from holter.journal.decoding import tell_segment
from holter.journal.digest import digest
from holter.journal.frame import HEADER_SIZE, Header, encode_body, encode_header, encode_record, sealed
from holter.journal.reader import scan
from holter.model.record import Record
from holter.model.records import KINDS, LASTING, LATEST, NUMBERS, Alerted
from tests.unit.journal.recording import opened, read, record_small

NEWER = encode_header(Header(bytes(16), 1, 0, 1, version=2)) + record_small()[HEADER_SIZE:]


class AlertedLater(Record, frozen=True, kw_only=True):
    """What `Alerted` may become."""

    title: str
    sound: str


def test_a_newer_format_says_what_to_do() -> None:
    with pytest.raises(NewerJournal) as raised:
        scan(NEWER)
    assert str(raised.value) == (
        "the journal has format 2, this holter reads up to 1: "
        "a newer holter wrote it, upgrade with `pip install -U holter` to read it"
    )


def test_a_newer_format_is_not_read_by_half(tmp_path: Path) -> None:
    path = tmp_path / "0.seg"
    path.write_bytes(NEWER)
    with pytest.raises(NewerJournal):
        digest("0", [str(path)])
    with pytest.raises(NewerJournal):
        read_tables([str(path)])


def test_a_damaged_version_is_damage_and_not_a_newer_holter() -> None:
    data = bytearray(record_small())
    data[8] = 2
    assert scan(bytes(data)).frames == scan(record_small()).frames


def test_records_of_an_unknown_kind_are_counted_and_passed_over(tmp_path: Path) -> None:
    data = record_small() + 3 * sealed(encode_body(200, b"from the future"))
    assert repr(read(data)) == repr(read(record_small()))
    assert tell_segment(data).unknown == 3
    path = tmp_path / "0.seg"
    path.write_bytes(data)
    assert read_tables([str(path)]).unknown == 3


def test_unknown_fields_are_ignored() -> None:
    payload = msgspec.msgpack.encode(AlertedLater(at_ns=1, title="look", sound="bell"))
    header = encode_header(Header(bytes(16), 1, 0, 1))
    data = header + sealed(encode_record(opened())) + sealed(encode_body(NUMBERS[Alerted], payload))
    assert read(data) == [opened(), Alerted(at_ns=1, title="look")]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_field_but_the_first_ones_has_a_default(kind: type[Record]) -> None:
    """An old file lacks the fields that came later; the fields that were there first are written out here."""
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    assert required == {"at_ns", *FIRST_FIELDS[kind.__name__].split()}


FIRST_FIELDS = {
    "Opened": "run writer host boot_id pid process_started holter",
    "Declared": "number keys types",
    "Described": "project name started_ns",
    "Configured": "config",
    "Summarised": "summary",
    "Totals": "rows last",
    "Alerted": "title",
    "Flushed": "",
    "Preempting": "",
    "Raised": "type message traceback",
    "Signalled": "signal",
    "Finished": "",
    "Lost": "records since_ns because",
    "Noted": "text",
    "Beat": "monotonic_ns",
    "Exited": "journal pid source",
    "Facts": "facts",
    "Marked": "state reason by",
    "ChildExited": "pid source",
    "Saved": "pattern base",
    "Launched": "pid process_started command",
    "Console": "stdout stderr",
    "Looked": "source",
    "Edited": "by",
    "CellStarted": "ordinal",
    "CellEnded": "ordinal",
    "KernelAsked": "kind",
    "Masked": "counts",
    "CauseMarked": "cause reason by",
    "Judged": "weighed",
    "Warned": "guard text",
    "Eased": "guard",
    "Silenced": "guard by",
    "Stood": "pid silent_s usual_s",
    "Pressed": "done",
    "GpuRefused": "device asked",
    "Spent": "",
    "Noticed": "habit",
    "MediaLogged": "step key type",
    "MediaMade": "step key type logged_ns",
    "MediaLost": "key because",
    "HistogramLogged": "step key counts",
    "ArtifactLogged": "ask name type",
    "ArtifactSealed": "ask name type",
    "ArtifactUsed": "project name type version",
    "Checkpointed": "step path",
    "WentOn": "run step",
    "OfSweep": "sweep trial",
    "Defined": "metrics",
    "Amended": "by values",
    "Awaited": "pending",
}


def test_kinds_keep_their_numbers() -> None:
    numbers = [1, *range(3, 22), *range(24, 34), *range(40, 48), *range(50, 54), *range(55, 60), 60, 65, 66, 67]
    kept = [(number, kind.__name__) for number, kind in sorted(KINDS.items())]
    assert kept == [*zip(numbers, FIRST_FIELDS, strict=True)]
    assert not set(LATEST) & set(LASTING)
