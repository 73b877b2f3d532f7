"""Figures of Plotly, as their own description."""

from holter.model.record import Record
from holter.worker.making import made
from holter.worker.texts import make_one
from holter.worker.work import Work


def make(work: Work) -> list[Record]:
    """A file for each."""
    return made(work, make_one)
