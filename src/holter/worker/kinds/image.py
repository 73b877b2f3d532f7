"""Pictures: PNG of arrays, files as they are, and a small picture of each for lists."""

import io
from typing import Any

import numpy as np

from holter.errors import UsageError
from holter.model.media_records import MediaItem
from holter.model.record import Record
from holter.worker.making import made, meta_of
from holter.worker.pixels import MOST_PIXELS, pixels_of
from holter.worker.png import encode_png
from holter.worker.work import Array, Work

SMALL = 320
"""The longer side of the small picture."""
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
DEEPEST = (1 << 16) - 1
KNOWN = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tiff"}
SHOWN = ("png", "jpg", "webp", "gif", "bmp")
"""What browsers show; all else is made a PNG."""


def make(work: Work) -> list[Record]:
    """One file for each picture."""
    return made(work, make_one)


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A picture of an entry. Raises UsageError for what is none."""
    meta = meta_of(about)
    if about.get("boxes"):
        meta["boxes"] = {name: _sound_boxes(work, each) for name, each in about["boxes"].items()}
    if about.get("masks"):
        meta["masks"] = {name: _mask(work, each) for name, each in about["masks"].items()}
    if "array" in about and about.get("deep"):
        return _keep_deep(work, work.array(about["array"]), meta)
    if "array" in about:
        pixels = pixels_of(work.array(about["array"]), about, warn=work.warn)
        return _keep_pixels(work, pixels, about.get("file_type", "png"), meta)
    return _keep_file(work, about, meta)


def _sound_boxes(work: Work, boxes: dict[str, Any]) -> dict[str, Any]:
    """Those that are somewhere."""
    data = boxes["box_data"]
    sound = [each for each in data if np.isfinite(np.hstack(list(each["position"].values()))).all()]
    if len(sound) < len(data):
        work.warn(f"{len(data) - len(sound):,} of its {len(data):,} boxes are nowhere (NaN or infinite), and left out")
    return {**boxes, "box_data": sound}


def _mask(work: Work, about: dict[str, Any]) -> dict[str, Any]:
    """A class for each pixel, as a picture of one channel."""
    told = {"class_labels": about["class_labels"]}
    if "array" not in about:
        item = _keep_file(work, {"file": about["file"], "ending": "png"}, {})
    else:
        array = work.array(about["array"]).squeeze()
        if array.ndim != 2:
            raise UsageError(f"a mask has a class for each pixel, and so two axes; got the shape {array.shape}")
        if array.size and (float(np.nanmin(array)) < 0 or float(np.nanmax(array)) > 255):
            work.warn("a mask has classes from 0 to 255; those beyond are cut")
        classes = np.clip(np.nan_to_num(array), 0, 255).astype(np.uint8)
        item = work.keep(encode_png(classes[..., None]), "png", meta={})
    return {"path": item.path, **told}


def _keep_pixels(work: Work, pixels: Array, file_type: str, meta: dict[str, Any]) -> MediaItem:
    height, width, channels = pixels.shape
    meta |= {"width": width, "height": height, "mode": MODES[channels]}
    pillow = _pillow()
    if pillow is None:
        if file_type != "png":
            work.warn(f"Pillow is missing, so it is kept as PNG and not as {file_type}: pip install 'holter[media]'")
        return work.keep(encode_png(pixels), "png", meta=meta)
    image = pillow.fromarray(pixels[..., 0] if channels == 1 else pixels)
    ext = {"jpeg": "jpg"}.get(file_type, file_type)
    item = work.keep(_encoded(image, ext), ext, meta=meta | {"small": True})
    _keep_small(work, image, item)
    return item


def _keep_deep(work: Work, values: Array, meta: dict[str, Any]) -> MediaItem:
    """Grey of 16 bits, exact."""
    if values.size and (int(values.min()) < 0 or int(values.max()) > DEEPEST):
        work.warn(
            f"its values lie between {values.min()} and {values.max()}; grey of 16 bits has 0 to {DEEPEST:,}: what is"
            " beyond is cut"
        )
        values = np.clip(values, 0, DEEPEST)
    deep = values.astype(np.uint16)
    meta |= {"width": deep.shape[1], "height": deep.shape[0], "mode": "I;16"}
    pillow = _pillow()
    item = work.keep(encode_png(deep[..., None]), "png", meta=meta | ({"small": True} if pillow else {}))
    if pillow:
        _keep_small(work, pillow.fromarray((deep >> 8).astype(np.uint8)), item)
    return item


def _keep_file(work: Work, about: dict[str, Any], meta: dict[str, Any]) -> MediaItem:
    """A file as it is, if it is a picture that browsers show."""
    data = work.read(about["file"])
    pillow = _pillow()
    if pillow is None:
        ext = _by_its_first_bytes(data)
        work.warn("Pillow is missing, so there is no small picture of it: pip install 'holter[media]'")
        return work.keep(data, ext, meta=meta)
    pillow.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        with pillow.open(io.BytesIO(data)) as opened:
            opened.load()
            image = opened
            kind = KNOWN.get(opened.format or "", "")
            meta |= {"width": image.width, "height": image.height, "mode": image.mode, "small": True}
            if about.get("mode") and about["mode"] != image.mode:
                image = image.convert(about["mode"])
                data, kind, meta["mode"] = _encoded(image, "png"), "png", image.mode
            elif kind not in SHOWN:
                image = _of_eight_bits(image)
                plain = image if image.mode in MODES.values() else image.convert("RGB")
                data, kind = _encoded(plain, "png"), "png"
            item = work.keep(data, kind, meta=meta)
            _keep_small(work, image, item)
            return item
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise UsageError(f"it is no picture that can be read: {error}") from error


def _keep_small(work: Work, image: Any, item: MediaItem) -> None:
    """A small picture, made once, so that a list of two hundred is painted at once."""
    image = _of_eight_bits(image)
    small = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA" if "A" in image.mode else "RGB")
    small = small.copy() if small is image else small
    small.thumbnail((SMALL, SMALL))
    work.keep_beside(_encoded(small, "webp"), f"{item.digest}.small.webp")


def _of_eight_bits(image: Any) -> Any:
    """Pillow itself cuts what is deeper."""
    if image.mode not in ("F", "I") and not image.mode.startswith("I;16"):
        return image
    values = np.asarray(image).astype(np.float64)
    low, high = (0.0, DEEPEST) if image.mode != "F" else (float(np.nanmin(values)), float(np.nanmax(values)))
    spread = np.clip((np.nan_to_num(values) - low) * (255 / ((high - low) or 1)), 0, 255)
    return _pillow().fromarray(np.rint(spread).astype(np.uint8))


def _encoded(image: Any, ext: str) -> bytes:
    out = io.BytesIO()
    if ext == "png":
        image.save(out, "PNG", compress_level=3)
    elif ext == "webp":
        image.save(out, "WEBP", quality=80, method=2)
    else:
        image.convert("RGB").save(out, "JPEG", quality=90)
    return out.getvalue()


def _by_its_first_bytes(data: bytes) -> str:
    for start, ext in ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpg"), (b"GIF8", "gif"), (b"BM", "bmp")):
        if data.startswith(start):
            return ext
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    raise UsageError("it is no picture that browsers show, and Pillow is missing: pip install 'holter[media]'")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image
