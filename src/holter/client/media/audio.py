"""`holter.Audio`: samples of an array, or a file."""

from typing import Any

from holter.client.media.bundle import Bundle, own_array
from holter.client.media.medium import Media, caption_of, check_file, ending_of, path_of, patient
from holter.errors import UsageError

ENDINGS = ("wav", "flac", "mp3", "ogg", "m4a", "aac", "opus", "webm")
MOST_CHANNELS = 16


class Audio(Media):
    """A sound from an array (samples, or samples by channels) with its `sample_rate`, or from a path."""

    kind = "audio"

    @patient
    def __init__(self, data_or_path: Any, sample_rate: int | None = None, caption: Any = None) -> None:
        self._about: dict[str, Any] = {**caption_of(caption)}
        self._path = path_of(data_or_path)
        if self._path is not None:
            self._about["ending"] = ending_of(self._path)
            if self._about["ending"] not in ENDINGS:
                raise UsageError(f"{self._path!r} is no sound that can be played: those end in {', '.join(ENDINGS)}")
            check_file(self._path)
            return
        if sample_rate is None or not 1 <= int(sample_rate) <= 10_000_000:
            raise UsageError(f"an array of sound needs its sample_rate, in samples a second; got {sample_rate!r}")
        self._about["sample_rate"] = int(sample_rate)
        self._data = own_array(data_or_path)
        shape = self._data.shape
        if len(shape) not in (1, 2) or 0 in shape or (len(shape) == 2 and min(shape) > MOST_CHANNELS):
            raise UsageError(f"a sound has the axes (samples) or (samples, channels); got the shape {shape}")

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes."""
        if self._path is not None:
            return {**self._about, "file": bundle.add_file(self._path)}
        return {**self._about, "array": bundle.add_array(self._data)}
