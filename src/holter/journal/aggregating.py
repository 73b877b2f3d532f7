"""Sums up the metrics of which the summary keeps more than the last value, row by row of what was read."""

import struct
from bisect import bisect_left
from collections.abc import Mapping

from holter.journal.decoding import Told
from holter.journal.frame import ROW, TAIL
from holter.model.metric_definitions import (
    Aggregate,
    Defined,
    MetricDefinition,
    add_rows,
    definition_of,
    is_aggregated,
)

_BEFORE_VALUES = 5


def add_to_aggregates(aggregates: dict[str, Aggregate], told: Told, *, before: Mapping[str, MetricDefinition]) -> None:
    """Count the values that were logged since their metric was defined; `before` this piece that was said of them."""
    said = [(-1, before), *((at, record.metrics) for at, record in told.records if isinstance(record, Defined))]
    if not any(metrics for _, metrics in said):
        return
    starts = [at for at, _ in said]

    def places(keys: tuple[str, ...], at: int) -> list[tuple[int, str]]:
        metrics = said[bisect_left(starts, at) - 1][1]
        return [(place, name) for place, name in enumerate(keys) if is_aggregated(definition_of(name, metrics))]

    for at, row in told.loose:
        add_rows(aggregates, [(name, row.values[name]) for _, name in places(tuple(row.values), at)])
    for schema, stretches in told.packed:
        layout = struct.Struct(f"{ROW.format}{schema.declared.types}{TAIL.size}x")
        for _, at, size, repeats in stretches:
            # Whatever is said between two rows ends the stretch.
            if counted := places(schema.declared.keys, at):
                for values in layout.iter_unpack(memoryview(told.piece.data)[at : at + repeats * size]):
                    add_rows(aggregates, [(name, values[_BEFORE_VALUES + place]) for place, name in counted])
