"""Sounds, films, texts, scenes and histograms from each kind of input, read back."""

import io
import math
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image as Pillow

import holter
from tests.lazily import Lazily
from tests.media.making import Bench

av: Any = Lazily("av")
plotly: Any = Lazily("plotly")
polars: Any = Lazily("polars")
torch: Any = Lazily("torch")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def path_to(bench: Bench, data: bytes) -> Path:
    path = bench.directory / "sound.wav"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("channels", [1, 2])
def test_samples_are_read_back_exact(bench: Bench, channels: int) -> None:
    samples = np.arange(-400, 400, dtype=np.int16).reshape(-1, channels)
    item, data = bench.one(holter.Audio(samples if channels > 1 else samples[:, 0], sample_rate=8000))
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getsampwidth()) == (channels, 8000, 2)
        assert (np.frombuffer(sound.readframes(1000), np.int16).reshape(-1, channels) == samples).all()
    about = item.about()
    assert (about["sample_rate"], about["duration"], about["channels"]) == (8000, len(samples) / 8000, channels)
    # Loud at both ends, and silent in the middle: what is drawn of it.
    assert (len(about["wave"]), max(about["wave"]), min(about["wave"])) == (160, round(100 * 400 / 32768), 0)
    assert bench.one(holter.Audio(path_to(bench, data)))[0].about() == about


def test_samples_of_floats_are_floats(bench: Bench) -> None:
    samples = torch.sin(torch.arange(100) / 10)
    _, data = bench.one(holter.Audio(samples, 8000, "a tone"))
    assert data[20:22] == b"\x03\x00"
    assert (np.frombuffer(data[44:], np.float32) == samples.numpy()).all()


def test_a_sound_needs_a_rate_and_a_file_that_can_be_played(bench: Bench, tmp_path: Path) -> None:
    bench.log(holter.Audio(np.zeros(5)))
    bench.log(holter.Audio(str(tmp_path / "virus.exe")))
    assert "needs its sample_rate" in bench.complaints[0]
    assert "is no sound that can be played" in bench.complaints[1]
    path = tmp_path / "a.mp3"
    path.write_bytes(b"any bytes")
    assert bench.one(holter.Audio(path))[1] == b"any bytes"


FRAMES = np.random.default_rng(3).integers(0, 256, (5, 3, 8, 10), np.uint8)


def test_frames_of_a_gif_are_there(bench: Bench) -> None:
    item, data = bench.one(holter.Video(FRAMES, fps=5, format="gif"))
    shown = Pillow.open(io.BytesIO(data))
    assert (shown.size, getattr(shown, "n_frames", 0)) == ((10, 8), 5)
    assert item.about() == {"fps": 5.0, "frames": 5, "width": 10, "height": 8}


def tensor_of(array: Any) -> Any:
    return torch.from_numpy(array)


@pytest.mark.parametrize(
    "make",
    [tensor_of, np.ndarray.tolist, lambda film: film / 255, lambda film: film[None]],
    ids=["torch", "list", "floats", "batch"],
)
def test_frames_are_the_same_of_any_array(bench: Bench, make: Callable[[Any], Any]) -> None:
    film = np.repeat(np.array([0, 255], np.uint8), 48).reshape(2, 3, 4, 4)
    _, data = bench.one(holter.Video(make(film), format="gif"))
    shown = Pillow.open(io.BytesIO(data))
    for number, shade in enumerate((0, 255)):
        shown.seek(number)
        assert (np.asarray(shown.convert("RGB")) == shade).all()


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([0.5, -0.5], np.array([0.5, -0.5], np.float32)),
        (np.array([0.5, -0.5]), np.array([0.5, -0.5], np.float32)),
        (np.array([1 << 20, -5], np.int32), np.array([1 << 20, -5], np.int32)),
        (np.array([[1, 2, 3], [4, 5, 6]] * 9, np.int16), np.array([[1, 2, 3], [4, 5, 6]] * 9, np.int16)),
        (np.arange(60, dtype=np.int16).reshape(2, 30), np.arange(60, dtype=np.int16).reshape(2, 30).T),
    ],
    ids=["list", "float64", "int32", "samples first", "channels first"],
)
def test_a_sound_has_the_samples_of_its_array(bench: Bench, samples: Any, expected: Any) -> None:
    _, data = bench.one(holter.Audio(samples, sample_rate=8000))
    assert (np.frombuffer(data[44:], expected.dtype).reshape(expected.shape) == expected).all()


def test_films_are_films_with_or_without_pyav(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> bytes:
        raise ImportError("av")

    monkeypatch.setattr("holter.worker.kinds.video._film", missing)
    item, data = bench.one(holter.Video(np.stack([FRAMES, FRAMES])))
    assert (item.ext, Pillow.open(io.BytesIO(data)).size) == ("webp", (20, 8))
    assert "PyAV is missing" in bench.warnings[0]


@pytest.mark.parametrize("ext", ["mp4", "webm"])
def test_frames_of_films_are_there_beside_each_other(bench: Bench, ext: str) -> None:
    # Plain colours: the format loses what is finer.
    film = np.zeros((5, 3, 32, 48), np.uint8)
    film[:, 1] = np.arange(50, 100, 10)[:, None, None]
    item, data = bench.one(holter.Video(np.stack([film, film + np.uint8(100)]), fps=5, format=ext))
    assert (item.ext, item.about()) == (ext, {"fps": 5.0, "frames": 5, "width": 96, "height": 32})
    with av.open(io.BytesIO(data)) as container:
        [stream] = container.streams.video
        assert stream.average_rate == 5
        shown = [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(stream)]
    for number, frame in enumerate(shown):
        for left, green in ((24, 50 + 10 * number), (72, 150 + 10 * number)):
            assert np.abs(frame[16, left] - [100 if left > 48 else 0, green, 100 if left > 48 else 0]).max() <= 6
    assert len(shown) == 5


def test_files_of_films_and_scenes_are_kept_byte_by_byte(bench: Bench, tmp_path: Path) -> None:
    film, scene = tmp_path / "film.webm", tmp_path / "scene.glb"
    film.write_bytes(b"a film")
    scene.write_bytes(b"a scene")
    for value, ext, expected in (
        (holter.Video(film), "webm", b"a film"),
        (holter.Video(b"its bytes", format="mp4"), "mp4", b"its bytes"),
        (holter.Object3D(scene), "glb", b"a scene"),
    ):
        item, data = bench.one(value)
        assert (item.ext, data) == (ext, expected)


def test_a_figure_of_plotly_is_kept_as_it_describes_itself(bench: Bench) -> None:
    figure = plotly.graph_objects.Figure({"data": [{"y": [1, 3]}]})
    for value in (figure, holter.Plotly(figure)):
        made = bench.made(value)
        assert (made.type, made.items[0].ext) == ("plotly", "plotly.json")
        assert msgspec.json.decode(bench.read(made.items[0]))["data"] == [{"y": [1, 3], "type": "scatter"}]


def test_a_film_of_a_wrong_shape_is_refused(bench: Bench) -> None:
    bench.log(holter.Video(np.zeros((5, 8, 10, 3), np.uint8)))
    assert "a film has the axes (time, channel, height, width)" in bench.complaints[0]


def test_texts_are_kept_letter_by_letter(bench: Bench, tmp_path: Path) -> None:
    words = "<script>alert(1)</script> ü"
    page = tmp_path / "page.html"
    page.write_text(words)
    for value, ext in (
        (holter.Text(words), "txt"),
        (holter.Markdown(words), "md"),
        (holter.Html(words), "html"),
        (holter.Html(str(page)), "html"),
        (holter.Html(io.StringIO(words)), "html"),
    ):
        item, data = bench.one(value)
        assert (item.ext, data.decode()) == (ext, words)


def test_points_are_kept_with_their_boxes(bench: Bench) -> None:
    points = np.arange(12.0).reshape(4, 3)
    points[3, 1] = math.inf
    item, data = bench.one(holter.Object3D({"type": "lidar/beta", "points": points, "boxes": [{"label": "car"}]}))
    scene = msgspec.json.decode(data)
    assert scene == {"type": "lidar/beta", "boxes": [{"label": "car"}], "points": points[:3].tolist()}
    assert item.about() == {"points": 3}
    bench.log(holter.Object3D(np.zeros((4, 7))))
    assert "points have 3, 4 or 6 numbers" in bench.complaints[0]


@pytest.mark.parametrize("kind", ["numpy", "torch", "list", "integers"])
def test_histograms_count_as_numpy_does(bench: Bench, kind: str) -> None:
    values = np.random.default_rng(5).integers(0, 1000, 5000) * 0.25
    given: Any = {
        "numpy": values,
        "torch": torch.from_numpy(values),
        "list": values.tolist(),
        "integers": (values * 4).astype(np.int64),
    }[kind]
    assert bench.log(holter.Histogram(given)) == {}
    [told] = bench.histograms()
    counts, edges = np.histogram(np.asarray(given, float), 64)
    assert (told.low, told.high, told.edges) == (edges[0], edges[-1], ())
    assert sum(told.counts) == 5000
    assert np.abs(np.cumsum(told.counts) - np.cumsum(counts)).max() <= 20


def test_histograms_have_as_many_parts_as_asked_for_or_as_numpy_made(bench: Bench) -> None:
    values = np.arange(10.0)
    bench.log(holter.Histogram(values, num_bins=5))
    bench.log(holter.Histogram(np_histogram=np.histogram(values, 5)))
    one, other = bench.histograms()
    assert (one.counts, one.low, one.high) == (other.counts, other.low, other.high) == ((2,) * 5, 0, 9)


def test_histograms_of_odd_values(bench: Bench) -> None:
    bench.log(holter.Histogram([1.0, math.nan, math.inf, 1.0]))
    bench.log(holter.Histogram([math.nan]))
    bench.log(holter.Histogram(np_histogram=([1, 2], [0, 1, 10])))
    bench.log(holter.Histogram(np_histogram=([1, 2], [0, 1])))
    same, uneven = bench.histograms()
    assert (same.low, same.high, sum(same.counts)) == (0.5, 1.5, 2)
    assert (uneven.counts, uneven.edges) == ((1.0, 2.0), (0.0, 1.0, 10.0))
    assert "no finite values" in bench.complaints[0]
    assert "one edge more than counts" in bench.complaints[1]


def test_bare_values_become_what_they_mean(bench: Bench) -> None:
    assert bench.log(np.arange(100)) == {}
    assert len(bench.histograms()) == 1
    small = np.arange(3)
    assert bench.log(small) == {"x": small}
    series: Any = polars.Series(range(100))
    assert bench.log(series) == {}
    assert len(bench.histograms()) == 2
    assert bench.log([1.0, "word"]) == {"x": [1.0, "word"]}
    assert bench.log({"inner": {"deep": holter.Text("t")}, "n": 1}) == {"x": {"inner": {}, "n": 1}}
    assert bench.make()[0].records[0][1]["key"] == "x.inner.deep"


def test_a_kind_that_nobody_knows_waits_for_somebody_who_does(bench: Bench) -> None:
    medium = holter.Text("t")
    medium.__class__ = type("Newer", (holter.Text,), {"kind": "hologram"})
    bench.log(medium)
    [told] = bench.make()
    assert told.failed == "'x': there is no work of the kind 'hologram': a newer holter left it"
