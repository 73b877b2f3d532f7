"""What is read of other trackers' files as what `log()` takes."""

from typing import Any

from holter.client.media.histogram import Histogram
from holter.client.media.image import Image
from holter.formats.events import Bars, Picture, Unread, Value


def as_logged(value: Value) -> Any:
    """A number, a text, a picture or a histogram; None for what has no place in a row."""
    if isinstance(value, Picture):
        return Image(value.data) if value.data else None
    if isinstance(value, Bars):
        bars = value.tidied()
        return None if bars is None else Histogram(np_histogram=(bars.counts, bars.edges))
    return None if isinstance(value, Unread) else value
