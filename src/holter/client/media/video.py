"""`holter.Video`: frames of an array, or a file."""

from typing import Any

from holter.client.media.bundle import Bundle, own_array
from holter.client.media.medium import Media, caption_of, check_file, ending_of, path_of, patient
from holter.errors import UsageError

MOST_FPS = 1000
FORMATS = ("mp4", "webm", "gif", "ogg")


class Video(Media):
    """A film from an array of frames, (time, channel, height, width) or a batch of those, a path, or a file's bytes.

    Args:
        fps: frames in a second, 4 where it is left out.
        format: `mp4`, `webm`, `ogg` or `gif`; of an array `mp4`, `webm` or `gif`.
    """

    kind = "video"

    @patient
    def __init__(
        self,
        data_or_path: Any,
        caption: Any = None,
        fps: float | None = None,
        format: str | None = None,  # noqa: A002  W&B's name
    ) -> None:
        if format is not None and format not in FORMATS:
            raise UsageError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
        if not 0 < (rate := float(fps or 4)) <= MOST_FPS:
            raise UsageError(f"fps must be more than 0 and at most {MOST_FPS}; got {fps!r}")
        self._about = {"fps": rate, "format": format or "mp4", **caption_of(caption)}
        self._path = path_of(data_or_path)
        self._data: Any = b""
        if self._path is not None:
            self._about["ending"] = ending_of(self._path)
            if self._about["ending"] not in FORMATS:
                raise UsageError(f"{self._path!r} is no film that can be shown: those end in {', '.join(FORMATS)}")
            check_file(self._path)
        elif hasattr(data_or_path, "getvalue") or isinstance(data_or_path, bytes):
            self._data = bytes(data_or_path.getvalue() if hasattr(data_or_path, "getvalue") else data_or_path)
            self._about["ending"] = format or "mp4"
        else:
            self._data = own_array(data_or_path)
            shape = self._data.shape
            if len(shape) not in (4, 5) or 0 in shape or shape[-3] not in (1, 3, 4):
                raise UsageError(
                    "a film has the axes (time, channel, height, width), or a batch of those, with 1, 3 or 4 channels;"
                    f" got the shape {shape}"
                )

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes."""
        if self._path is not None:
            return {**self._about, "file": bundle.add_file(self._path)}
        if isinstance(self._data, bytes):
            return {**self._about, "file": bundle.add(self._data)}
        return {**self._about, "array": bundle.add_array(self._data)}
