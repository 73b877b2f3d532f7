"""`holter.Html`, `Markdown` and `Text`."""

from typing import Any

from holter.client.media.bundle import Bundle
from holter.client.media.medium import Media, caption_of, check_file, path_of, patient
from holter.client.shortened import text_of
from holter.errors import UsageError

MOST_BYTES = 64 << 20


class _Words(Media):
    """Text as a file."""

    kind = "text"
    ending = "txt"
    shown = "text"

    def _keep(self, text: str, caption: Any) -> None:
        self._data = text.encode("utf-8", "replace")
        self._caption = caption
        if len(self._data) > MOST_BYTES:
            raise UsageError(f"a text of {len(self._data):,} bytes: {MOST_BYTES:,} are the most")

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes."""
        return {"file": bundle.add(self._data), "ending": self.ending, "shown": self.shown, **caption_of(self._caption)}


class Text(_Words):
    """A text, shown as it is."""

    @patient
    def __init__(self, text: Any, caption: Any = None) -> None:
        self._keep(text_of(text, MOST_BYTES), caption)


class Markdown(_Words):
    """A text in Markdown."""

    kind = "markdown"
    ending = "md"
    shown = "markdown"

    @patient
    def __init__(self, text: Any, caption: Any = None) -> None:
        self._keep(text_of(text, MOST_BYTES), caption)


class Html(_Words):
    """A page from a text, a file that is open, or with `data_is_not_path=False` a path that ends in `.html`.

    It is shown in a frame without scripts' way to anything of the page around it.
    """

    kind = "html"
    ending = "html"
    shown = "html"

    @patient
    def __init__(self, data: Any, inject: bool = True, data_is_not_path: bool = False, *, caption: Any = None) -> None:
        path = path_of(data)
        if hasattr(data, "read"):
            data = data.read()
        elif path is not None and not data_is_not_path and path.endswith((".html", ".htm")) and "<" not in path:
            check_file(path)
            with open(path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
        self._keep(text, caption)
