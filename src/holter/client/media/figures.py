"""`holter.Plotly`: a figure as its own description."""

from typing import Any

from holter.client.media.bundle import Bundle
from holter.client.media.image import Image
from holter.client.media.medium import Media, caption_of, patient
from holter.errors import UsageError

MOST_BYTES = 64 << 20


class Plotly(Media):
    """A Plotly figure, or one of matplotlib as a picture of what it shows."""

    kind = "plotly"

    @patient
    def __init__(self, val: Any, caption: Any = None) -> None:
        self._picture: Image | None = None
        if hasattr(val, "savefig") or hasattr(val, "get_figure"):
            self.kind = "image"  # type: ignore[misc]  # of this one alone
            self._picture = Image(val, caption=caption)
            self.trouble = self._picture.trouble
            return
        if not hasattr(val, "to_json"):
            raise UsageError(f"holter.Plotly takes a figure of Plotly; got {type(val).__name__}")
        self._data = str(val.to_json()).encode("utf-8", "replace")
        self._caption = caption
        if len(self._data) > MOST_BYTES:
            raise UsageError(f"a figure of {len(self._data):,} bytes: {MOST_BYTES:,} are the most")

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its description."""
        if self._picture is not None:
            return self._picture.pack(bundle)
        about = {"file": bundle.add(self._data), "ending": "plotly.json", "shown": "plotly"}
        return {**about, **caption_of(self._caption)}
