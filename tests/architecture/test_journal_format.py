"""Guards that the page on the journal format tells the truth."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.journal import allowance, frame, lasting, rows
from holter.journal.decoding import LoggedRow
from holter.journal.frame import MAGIC, RESIDUE, SYNC, VERSION
from holter.model.record import Record
from holter.model.records import FIRST_PACKED, KINDS, LASTING, LOOSE_ROW, NUMBERS
from tests.unit.journal.recording import read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "journal-format.md").read_text()
RECORDED = sorted((ROOT / "tests" / "zoo" / "formats" / f"v{VERSION}").glob("*.seg"))


def line_of(kind: type[Record]) -> str:
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {NUMBERS[kind]} | `{kind.__name__}` |")]
    assert len(found) == 1, f"docs/journal-format.md needs one line for kind {NUMBERS[kind]}, `{kind.__name__}`"
    return found[0]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_kind_is_in_the_page_with_its_number_and_fields(kind: type[Record]) -> None:
    line = line_of(kind)
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "at_ns"]
    assert [field.name for field in fields if f"`{field.name}`" not in line] == []
    optional = [field.name for field in fields if not field.required]
    assert [name for name in optional if f"`{name}` = " not in line] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_the_page_says_which_records_last(kind: type[Record]) -> None:
    assert line_of(kind).endswith("| lasts |") == (kind in LASTING)


def test_the_page_has_the_numbers_of_the_format() -> None:
    for number in (f"{RESIDUE:#X}", f"{RESIDUE ^ 0xFFFFFFFF:#X}", f"{SYNC:#X}"):
        assert number.replace("0X", "0x") in PAGE
    assert f"format version **{VERSION}**" in PAGE
    assert MAGIC.decode().replace("\n", "\\n") in PAGE
    assert f"| {LOOSE_ROW} | loose row |" in PAGE
    assert f"| {FIRST_PACKED} + n | packed row |" in PAGE


def test_the_page_has_the_limits_of_the_writer() -> None:
    for limit in (
        f"| one record | {frame.LARGEST_RECORD >> 20} MiB |",
        f"| {rows.MOST_SCHEMAS}, with {rows.MOST_SCHEMA_BYTES >> 20} MiB of keys;",
        f"| lasting records at the start of a segment | {lasting.MOST_OF_A_KIND} of each kind |",
        f"the newest {rows.MOST_LAST_BYTES >> 20} MiB |",
        f"grow from {allowance.FIRST_SIZE >> 10} KiB over 1 and 4 to {allowance.LARGEST_SIZE >> 20} MiB",
        f"every {rows.REDECLARE_MASK + 1:,} rows",
    ):
        assert limit in PAGE


Read = Callable[[bytes], Iterator[tuple[int, Any]]]


def reader_of_the_page() -> Read:
    [source] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Read] = {}
    exec(source, names)
    return names["read"]


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_the_reader_of_the_page_reads_what_ours_reads(path: Path) -> None:
    data = path.read_bytes()
    theirs = [
        msgspec.convert(content, KINDS[kind]) if kind in KINDS else LoggedRow(*content)
        for kind, content in reader_of_the_page()(data)
        if kind in KINDS or kind == LOOSE_ROW or kind >= FIRST_PACKED
    ]
    assert repr(theirs) == repr(read(data))
