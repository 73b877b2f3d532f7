"""The cell of a notebook in which its run ended."""

from collections.abc import Sequence

from holter.catalog.read.cells import cell_at
from holter.catalog.read.loaded_run import LoadedRun, newest_clients
from holter.journal.digest import Digest
from holter.journal.rundir import list_segments
from holter.model.records import CellStarted, KernelAsked


def fatal_cell(loaded: LoadedRun) -> CellStarted | None:
    """The cell that was running at the end of the newest attempt, or that failed and was the last that logged."""
    told, failed = told_by_cells(loaded.digests), loaded.by_itself.failed_cell
    if told is None:
        return None
    if failed is not None:
        return _cell_at(loaded.row.directory, told, failed.at_ns)
    is_through = _is_through(told) and not _was_cut_short(told, loaded.said(KernelAsked))
    return None if is_through else told.cell


def told_by_cells(digests: Sequence[Digest]) -> Digest | None:
    """The journal of the kernel itself; None where nobody was inside it who saw its cells."""
    told = [each for each in newest_clients(list(digests)) if each.cell is not None]
    return told[-1] if told else None


def _cell_at(directory: str, told: Digest, at_ns: int) -> CellStarted | None:
    try:
        return cell_at(list_segments(directory).get(told.journal, []), at_ns)
    except OSError:
        return None


def _is_through(told: Digest) -> bool:
    return told.cell is not None and told.cell_ended is not None and told.cell_ended.ordinal >= told.cell.ordinal


def _was_cut_short(told: Digest, asked: Sequence[KernelAsked]) -> bool:
    """Whether its last cell ended because a server interrupts the cell before it restarts the kernel."""
    was_interrupted = told.cell_ended is not None and told.cell_ended.error.startswith("KeyboardInterrupt")
    return was_interrupted and any(each.is_busy for each in asked if each.kind != "interrupt")
