"""What a run needed at most, and what holter cost it, as lines."""

from collections.abc import Iterable

from holter.catalog.read.spent_by import cost, peaks
from holter.cli.figures import duration, size
from holter.journal.digest import Digest
from holter.model.spending import Peak

SHORT_S = 60
_WHEN = {"start": "before the first row", "steps": "while steps were logged", "pause": "in a pause between rows"}


def peak_lines(digests: Iterable[Digest]) -> list[str]:
    """One for each memory and phase."""
    return [
        f"{_memory(each):<6}  {size(each.bytes):>9}  {_WHEN.get(each.phase, each.phase)}{_at(each)}"
        for each in peaks(digests)
    ]


def cost_lines(digests: Iterable[Digest]) -> list[str]:
    """One, or none."""
    found = cost(digests)
    if found is None:
        return []
    spent = f"{found.cpu_s:.1f} s in {duration(found.wall_s)}"
    # Of a short run the start of holter's processes is most: a share of it says nothing about a long one.
    told = spent if found.wall_s < SHORT_S else f"{100 * found.share:.2g} % ({spent})"
    return [f"used {told} of one core beside the program"]


def _memory(peak: Peak) -> str:
    return "own" if peak.memory == "host" else peak.memory.replace("gpu/", "GPU ")


def _at(peak: Peak) -> str:
    step = f", at step {peak.step:,}" if peak.step is not None and peak.phase != "start" else ""
    cell = f", in cell [{peak.cell}]" if peak.cell else ""
    return f"{step}{cell}"
