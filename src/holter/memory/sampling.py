"""Which of many items to look at, and what those tell of the rest. Pure."""

import sys

MOST_ITEMS = 200
# Of what is inside of something else.
FEWER_ITEMS = 40
# So many must have been met twice for a sample to tell of a pool.
LEAST_PAIRS = 3


def sample(count: int, *, most: int = MOST_ITEMS) -> range:
    """Which items of so many to look at: all of a few, else evenly spaced ones."""
    step = max(1, -(-count // most))
    return range(0, count, step)


def distinct(times: dict[int, int], count: int) -> float:
    """How many different objects `count` references lead to, of which some led to each of these so many times."""
    sampled, unique = sum(times.values()), len(times)
    if count <= sampled:
        return unique
    once, twice = (sum(1 for each in times.values() if each == often) for often in (1, 2))
    if twice < LEAST_PAIRS:  # some few that all hold, and the rest by themselves
        return unique - once + once * count / sampled
    return min(count, unique + once * once / (2 * twice))  # a pool; after Anne Chao


def shuffled(items: dict[int, object]) -> list[tuple[int, object]]:
    """In an order in which the first few stand for all; always the same."""
    pairs = list(items.items())
    if len(pairs) <= FEWER_ITEMS:
        return pairs
    return [pairs[place] for place in sorted(range(len(pairs)), key=lambda place: place * 0.618034 % 1)]


def _own_references() -> int:
    """How many references to an item there are because we look at it, beside those from `items`."""
    unique = {0: object()}
    for _, (_, each) in enumerate(shuffled(unique)):
        return sys.getrefcount(each)
    raise AssertionError("there is one")


OWN_REFERENCES = _own_references()
