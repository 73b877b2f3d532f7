"""What was said of metrics, and what people set after the fact, over all journals of a run. Pure."""

from collections.abc import Sequence
from typing import Any

from holter.journal.digest import Digest
from holter.model.amending import Amended
from holter.model.metric_definitions import Aggregate, MetricDefinition


def amended(digests: Sequence[Digest], part: str) -> dict[str, Any]:
    """What people set in the `config` or the `summary` after the fact."""
    said = [record for each in digests for record in each.said if isinstance(record, Amended)]
    found: dict[str, Any] = {}
    for record in sorted(said, key=lambda record: record.at_ns):
        found |= value if isinstance(value := record.values.get(part), dict) else {}
    return found


def metric_definitions(programs: list[Digest]) -> dict[str, MetricDefinition]:
    """What the program said of its metrics, of several processes the last writer."""
    metrics: dict[str, MetricDefinition] = {}
    for each in sorted(programs, key=lambda each: each.last_at_ns):
        metrics |= each.metrics
    return metrics


def merged_aggregates(programs: list[Digest]) -> dict[str, Aggregate]:
    """The values of each metric together."""
    found: dict[str, Aggregate] = {}
    for each in sorted(programs, key=lambda each: each.last_at_ns):
        for name, aggregate in each.aggregates.items():
            found[name] = found[name].joined(aggregate) if name in found else aggregate
    return found
