"""What nobody can make anything of is said in plain words, and the rest of its row is kept."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holter
from tests.lazily import Lazily
from tests.media.making import Bench

pd: Any = Lazily("pandas")
plotly: Any = Lazily("plotly")

GREY = np.zeros((4, 5), np.uint8)
FILM = np.zeros((2, 3, 4, 4), np.uint8)
# Its memory is that of one number.
HUGE = np.broadcast_to(np.uint8(1), (40_000, 80_000))
TOO_LARGE = "2,147,483,648 are the most"


def mask(**of: Any) -> holter.Image:
    return holter.Image(GREY, masks={"truth": of})


def box(**of: Any) -> holter.Image:
    return holter.Image(GREY, boxes={"guessed": {"box_data": [of]}})


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "picture: a line": (lambda: holter.Image(np.zeros(5)), "a picture has 2 axes"),
    "picture: five axes": (lambda: holter.Image(np.zeros((1, 1, 1, 1, 1))), "a picture has 2 axes"),
    "picture: nothing": (lambda: holter.Image(np.zeros((0, 4))), "a picture has 2 axes"),
    "picture: no path": (lambda: holter.Image("/nowhere/a.png"), "No such file or directory: /nowhere/a.png"),
    "picture: a folder": (lambda: holter.Image("/"), "'/' is no file"),
    "picture: a number": (lambda: holter.Image(5), "no picture can be made of a int"),
    "picture: words": (lambda: holter.Image(np.array([["a", "b"]])), "holds no numbers"),
    "picture: 3 GB": (lambda: holter.Image(HUGE), TOO_LARGE),
    "picture: a type of file": (lambda: holter.Image(GREY, file_type="tga"), "file_type must be one of"),
    "picture: a mode": (lambda: holter.Image(GREY, mode="colourful"), "mode must be one of L, LA, RGB, RGBA"),
    "picture: a mask in colour": (lambda: mask(mask_data=np.zeros((3, 3, 3))), "a mask has a class for each pixel"),
    "picture: a mask without a file": (
        lambda: mask(path="/nowhere/m.png"),
        "No such file or directory: /nowhere/m.png",
    ),
    "picture: a box of words": (
        lambda: box(position=dict.fromkeys(("minX", "maxX", "minY", "maxY"), "left")),
        "could not convert string to float: 'left'",
    ),
    "picture: a box nowhere": (lambda: box(class_id=1), "a box has a position: minX, maxX"),
    "pictures and a text": (lambda: [holter.Image(GREY), holter.Text("t")], "a list holds media of one type"),
    "film: channels": (lambda: holter.Video(np.zeros((5, 8, 10, 3), np.uint8)), "a film has the axes"),
    "film: no path": (lambda: holter.Video("/nowhere/a.mp4"), "No such file or directory: /nowhere/a.mp4"),
    "film: a file of another kind": (lambda: holter.Video("/etc/passwd"), "is no film that can be shown"),
    "film: a format": (lambda: holter.Video(FILM, format="avi"), "format must be one of mp4, webm, gif, ogg"),
    "film: no rate": (lambda: holter.Video(FILM, fps=float("nan")), "fps must be more than 0"),
    "film: a rate below 0": (lambda: holter.Video(FILM, fps=-1), "fps must be more than 0"),
    "film: 3 GB": (lambda: holter.Video(HUGE.reshape(8, 1, 5000, 80_000)), TOO_LARGE),
    "sound: three axes": (lambda: holter.Audio(np.zeros((2, 2, 2)), sample_rate=8000), "a sound has the axes"),
    "sound: no rate": (lambda: holter.Audio(np.zeros(5)), "needs its sample_rate"),
    "sound: no path": (lambda: holter.Audio("/nowhere/a.wav"), "No such file or directory: /nowhere/a.wav"),
    "sound: 3 GB": (lambda: holter.Audio(HUGE.reshape(-1), sample_rate=8000), TOO_LARGE),
    "histogram: words": (lambda: holter.Histogram(["a"]), "could not convert string to float"),
    "histogram: nothing": (lambda: holter.Histogram([]), "a histogram of no finite values"),
    "histogram: parts": (lambda: holter.Histogram([1], num_bins=600), "num_bins must be between 1 and 512"),
    "histogram: below 0": (lambda: holter.Histogram(np_histogram=([-1, 2], [0, 1, 2])), "no count below 0"),
    "histogram: falling edges": (lambda: holter.Histogram(np_histogram=([1, 2], [0, 2, 1])), "edges that grow"),
    "histogram: 3 GB": (lambda: holter.Histogram(HUGE), TOO_LARGE),
    "table: ragged": (lambda: holter.Table(columns=["a", "b"], data=[[1, 2], [3]]), "a row of 1 cells"),
    "table: a mode": (lambda: holter.Table(columns=["a"], log_mode="OFTEN"), "log_mode must be one of"),
    "table: a number": (lambda: holter.Table(columns=["a"], data=5), "a table is made of rows, or of a frame; got int"),
    "table: 3 GB": (
        lambda: pd.DataFrame({"a": pd.Series(np.broadcast_to(1.0, 400_000_000), copy=False)}, copy=False),
        TOO_LARGE,
    ),
    "chart: a column": (lambda: holter.plot.bar(holter.Table(columns=["a"]), "a", "b"), "needs the column 'b'"),
    "page: no path": (lambda: holter.Html("/nowhere/a.html"), "No such file or directory: /nowhere/a.html"),
    "figure: a number": (lambda: holter.Plotly(5), "takes a figure of Plotly; got int"),
    "scene: seven numbers": (lambda: holter.Object3D(np.zeros((4, 7))), "points have 3, 4 or 6 numbers"),
    "scene: a file of another kind": (lambda: holter.Object3D("/etc/passwd"), "a scene is a file that ends in"),
    "scene: no path": (lambda: holter.Object3D("/nowhere/a.glb"), "No such file or directory: /nowhere/a.glb"),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(("make", "because"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_and_the_rest_of_the_row_is_kept(
    bench: Bench, make: Callable[[], Any], because: str
) -> None:
    value = make()
    assert bench._taker.take({"loss": 0.5, "x": value}, 3, 1) == {"loss": 0.5}
    [complaint] = bench.complaints
    assert complaint.startswith("'x' is not kept: ")
    assert because in complaint
    assert [(each.key, each.step) for each in bench.lost()] == [("x", 3)]
    assert bench.make() == []


@pytest.mark.parametrize(
    ("make", "ending"),
    [
        (holter.Image, "png"),
        (holter.Video, "mp4"),
        (holter.Audio, "wav"),
        (holter.Object3D, "glb"),
        (holter.Html, "html"),
    ],
)
def test_a_pipe_does_not_hold_up_the_program(bench: Bench, make: Callable[[str], Any], ending: str) -> None:
    path = str(bench.directory / f"pipe.{ending}")
    os.mkfifo(path)
    assert bench.log(make(path)) == {}
    assert f"{path!r} is no file" in bench.complaints[0]


def test_a_file_that_may_not_be_read_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.directory / "secret.png"
    path.write_bytes(b"x")

    def refuse(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)  # root may read all
    image = holter.Image(path)
    monkeypatch.undo()
    assert bench.log(image) == {}
    assert f"Permission denied: {path}" in bench.complaints[0]


def test_a_cell_that_cannot_be_kept_is_empty_and_the_others_are_there(bench: Bench) -> None:
    broken = bench.directory / "broken.png"
    broken.write_bytes(b"no picture")
    pictures = [holter.Image(GREY), holter.Image("/nowhere/a.png"), holter.Image(broken)]
    item = bench.made(holter.Table(columns=["picture"], data=[[each] for each in pictures])).items[0]
    table = pd.read_parquet(io.BytesIO(bench.read(item)))
    assert table["picture"].notna().tolist() == [True, False, False]
    assert bench.complaints == [
        "of 'x' 1 of its cells can't be kept and are empty, the first one: No such file or directory: /nowhere/a.png"
    ]
    assert [each.count for each in bench.lost()] == [1]
    assert "'x': a cell that can't be made is empty: it is no picture that can be read" in bench.warnings[0]


def test_a_film_with_holes_and_of_a_format_that_is_not_made_is_said(bench: Bench) -> None:
    item, _ = bench.one(holter.Video(np.full((2, 3, 4, 4), np.nan), format="ogg"))
    assert item.ext == "mp4"
    assert "96 of its values are NaN or infinite" in bench.warnings[0]
    assert "can't be made a file of the format ogg: it is an MP4" in bench.warnings[1]


@pytest.mark.parametrize("values", [[-3e38, 3e38], [1e-45, 3e-45], [0.0, 1e-310]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_histograms_of_extreme_values_count_all_and_print_nothing(
    bench: Bench, values: list[float], dtype: Any
) -> None:
    bench.log(holter.Histogram(np.array(values, dtype)))
    [told] = bench.histograms()
    assert sum(told.counts) == 2


def test_what_is_lazy_is_not_asked_for_its_columns(bench: Bench) -> None:
    import polars

    frame = polars.LazyFrame({"a": [1]})
    assert bench.log(frame) == {"x": frame}
