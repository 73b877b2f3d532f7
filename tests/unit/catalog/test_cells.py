"""Which cells a kernel ran, from its journal."""

from pathlib import Path

from holter.catalog.read.cells import read_cells
from holter.journal.frame import encode_record
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.records import CellEnded, CellStarted, Opened

SECOND = 1_000_000_000
OPENED = Opened(
    at_ns=1, run="abcd1234", writer="client", host="here", boot_id="boot", pid=7, process_started=1, holter="0"
)
CELLS = 600


def write(directory: Path) -> None:
    journal = JournalWriter(str(directory), lambda: [encode_record(OPENED)], clock=Clock())
    for ordinal in range(1, CELLS + 1):
        at_ns = ordinal * SECOND
        journal.record(
            CellStarted(at_ns=at_ns, ordinal=ordinal, number=ordinal, source="x = 1\n" * 200, rss_bytes=1000)
        )
        if ordinal < CELLS:
            end_ns = at_ns + SECOND // 2
            journal.record(CellEnded(at_ns=end_ns, ordinal=ordinal, rss_bytes=900, peak_bytes=5000, error="E: e"))
    journal.close()


def test_each_cell_is_told_once_whatever_is_repeated_in_later_segments(tmp_path: Path) -> None:
    write(tmp_path)
    [segments] = list_segments(str(tmp_path)).values()
    assert len(segments) > 1
    found = read_cells(str(tmp_path))
    assert [cell.number for cell in found] == list(range(1, CELLS + 1))
    first, last = found[0], found[-1]
    assert (first.took_s, first.grown_bytes, first.peak_bytes, first.error) == (0.5, -100, 5000, "E: e")
    assert (last.took_s, last.grown_bytes, last.peak_bytes, last.error) == (None, None, None, "")


def test_a_run_without_a_notebook_has_none(tmp_path: Path) -> None:
    journal = JournalWriter(str(tmp_path), lambda: [encode_record(OPENED)], clock=Clock())
    journal.open()
    journal.close()
    assert read_cells(str(tmp_path)) == []
