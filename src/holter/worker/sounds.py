"""What a sound looks like: how loud it is in each of equal parts of its time."""

import importlib
import io
import wave
from typing import Any

import numpy as np

from holter.worker.work import Array

PARTS = 160
MOST_DRAWN_BYTES = 256 << 20
_WIDTHS = {1: np.uint8, 2: np.int16, 4: np.int32}


def about_samples(samples: Array, rate: float) -> dict[str, Any]:
    """Of (samples, channels) the duration, and the loudness of each part as a whole number up to 100."""
    about = {"duration": round(len(samples) / rate, 3), "channels": samples.shape[1]}
    if not len(samples):
        return about
    loud = np.zeros(len(samples))
    for channel in samples.T:  # one after the other: each is a copy as floats
        loud = np.maximum(loud, np.abs(_between_ones(channel)))
    starts = np.linspace(0, len(loud), min(PARTS, len(loud)), endpoint=False).astype(int)
    return about | {"wave": np.rint(100 * np.maximum.reduceat(loud, starts)).astype(int).tolist()}


def about_file(data: bytes) -> dict[str, Any]:
    """The same of a file; nothing where it can't be read here: it is kept all the same, and browsers may play it."""
    if len(data) > MOST_DRAWN_BYTES:
        return {}
    try:
        return _by_wave(data) if data[:4] == b"RIFF" else _by_av(data)
    except ImportError:
        return {}
    except Exception:  # noqa: BLE001  libraries raise anything for what is no sound
        return {}


def _by_wave(data: bytes) -> dict[str, Any]:
    try:
        with wave.open(io.BytesIO(data)) as sound:
            kind = _WIDTHS[sound.getsampwidth()]
            samples = np.frombuffer(sound.readframes(sound.getnframes()), kind).reshape(-1, sound.getnchannels())
            return about_samples(samples, sound.getframerate()) | {"sample_rate": sound.getframerate()}
    except (wave.Error, KeyError):  # samples of 24 bits, floats
        return _by_av(data)


def _by_av(data: bytes) -> dict[str, Any]:
    av = importlib.import_module("av")
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="s16p", layout="mono")
        frames = [
            each.to_ndarray().reshape(-1) for frame in container.decode(stream) for each in resampler.resample(frame)
        ]
        samples = np.concatenate(frames)[:, None]
        return about_samples(samples, stream.rate) | {"sample_rate": stream.rate, "channels": stream.channels}


def _between_ones(channel: Array) -> Array:
    if channel.dtype == np.uint8:  # as WAV files of 8 bits have them
        return (channel.astype(np.float64) - 128) / 128
    if channel.dtype.kind == "i":
        return channel.astype(np.float64) / -float(np.iinfo(channel.dtype).min)
    return np.clip(np.nan_to_num(channel.astype(np.float64), posinf=1, neginf=-1), -1, 1)
