"""Arrays are described by what their library says of them, and by nothing that the user wrote."""

from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from holter.memory.arrays import LARGEST, MOST_ITEMS, ArrayReader, is_array
from holter.model.records import HeldArray

called: list[str] = []


@pytest.fixture(autouse=True)
def nothing_called() -> Iterator[None]:
    called.clear()
    yield
    assert called == []


def read(value: object) -> HeldArray | None:
    return ArrayReader(1_000_000).read("x", value)


class Tensor:
    """As a tensor of torch looks from outside: its class says that it comes from there."""

    __module__ = "torch"
    __slots__ = ("dtype", "nbytes", "shape")

    def __init__(self, *shape: int) -> None:
        self.shape, self.dtype, self.nbytes = shape, "torch.bfloat16", 2 * int(np.prod(shape))

    @property
    def device(self) -> str:
        return self.which()

    def which(self) -> str:
        return "cuda:1"


class Derived(Tensor):
    """A user's own, which answers by itself what it may not be asked."""

    @property
    def dtype(self) -> str:  # type: ignore[override]  # on purpose
        called.append("dtype")
        return "mine"

    def which(self) -> str:
        called.append("which")
        return "mine"

    def __getattribute__(self, name: str) -> object:
        called.append(name)
        return object.__getattribute__(self, name)


class Hooked(Tensor):
    @classmethod
    def __torch_function__(cls) -> None:
        called.append("torch")


class Meta(type):
    def __getattribute__(cls, name: str) -> object:
        called.append(name)
        return type.__getattribute__(cls, name)


def asked(name: str) -> property:
    return property(lambda self: called.append(name))


# Made by a call, for no type checker lets a class lie like this.
Liar: Any = Meta("Liar", (), {name: asked(name) for name in ("__class__", "shape", "dtype")})


def test_an_array_of_numpy() -> None:
    assert read(np.zeros((4, 3), dtype=np.float32)) == HeldArray(
        name="x", type="numpy.ndarray", shape=(4, 3), dtype="float32", device="cpu", size_bytes=48
    )


def test_a_tensor_on_a_device() -> None:
    assert read(Tensor(2, 5)) == HeldArray(
        name="x", type="torch.Tensor", shape=(2, 5), dtype="bfloat16", device="cuda:1", size_bytes=20
    )


def test_of_a_users_own_tensor_only_what_the_library_answers_itself_is_read() -> None:
    derived = Derived.__new__(Derived)
    for name, value in (("shape", (2, 5)), ("nbytes", 20)):
        vars(Tensor)[name].__set__(derived, value)
    assert read(derived) == HeldArray(
        name="x", type=f"{__name__}.Derived", shape=(2, 5), dtype="", device="", size_bytes=20
    )


def test_a_tensor_that_torch_would_ask_first_is_only_named() -> None:
    assert read(Hooked(2, 5)) == HeldArray(name="x", type=f"{__name__}.Hooked")


def test_a_property_of_a_derived_array_of_numpy_is_not_called() -> None:
    kind: Any = type("Mine", (np.ndarray,), {"shape": asked("shape")})
    found = read(np.zeros(3).view(kind))
    assert found is not None
    assert (found.shape, found.dtype, found.size_bytes) == ((), "float64", 24)


@pytest.mark.parametrize("value", [1, "text", None, np.float32(1), np.dtype("f4"), object, Liar(), [1, 2], {}, ()])
def test_what_is_no_array_is_left_out(value: object) -> None:
    assert read(value) is None


def test_the_first_level_of_containers_is_counted() -> None:
    array = np.zeros(10)
    pair = namedtuple("pair", "a b")
    held = [
        read([array, array, 3, [array]]),
        read((array,)),
        read({"w": array, "b": Tensor(2)}),
        read(OrderedDict(w=array)),
        read(pair(array, array)),
    ]
    assert [(each.type.rpartition(".")[2], each.count, each.size_bytes) for each in held if each] == [
        ("list", 2, 160),
        ("tuple", 1, 80),
        ("dict", 2, 84),
        ("OrderedDict", 1, 80),
        ("pair", 2, 160),
    ]


def test_methods_of_derived_containers_are_not_called() -> None:
    kind: Any = type("Mine", (dict,), {name: lambda self: called.append("dict") for name in ("values", "__iter__")})
    found = read(kind(a=np.zeros(1)))
    assert found is not None
    assert found.count == 1


def test_a_library_that_fails_costs_only_what_it_was_asked_for() -> None:
    class Broken(Tensor):
        __module__ = "torch.nn"

        @property
        def device(self) -> str:
            raise RuntimeError("no CUDA")

    found = read(Broken(2))
    assert found is not None
    assert (found.device, found.shape) == ("", (2,))


def test_sizes_that_no_journal_takes_are_cut() -> None:
    found = read(Tensor(1 << 70, 0))
    assert found is not None
    assert found.shape == (LARGEST, 0)


def test_what_is_looked_at_is_bounded() -> None:
    array = np.zeros(1)
    found = read([array] * (MOST_ITEMS + 100))
    assert found is not None
    assert found.count == MOST_ITEMS
    reader = ArrayReader(2)
    assert [reader.read("x", array) is None for _ in range(4)] == [False, False, True, True]


def test_only_the_known_libraries_have_arrays() -> None:
    other = type("Tensor", (), {"__module__": "mylib", "shape": (), "dtype": ""})
    assert [is_array(kind) for kind in (np.ndarray, np.matrix, Tensor, Derived, other, np.float32)] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]
