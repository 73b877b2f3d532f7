"""What texts, pages and figures have in common: they are files as they are."""

from typing import Any

from holter.model.media_records import MediaItem
from holter.worker.making import ending_in, meta_of
from holter.worker.work import Work

ENDINGS = ("txt", "md", "html", "plotly.json")


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A text as a file."""
    return work.keep(work.read(about["file"]), ending_in(about, ENDINGS), meta=meta_of(about))
