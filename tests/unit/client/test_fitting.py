"""Whether an array fits, what is given back, and going on with a smaller batch. GPUs are stood in for."""

from typing import Any

import pytest

from holter.client import fitting
from holter.client.fitting import fits, host_left, release, retry_smaller
from holter.errors import UsageError

GB = 10**9


class OutOfMemoryError(RuntimeError):
    """Stands in for torch's."""


@pytest.fixture(autouse=True)
def forty_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "host_left", lambda: 40 * GB)


def test_an_array_of_64_gb_does_not_fit_into_40() -> None:
    found = fits((8_000_000, 1000), "float64")
    assert not found
    assert found.needed_bytes == 64 * GB
    assert str(found) == (
        "does not fit: 64.00 GB needed, 40.00 GB are left in this process's memory; 5,000,000 of 8,000,000 rows do,"
        " as float16 all would, numpy.memmap keeps it on the disk"
    )


def test_what_fits_is_true_and_needs_no_advice() -> None:
    found = fits((1000, 1000))
    assert found
    assert str(found) == "fits: 4.0 MB needed, 40.00 GB are left in this process's memory"


@pytest.mark.parametrize(
    ("dtype", "size"), [("bfloat16", 2), (float, 8), (int, 8), ("torch.float32", 4), ("bool", 1), ("complex128", 16)]
)
def test_types_are_taken_as_people_write_them(dtype: object, size: int) -> None:
    assert fits(10, dtype).needed_bytes == 10 * size


def test_types_of_libraries_say_their_size_themselves() -> None:
    numpy: Any = pytest.importorskip("numpy")
    assert fits(10, numpy.dtype("float16")).needed_bytes == 20


@pytest.mark.parametrize(
    ("shape", "options", "said"),
    [
        ((-1, 2), {}, "a shape is whole numbers"),
        (3, {"dtype": "text"}, "dtype must be a type of numpy or torch"),
        (3, {"device": "tpu"}, "device is cpu or cuda"),
    ],
)
def test_what_cannot_be_said_is_refused(shape: object, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        fits(shape, **options)


def test_a_gpu_that_nobody_uses_is_not_started() -> None:
    found = fits(3, device="cuda:0")
    assert found.left_bytes is None
    assert "nothing here uses yet" in str(found)


def test_this_machine_has_memory_left() -> None:
    left = host_left()
    assert left is None or left > 0


def test_garbage_is_given_back_and_counted() -> None:
    class Ring:
        def __init__(self) -> None:
            self.ring = self

    release()
    for _ in range(100):
        Ring()
    assert release().objects >= 100


def test_a_batch_that_does_not_fit_is_halved_until_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    tried = []

    @retry_smaller
    def train(epochs: int, batch_size: int = 64) -> int:
        tried.append(batch_size)
        if batch_size > 20:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return batch_size * epochs

    assert train(2) == 32
    assert tried == [64, 32, 16]
    assert "GPU out of memory with batch_size=64: again with 32" in capsys.readouterr().err


def test_below_the_least_the_error_is_raised_as_it_was() -> None:
    @retry_smaller(argument="size", least=8)
    def train(size: int) -> None:
        raise OutOfMemoryError(f"out of memory with {size}")

    with pytest.raises(OutOfMemoryError, match="with 8"):
        train(32)


def test_other_errors_are_nobody_s_business() -> None:
    @retry_smaller
    def train(batch_size: int) -> None:
        raise RuntimeError(f"shapes do not match: {batch_size}")

    with pytest.raises(RuntimeError, match="shapes do not match: 4"):
        train(4)


def test_with_several_ranks_nothing_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_has_process_group", lambda: True)

    @retry_smaller
    def train(batch_size: int) -> None:
        raise OutOfMemoryError("out of memory")

    with pytest.raises(OutOfMemoryError):
        train(4)


def test_a_function_without_a_batch_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="has no argument 'batch_size'"):

        @retry_smaller
        def train(size: int) -> None:
            """Never called."""
