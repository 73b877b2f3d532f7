"""Pictures from each kind of input, read back pixel by pixel."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import holter
from tests.lazily import Lazily
from tests.media.making import Bench

torch: Any = Lazily("torch")

RANDOM = np.random.default_rng(7)
HWC = RANDOM.integers(0, 256, (6, 9, 3), np.uint8)
GREY = RANDOM.integers(0, 256, (6, 9), np.uint8)
RGBA = RANDOM.integers(0, 256, (6, 9, 4), np.uint8)
DEEP = RANDOM.integers(0, 65536, (6, 9)).astype(np.uint16)


def png_of(array: Any) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(array).save(out, "PNG")
    return out.getvalue()


class Tensor:
    """What JAX and TensorFlow have in common: an array by its method."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def pixels(data: bytes) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(data)))


INPUTS: list[tuple[str, Callable[[], Any], Any]] = [
    ("numpy", lambda: HWC, HWC),
    ("grey", lambda: GREY, GREY),
    ("one channel", lambda: GREY[..., None], GREY),
    ("alpha", lambda: RGBA, RGBA),
    ("channels first", lambda: HWC.transpose(2, 0, 1), HWC),
    ("not contiguous", lambda: np.asfortranarray(HWC)[::-1], HWC[::-1]),
    ("floats", lambda: HWC / 255, HWC),
    ("float16", lambda: np.array([[0, 0.5, 1]], np.float16), np.array([[0, 128, 255]], np.uint8)),
    ("floats from -1", lambda: np.array([[-1.0, 0.0, 1.0]]), np.array([[0, 128, 255]], np.uint8)),
    ("booleans", lambda: GREY > 99, (GREY > 99).astype(np.uint8) * 255),
    ("lists", GREY.tolist, GREY),
    ("big endian", lambda: GREY.astype(">f8") / 255, GREY),
    ("torch", lambda: torch.from_numpy(HWC.transpose(2, 0, 1).copy()), HWC),
    (
        "torch with a gradient",
        lambda: torch.full((3, 4, 5), 1.0, requires_grad=True),
        np.full((4, 5, 3), 255, np.uint8),
    ),
    ("torch bfloat16", lambda: torch.ones(3, 4, 5, dtype=torch.bfloat16), np.full((4, 5, 3), 255, np.uint8)),
    ("another library", lambda: Tensor(HWC), HWC),
    ("PIL", lambda: Pillow.fromarray(HWC), HWC),
    ("PIL, black and white", lambda: Pillow.fromarray(GREY > 99), (GREY > 99).astype(np.uint8) * 255),
    ("PIL, a palette", lambda: Pillow.fromarray(HWC).quantize(256), HWC),
    ("PIL, CMYK", lambda: Pillow.fromarray(HWC).convert("CMYK"), HWC),
    ("PIL, alpha", lambda: Pillow.fromarray(RGBA), RGBA),
    ("PIL, 16 bits", lambda: Pillow.fromarray(DEEP), DEEP),
    ("PIL, whole numbers", lambda: Pillow.fromarray(DEEP.astype(np.int32)), DEEP),
    ("PIL, floats", lambda: Pillow.fromarray(np.array([[0, 0.5, 1]], np.float32)), np.array([[0, 128, 255]], np.uint8)),
    ("whole numbers", lambda: GREY.astype(np.int64), GREY),
    ("floats as large as bytes", lambda: GREY.astype(np.float32) + 0.0, GREY),
    ("another picture", lambda: holter.Image(HWC), HWC),
    ("bytes", lambda: png_of(HWC), HWC),
    ("an open file", lambda: io.BytesIO(png_of(GREY)), GREY),
]


@pytest.mark.parametrize(("make", "expected"), [each[1:] for each in INPUTS], ids=[each[0] for each in INPUTS])
def test_a_picture_is_read_back_as_it_was(bench: Bench, make: Callable[[], Any], expected: Any) -> None:
    item, data = bench.one(holter.Image(make(), caption="words"))
    assert (pixels(data) == expected).all()
    assert pixels(data).shape == expected.shape
    about = item.about()
    assert (about["height"], about["width"], about["caption"]) == (*expected.shape[:2], "words")
    assert bench.warnings == []


def test_a_file_is_kept_byte_by_byte(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a picture.jpg"
    Pillow.fromarray(HWC).save(path)
    item, data = bench.one(holter.Image(path))
    assert (data, item.ext) == (path.read_bytes(), "jpg")


def test_what_browsers_do_not_show_becomes_a_png(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "picture.tiff"
    Pillow.fromarray(HWC).save(path)
    item, data = bench.one(holter.Image(str(path)))
    assert item.ext == "png"
    assert (pixels(data) == HWC).all()


def test_a_file_of_16_bits_is_kept_and_its_small_picture_is_not_white(bench: Bench, tmp_path: Path) -> None:
    for ending in ("png", "tiff"):
        path = tmp_path / f"deep.{ending}"
        Pillow.fromarray(np.full((6, 9), 0x4040, np.uint16)).save(path)
        item, data = bench.one(holter.Image(path))
        assert item.ext == "png"
        assert int(pixels(data)[0, 0]) in (0x4040, 0x40)
        small = pixels((bench.directory / f"media/{item.digest}.small.webp").read_bytes())
        assert abs(int(small[0, 0, 0]) - 0x40) <= 2


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("L", np.rint(HWC @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)),
        ("RGB", HWC),
        ("RGBA", np.dstack([HWC, np.full((6, 9), 255, np.uint8)])),
    ],
)
def test_a_picture_has_the_mode_that_was_asked_for(bench: Bench, mode: str, expected: Any) -> None:
    item, data = bench.one(holter.Image(HWC, mode=mode))
    assert (pixels(data) == expected).all()
    assert item.about()["mode"] == mode


def test_floats_are_taken_as_they_are_without_normalize(bench: Bench) -> None:
    values = np.array([[0.0, 0.6, 1.0]])
    assert pixels(bench.one(holter.Image(values))[1]).tolist() == [[0, 153, 255]]
    assert pixels(bench.one(holter.Image(values, normalize=False))[1]).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("file_type", ["jpg", "webp"])
def test_a_picture_is_smaller_on_request(bench: Bench, file_type: str) -> None:
    item, data = bench.one(holter.Image(np.full((64, 64, 3), 100, np.uint8), file_type=file_type))
    assert item.ext == file_type
    assert np.abs(pixels(data).astype(int) - 100).max() <= 2


def test_a_batch_of_tensors_is_a_grid(bench: Bench) -> None:
    _, data = bench.one(holter.Image(torch.from_numpy(np.stack([HWC] * 2).transpose(0, 3, 1, 2).copy())))
    assert (pixels(data)[2:8, 13:22] == HWC).all()


def test_a_batch_is_a_grid(bench: Bench) -> None:
    _, data = bench.one(holter.Image(np.stack([HWC] * 9)))
    shown = pixels(data)
    assert shown.shape == (2 * 8 + 2, 8 * 11 + 2, 3)
    assert (shown[2:8, 2:11] == HWC).all()
    assert (shown[10:16, 2:11] == HWC).all()


def test_what_happens_to_the_array_afterwards_changes_nothing(bench: Bench) -> None:
    array = HWC.copy()
    image = holter.Image(array)
    array[:] = 0
    assert (pixels(bench.one(image)[1]) == HWC).all()


def test_without_pillow_the_same_pixels_are_a_png(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holter.worker.kinds.image._pillow", lambda: None)
    for array in (HWC, GREY, RGBA):
        assert (pixels(bench.one(holter.Image(array))[1]) == array).all()
    assert (pixels(bench.one(holter.Image(png_of(HWC)))[1]) == HWC).all()
    assert bench.warnings == ["'x': Pillow is missing, so there is no small picture of it: pip install 'holter[media]'"]


def test_boxes_and_masks_are_told_and_masks_are_exact(bench: Bench) -> None:
    classes = RANDOM.integers(0, 4, (6, 9))
    box = {"position": {"minX": 0.1, "maxX": 0.5, "minY": 0, "maxY": 1}, "class_id": 2, "scores": {"iou": 0.5}}
    nowhere = {"position": {"middle": [math.nan, 1], "width": 1, "height": 1}}
    image = holter.Image(
        HWC,
        classes=[{"id": 2, "name": "cat"}],
        boxes={"predictions": {"box_data": [box, nowhere]}},
        masks={"truth": {"mask_data": classes, "class_labels": {1: "dog"}}},
    )
    about = bench.one(image)[0].about()
    assert bench.warnings == ["'x': 1 of its 2 boxes are nowhere (NaN or infinite), and left out"]
    assert about["boxes"]["predictions"] == {
        "box_data": [
            {
                "position": {"minX": 0.1, "maxX": 0.5, "minY": 0.0, "maxY": 1.0},
                "domain": "",
                "class_id": 2,
                "scores": {"iou": 0.5},
            }
        ],
        "class_labels": {"2": "cat"},
    }
    mask = about["masks"]["truth"]
    assert mask["class_labels"] == {"1": "dog"}
    assert (pixels((bench.directory / mask["path"]).read_bytes()) == classes).all()


def test_a_list_of_pictures_is_one_entry_with_all_of_them(bench: Bench) -> None:
    made = bench.made([holter.Image(GREY), holter.Image(HWC), Pillow.fromarray(RGBA)])
    assert [pixels(bench.read(item)).shape for item in made.items] == [(6, 9), (6, 9, 3), (6, 9, 4)]


def test_figures_of_matplotlib_become_pictures_of_what_they_show(bench: Bench) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    figure.patch.set_facecolor((1, 0, 0))
    assert pixels(bench.one(figure)[1]).shape == (50, 100, 4)
    for of in (pyplot, figure.subplots(), holter.Plotly(figure)):
        assert pixels(bench.one(of)[1])[0, 0].tolist() == [255, 0, 0, 255]
    pyplot.close(figure)


def test_what_is_wrong_with_pixels_is_said_when_they_are_made(bench: Bench) -> None:
    _, data = bench.one(holter.Image(np.array([[np.nan, 0.5]])))
    assert pixels(data).tolist() == [[0, 128]]
    bench.one(holter.Image(np.array([[-5, 300]])))
    assert "NaN or infinite" in bench.warnings[0]
    assert "what is beyond is cut" in bench.warnings[1]
    bench.log(holter.Image(np.zeros((5, 6, 7))))
    bench.log(holter.Image(b"this is no picture"))
    assert [told.failed.partition(":")[0] for told in bench.make()] == ["'x'", "'x'"]


def test_a_drawing_that_could_run_scripts_is_no_picture(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "drawing.png"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    bench.log(holter.Image(path))
    [told] = bench.make()
    assert "it is no picture that can be read" in told.failed
    assert list((bench.directory / "media").glob("*")) == []
