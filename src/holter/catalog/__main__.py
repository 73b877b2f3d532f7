"""What a notebook's kernel asks in a process of its own: `python -m holter.catalog OTHERS RUN…` prints a card as JSON.

Nothing is printed where the last of the runs ended well.
"""

import os
import sys

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.present.death_card import render
from holter.catalog.present.deaths import find_death
from holter.journal.rundir import data_directory
from holter.model.state import read_lateness


def main(others: int, runs: list[str]) -> None:
    """Print the card. Raises what reading runs raises."""
    catalog = Catalog(data_directory(os.environ), read_lateness(os.environ))
    death = find_death(catalog, runs)
    if death is not None:
        card = render(death, others=others)
        sys.stdout.buffer.write(msgspec.json.encode({"run": death.run, "text": card.text, "html": card.html}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
