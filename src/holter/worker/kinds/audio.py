"""Sounds: WAV of arrays, exact; files as they are."""

import struct
from typing import Any

import numpy as np

from holter.model.media_records import MediaItem
from holter.model.record import Record
from holter.worker.making import ending_in, made, meta_of
from holter.worker.sounds import about_file, about_samples
from holter.worker.work import Array, Work

ENDINGS = ("wav", "flac", "mp3", "ogg", "m4a", "aac", "opus", "webm")
MOST_CHANNELS = 16
_PCM, _FLOAT = 1, 3


def make(work: Work) -> list[Record]:
    """A file for each sound."""
    return made(work, make_one)


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A sound of an entry."""
    meta = meta_of(about, "sample_rate")
    if "array" not in about:
        meta = about_file(work.read(about["file"])) | meta
        return work.keep_part(about["file"], ending_in(about, ENDINGS), meta=meta)
    samples = _samples(work.array(about["array"]), work)
    meta |= about_samples(samples, about["sample_rate"])
    return work.keep(encode_wav(samples, about["sample_rate"]), "wav", meta=meta)


def encode_wav(samples: Array, rate: int) -> bytes:
    """A WAV file of (samples, channels) of int16, int32 or float32; lossless."""
    width, channels = samples.dtype.itemsize, samples.shape[1]
    code = _FLOAT if samples.dtype.kind == "f" else _PCM
    data = samples.astype(samples.dtype.newbyteorder("<")).tobytes()
    form = struct.pack("<HHIIHH", code, channels, rate, rate * width * channels, width * channels, width * 8)
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _samples(array: Array, work: Work) -> Array:
    """(samples, channels) of a type that WAV has."""
    if array.ndim == 1:
        array = array[:, None]
    elif array.shape[0] <= MOST_CHANNELS < array.shape[1]:
        array = array.T
    if array.dtype in (np.int16, np.int32):
        return array
    if array.dtype.kind in "iub":
        return np.clip(array, -(1 << 31), (1 << 31) - 1).astype(np.int32)
    values = array.astype(np.float32)
    if not np.isfinite(values).all():
        work.warn("some of its samples are NaN or infinite; they are silent")
        values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    if values.size and float(np.abs(values).max()) > 1.0:
        work.warn(f"its samples lie within ±{float(np.abs(values).max()):g}; a player cuts what is beyond ±1")
    return values
