"""Films: MP4 or WebM where PyAV is, else an animated WebP or GIF by Pillow, else the frames as numpy keeps them."""

import io
import math
import os
import tempfile
from fractions import Fraction
from typing import Any

import numpy as np

from holter.errors import UsageError
from holter.model.media_records import MediaItem
from holter.model.record import Record
from holter.worker.making import ending_in, made, meta_of
from holter.worker.work import Array, Work

ENDINGS = ("mp4", "webm", "gif", "ogg")
CODECS: dict[str, tuple[str, dict[str, str]]] = {
    "mp4": ("libx264", {"crf": "18", "preset": "veryfast", "threads": "1"}),
    "webm": ("libvpx-vp9", {"crf": "20", "b": "0", "deadline": "realtime", "cpu-used": "6", "threads": "1"}),
}
"""What makes a film of an array, by the ending of its file."""


def make(work: Work) -> list[Record]:
    """A file for each film."""
    return made(work, make_one)


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A film of an entry."""
    meta = meta_of(about, "fps")
    if "array" not in about:
        return work.keep_part(about["file"], ending_in(about, ENDINGS), meta=meta)
    frames = frames_of(work.array(about["array"]), work)
    meta |= {"frames": len(frames), "width": frames.shape[2], "height": frames.shape[1]}
    if about.get("format", "mp4") == "gif":
        return _by_pillow(work, frames, about["fps"], meta, ext="gif")
    ext = about["format"] if about.get("format") in CODECS else "mp4"
    if ext != about.get("format", "mp4"):
        work.warn(f"a film from an array can't be made a file of the format {about['format']}: it is an MP4")
    try:
        data = _film(frames, about["fps"], ext)
    except ImportError:
        work.warn("PyAV is missing, so it is no film but an animated picture: pip install 'holter[media]'")
        return _by_pillow(work, frames, about["fps"], meta, ext="webp")
    return work.keep(data, ext, meta=meta)


def frames_of(array: Array, work: Work) -> Array:
    """(time, height, width, 3) of bytes; several films beside each other."""
    films = array[None] if array.ndim == 4 else array
    values = films.transpose(0, 1, 3, 4, 2)
    if values.dtype != np.uint8:
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            work.warn(f"{int((~np.isfinite(numbers)).sum()):,} of its values are NaN or infinite; they are drawn as 0")
            numbers = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
        if values.dtype.kind == "f" and numbers.size and numbers.min() >= 0 and numbers.max() <= 1:
            numbers = numbers * 255
        elif numbers.size and (numbers.min() < 0 or numbers.max() > 255):
            work.warn("a film has values from 0 to 255, or 0 to 1: what is beyond is cut")
        values = np.rint(np.clip(numbers, 0, 255)).astype(np.uint8)
    values = np.repeat(values, 3, axis=4) if values.shape[4] == 1 else values[..., :3]
    count, length, height, width, _ = values.shape
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    beside = np.zeros((length, down * height, across * width, 3), np.uint8)
    for number, film in enumerate(values):
        top, left = (number // across) * height, (number % across) * width
        beside[:, top : top + height, left : left + width] = film
    return beside


def _film(frames: Array, fps: float, ext: str) -> bytes:
    import av

    codec, options = CODECS[ext]
    # The colours that all browsers play have pixels in pairs.
    height, width = frames.shape[1] + frames.shape[1] % 2, frames.shape[2] + frames.shape[2] % 2
    handle, path = tempfile.mkstemp(suffix=f".{ext}")
    os.close(handle)
    try:
        with av.open(path, "w", options={"movflags": "faststart"} if ext == "mp4" else {}) as container:
            stream: Any = container.add_stream(codec, rate=Fraction(fps).limit_denominator(1000))
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = options
            for frame in frames:
                whole = np.zeros((height, width, 3), np.uint8)
                whole[: frame.shape[0], : frame.shape[1]] = frame
                container.mux(stream.encode(av.VideoFrame.from_ndarray(whole, format="rgb24")))
            container.mux(stream.encode())
        with open(path, "rb") as file:
            return file.read()
    finally:
        os.unlink(path)


def _by_pillow(work: Work, frames: Array, fps: float, meta: dict[str, Any], *, ext: str) -> MediaItem:
    try:
        from PIL import Image
    except ImportError:
        work.warn("PyAV and Pillow are missing, so it can be downloaded but not shown: pip install 'holter[media]'")
        out = io.BytesIO()
        np.save(out, frames)
        return work.keep(out.getvalue(), "npy", meta=meta)
    if not len(frames):
        raise UsageError("a film without frames")
    first, *rest = [Image.fromarray(frame) for frame in frames]
    out = io.BytesIO()
    first.save(out, ext.upper(), save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
    return work.keep(out.getvalue(), ext, meta=meta)
