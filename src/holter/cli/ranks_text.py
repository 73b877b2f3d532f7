"""Several processes of a run, a line for each."""

from holter.cli.figures import clock_time, plural
from holter.model.verdicts import Explanation


def ranks_lines(explanation: Explanation, *, now: float) -> list[str]:
    """In the order in which they are told; nothing for a run of one process. Pure."""
    lines = [
        f"rank {each.rank}{f' on {each.host}' if each.host else ''}  "
        f"{clock_time(each.at, now) if each.at else ''}  {each.text}"
        for each in explanation.ranks
    ]
    more = explanation.more_ranks
    return [*lines, *([f"and {plural(more, 'more rank')}"] if more else [])]
