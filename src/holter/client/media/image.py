"""`holter.Image`: a picture, with boxes and masks over it."""

from collections.abc import Mapping, Sequence
from typing import Any

from holter.client.media.bundle import Bundle, is_array, own_array
from holter.client.media.medium import Media, caption_of, check_file, ending_of, path_of, patient
from holter.client.shortened import text_of
from holter.errors import UsageError

MOST_BOXES = 10_000
FILE_TYPES = ("png", "jpg", "jpeg", "webp")
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA")
_DEEP_MODES = ("F", "I", "I;16", "I;16B", "I;16L", "I;16N")
MODES = (*_PLAIN_MODES, *_DEEP_MODES, "1", "P", "CMYK", "YCbCr", "LAB", "HSV")


class Image(Media):
    """A picture from an array (HWC, CHW or a batch of them), a tensor, PIL, matplotlib, a path or the bytes of a file.

    Args:
        mode: `L`, `RGB`, `RGBA`; left out, by the number of channels.
        caption: shown below it.
        classes: `{"id": 1, "name": "car"}` for each class of boxes and masks without labels of their own.
        boxes: `{"predictions": {"box_data": [{"position": {"minX": …}, "class_id": 1}], "class_labels": {1: "car"}}}`.
        masks: `{"predictions": {"mask_data": array of class ids, "class_labels": {1: "car"}}}`.
        file_type: `png` (the default, lossless), `jpg` or `webp`.
        normalize: floats between 0 and 1, or -1 and 1, are spread over 0 to 255; False takes them as they are.
    """

    kind = "image"

    @patient
    def __init__(
        self,
        data_or_path: Any,
        mode: str | None = None,
        caption: Any = None,
        grouping: int | None = None,
        classes: Any = None,
        boxes: Mapping[str, Any] | None = None,
        *,
        masks: Mapping[str, Any] | None = None,
        file_type: str | None = None,
        normalize: bool = True,
    ) -> None:
        if file_type is not None and file_type not in FILE_TYPES:
            raise UsageError(f"file_type must be one of {', '.join(FILE_TYPES)}; got {file_type!r}")
        if mode is not None and mode not in MODES:
            raise UsageError(f"mode must be one of {', '.join(_PLAIN_MODES)}; got {mode!r}")
        self._about: dict[str, Any] = {"normalize": bool(normalize), **caption_of(caption)}
        self._about |= {"mode": str(mode)} if mode else {}
        self._about |= {"file_type": file_type} if file_type else {}
        self._path = path_of(data_or_path)
        self._data: Any = b""
        self._take(data_or_path)
        labels = _labels(classes)
        self._boxes = {text_of(name, 200): _boxes(each, labels) for name, each in (boxes or {}).items()}
        self._masks = {text_of(name, 200): _Mask(each, labels) for name, each in (masks or {}).items()}

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its bytes."""
        about = dict(self._about)
        if self._path is not None:
            about |= {"file": bundle.add_file(self._path), "ending": ending_of(self._path, default="png")}
        elif isinstance(self._data, bytes):
            about["file"] = bundle.add(self._data)
        else:
            about["array"] = bundle.add_array(self._data)
        if self._boxes:
            about["boxes"] = self._boxes
        if self._masks:
            about["masks"] = {name: mask.pack(bundle) for name, mask in self._masks.items()}
        return about

    def _take(self, data: Any) -> None:
        if self._path is not None:
            check_file(self._path)
        elif isinstance(data, Image):
            self.trouble, self._path, self._data = data.trouble, data._path, data._data
            self._about = {**data._about, **self._about}
        elif isinstance(data, bytes | bytearray | memoryview):
            self._data = bytes(data)
        elif hasattr(data, "getvalue") or hasattr(data, "read"):  # a file in memory
            self._data = bytes(data.getvalue() if hasattr(data, "getvalue") else data.read())
        elif hasattr(data, "tobytes") and hasattr(data, "getbands"):  # PIL
            self._take_pillow(data)
        elif hasattr(data, "savefig") or hasattr(data, "get_figure"):  # matplotlib, and pyplot itself
            self._data = drawn(data)
        elif is_array(data) or isinstance(data, Sequence):
            self._data = own_array(data)
            if hasattr(data, "detach"):  # torch has channels first
                self._about["first"] = True
            _check_shape(self._data.shape)
        else:
            raise UsageError(f"no picture can be made of a {type(data).__name__}")

    def _take_pillow(self, image: Any) -> None:
        if image.mode in _DEEP_MODES:  # 16 bits of grey, or floats
            self._about |= {"deep": image.mode != "F"}
        else:
            image = image if image.mode in _PLAIN_MODES else image.convert(_plain_mode(image))
            self._about["mode"] = self._about.get("mode", image.mode)
        self._data = own_array(image)


class _Mask:
    def __init__(self, mask: Any, labels: dict[str, str]) -> None:
        given = mask.get("mask_data") if isinstance(mask, Mapping) else mask
        path = mask.get("path") if isinstance(mask, Mapping) else None
        self._path = path_of(path if path is not None else given)
        self._labels = _labels(mask.get("class_labels")) or labels if isinstance(mask, Mapping) else labels
        if self._path is None:
            self._array = own_array(given)
            if len([length for length in self._array.shape if length != 1]) > 2:
                raise UsageError(f"a mask has a class for each pixel, and so two axes; got {self._array.shape}")

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        if self._path is not None:
            return {"file": bundle.add_file(self._path), "class_labels": self._labels}
        return {"array": bundle.add_array(self._array), "class_labels": self._labels}


def drawn(figure: Any) -> Any:
    """A matplotlib figure as pixels; drawn at once, for it may change. Raises what matplotlib raises."""
    import importlib

    figure = figure.gcf() if hasattr(figure, "gcf") else figure
    figure = figure if hasattr(figure, "canvas") else figure.figure  # axes
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    before = figure.canvas
    canvas = agg.FigureCanvasAgg(figure)
    try:
        canvas.draw()
        return own_array(canvas.buffer_rgba())
    finally:
        figure.set_canvas(before)


def _plain_mode(image: Any) -> str:
    if image.mode == "1":
        return "L"
    return "RGBA" if "transparency" in image.info or "A" in image.mode else "RGB"


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3, 4) or 0 in shape:
        raise UsageError(f"a picture has 2 axes (H, W), 3 (H, W, C or C, H, W) or 4 (a batch); got the shape {shape}")


def _labels(classes: Any) -> dict[str, str]:
    if isinstance(classes, Mapping):
        return {str(number): text_of(name, 200) for number, name in classes.items()}
    items = getattr(classes, "_class_set", classes) or ()
    return {str(each["id"]): text_of(each["name"], 200) for each in items}


def _boxes(boxes: Any, labels: dict[str, str]) -> dict[str, Any]:
    data = list(boxes["box_data"])
    if len(data) > MOST_BOXES:
        raise UsageError(f"{len(data):,} boxes over one picture: {MOST_BOXES:,} are the most")
    return {"box_data": [_box(each) for each in data], "class_labels": _labels(boxes.get("class_labels")) or labels}


def _box(box: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "position": _position(box.get("position") or {}),
        "domain": str(box.get("domain", "") or ""),
    }
    if box.get("class_id") is not None:
        found["class_id"] = int(box["class_id"])
    if box.get("box_caption") is not None:
        found["box_caption"] = text_of(box["box_caption"], 1000)
    if box.get("scores"):
        found["scores"] = {text_of(name, 200): float(score) for name, score in box["scores"].items()}
    return found


def _position(position: Mapping[str, Any]) -> dict[str, Any]:
    if position.keys() >= {"middle", "width", "height"}:
        middle = [float(each) for each in position["middle"]]
        if len(middle) != 2:
            raise UsageError(f"the middle of a box has two numbers; got {middle}")
        return {"middle": middle, "width": float(position["width"]), "height": float(position["height"])}
    if not position.keys() >= {"minX", "maxX", "minY", "maxY"}:
        raise UsageError(
            "a box has a position: minX, maxX, minY and maxY, or middle, width and height;"
            f" got {', '.join(map(str, position)) or 'none'}"
        )
    return {name: float(position[name]) for name in ("minX", "maxX", "minY", "maxY")}
