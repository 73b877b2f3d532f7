"""Print all rows of a run as JSON lines or CSV, or write them as Parquet or for TensorBoard; or write its media.

There is one line for each step, in the order of steps: _step, _timestamp (seconds since 1970), _runtime (seconds since
the run began), then the logged values. Where a key was logged several times for one step, the last write wins. NaN and
the infinities are the bare words NaN, Infinity and -Infinity, as Python's json and pandas read them. Rows that the run
abandoned when it went back to an earlier step are left out, and those of the run that it was forked from are there.
"""

import argparse
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from holter.catalog.read.history import read_history
from holter.catalog.read.loaded_run import LoadedRun
from holter.cli.choice import load_chosen, open_catalog
from holter.cli.parser import add_run
from holter.cli.row_formats import FORMATS, Encode
from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.journal.columns import Tables

GROUP = "keep"

CHUNK_ROWS = 4096
PARQUET = "parquet"
TENSORBOARD = "tensorboard"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    parser.add_argument(
        "--format",
        choices=(*FORMATS, PARQUET, TENSORBOARD),
        default="jsonl",
        help="jsonl (the default), csv, parquet (needs pyarrow), or tensorboard (into the folder --output)",
    )
    parser.add_argument("--output", metavar="FILE", help="write there instead of to the standard output")
    parser.add_argument(
        "--media", metavar="DIR", help="write pictures, sounds, tables and other media there, and no rows"
    )


def run(args: argparse.Namespace) -> int:
    """Print the rows."""
    loaded = load_chosen(args.run)
    if args.media:
        from holter.cli.media_files import write_media

        print(f"{write_media(loaded.row.directory, args.media):,} media are in {args.media}")
        return 0
    journals = _read(loaded)
    rows = _rows(journals, loaded.row.started_at)
    if args.format == TENSORBOARD:
        _write_events(args.output, rows, loaded)
        return _tell_damage(journals, loaded)
    with _opened(args.output) as out:
        if args.format == PARQUET:
            from holter.cli.parquet import column_kinds, write_parquet

            write_parquet(out, rows, kinds=column_kinds(journals, _keys(journals)))
        else:
            _write_text(out, FORMATS[args.format](_keys(journals)), rows)
        out.flush()
    return _tell_damage(journals, loaded)


def _write_events(folder: str | None, rows: Iterator[dict[str, Any]], loaded: LoadedRun) -> None:
    from holter.formats.event_writer import write_row, write_start

    if not folder or folder == "-":
        raise UsageError("TensorBoard reads folders: name one with --output")
    os.makedirs(folder, exist_ok=True)
    left_out: set[str] = set()
    began = loaded.row.started_at
    # Its own name: a second export of the run replaces the first one.
    with open(os.path.join(folder, f"events.out.tfevents.{int(began):010d}.{loaded.row.id}"), "wb") as out:
        write_start(out, began)
        for row in rows:
            step, wall = row.pop("_step"), row.pop("_timestamp")
            row.pop("_runtime")
            left_out.update(write_row(out, row, step, wall))
    if left_out:
        print(f"holter: neither numbers nor texts, and left out: {', '.join(sorted(left_out))}", file=sys.stderr)


def _tell_damage(journals: list["Tables"], loaded: LoadedRun) -> int:
    if _is_damaged(journals):
        where = f"`holter show {loaded.row.id}` tells where"
        print(f"holter: a part of this run can't be read and is left out; {where}", file=sys.stderr)
    return 0


def _write_text(out: IO[bytes], encode: Encode, rows: Iterator[dict[str, Any]]) -> None:
    out.write(encode([]))  # a run without rows has its line of names too
    while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
        out.write(encode(chunk))


def _read(loaded: LoadedRun) -> list["Tables"]:
    directory = loaded.row.directory
    return [tables for _, tables in read_history(directory, loaded.digests, data=open_catalog().data)]


def _rows(journals: list["Tables"], started_at: float) -> Iterator[dict[str, Any]]:
    from holter.journal.columns import merge_rows

    for row in merge_rows(journals):
        row.pop("_runtime", None)  # a user's key of our name
        yield {"_step": 0, "_timestamp": 0.0, "_runtime": round(row["_timestamp"] - started_at, 6), **row}


def _keys(journals: list["Tables"]) -> list[str]:
    """Every key of any row, in the order in which they first appear."""
    packed = [table.keys for each in journals for table in each.tables]
    loose = [tuple(each.row.values) for tables in journals for each in tables.loose]
    keys = dict.fromkeys(itertools.chain(*dict.fromkeys(loose), *packed))
    return list(dict.fromkeys(["_step", "_timestamp", "_runtime", *keys]))


def _is_damaged(journals: list["Tables"]) -> bool:
    """Whether whole records are missing; the torn last one of a process that died or still writes is none."""
    return any(each.trouble or any(not gap.torn for gaps in each.skipped.values() for gap in gaps) for each in journals)


@contextmanager
def _opened(path: str | None) -> Iterator[IO[bytes]]:
    if path is not None and path != "-":
        with open(path, "wb") as file:
            yield file
    elif sys.stdout is None:  # the caller closed it: then nobody wants to read
        with open(os.devnull, "wb") as file:
            yield file
    else:
        yield sys.stdout.buffer
