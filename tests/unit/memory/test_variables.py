"""What a namespace holds: each buffer once, the largest first, and no code of the user's is run for it."""

import collections
import functools
import gc
import mmap
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy
import pytest

from holter.memory.held import Held, Variables
from holter.memory.libraries import READERS
from holter.memory.variables import variables

MIB = 1 << 20


def look(**namespace: Any) -> list[Held]:
    """Without the globals of what else counts as the user's."""
    found = variables(namespace, budget_s=5.0)
    return [each for each in found if each.name.partition(".")[0] in {*namespace, "features_of_test"}]


def held(**namespace: Any) -> dict[str, Held]:
    return {each.name: each for each in look(**namespace)}


def test_the_largest_comes_first() -> None:
    found = look(small=numpy.ones(MIB // 8), large=numpy.ones(MIB), middle=bytes(2 * MIB))
    assert [each.name for each in found] == ["large", "middle", "small"]
    assert found[0].size_bytes == pytest.approx(8 * MIB, rel=0.001)
    assert found[0].what == "1,048,576 float64"


def test_a_view_counts_for_the_array_that_it_keeps_whole() -> None:
    array = numpy.ones(MIB)
    found = held(view=array[:10], array=array)
    assert found["array"].frees == "del array, view"
    assert "view" not in found


def test_a_view_whose_array_has_no_name_holds_all_of_it() -> None:
    found = held(view=numpy.ones(MIB)[:10])
    assert found["view"].size_bytes == pytest.approx(8 * MIB, rel=0.001)


def test_two_names_of_one_object_are_one_holder() -> None:
    array = numpy.ones(MIB)
    found = look(first=array, second=array)
    assert [(each.name, each.why, each.frees) for each in found] == [("first", "also second", "del first, second")]


def test_an_array_in_a_list_counts_once_and_both_must_go() -> None:
    array = numpy.ones(MIB)
    found = held(batches=[array, numpy.ones(10)], array=array)
    assert found["array"].frees == "del array, batches"
    assert found["array"].size_bytes == pytest.approx(8 * MIB, rel=0.001)
    assert sum(each.size_bytes for each in found.values()) == pytest.approx(8 * MIB, rel=0.001)


def test_a_mapped_file_is_no_memory_of_the_process(tmp_path: Path) -> None:
    mapped = numpy.memmap(tmp_path / "data", dtype="float32", mode="w+", shape=(MIB,))
    found = held(mapped=mapped)["mapped"]
    assert (found.file_bytes, found.host_bytes < 1000) == (4 * MIB, True)
    mapped._mmap.close()  # type: ignore[attr-defined]  # numpy's own name for it


def test_an_array_over_anothers_memory_counts_for_that() -> None:
    import torch

    data = bytearray(4 * MIB)
    found = held(data=data, array=numpy.frombuffer(data, dtype="uint8"))
    assert sum(each.size_bytes for each in found.values()) == pytest.approx(4 * MIB, rel=0.001)
    tensor = torch.ones(MIB)
    found = held(tensor=tensor, array=tensor.numpy())
    assert sum(each.size_bytes for each in found.values()) == pytest.approx(4 * MIB, rel=0.001)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: [numpy.ones(1000) for _ in range(5000)], 5000 * 8112),
        (lambda: tuple(bytes(10_000) for _ in range(1000)), 1000 * 10_033),
        (lambda: {str(number): bytes(50_000) for number in range(300)}, 300 * 50_033),
        (lambda: collections.deque(numpy.ones(1000) for _ in range(1000)), 1000 * 8112),
        (lambda: {"a": {"b": [numpy.ones(MIB)]}}, 8 * MIB),
        (lambda: [0.5] * 1_000_000, 8_000_000),
        (lambda: [float(number) for number in range(1_000_000)], 32_000_000),
        (lambda: [numpy.ones(1_000_000)] * 1000, 8_000_000),
        (lambda: [whole[start:] for whole in [numpy.ones(1_000_000)] for start in range(1000)], 8_000_000 + 1000 * 120),
        (lambda: numpy.array([bytes(1000) for _ in range(10_000)], dtype=object), 10_000 * 1041),
    ],
    ids="arrays tuple dict deque nested one-float floats one-array views objects".split(),
)
def test_containers_are_sampled_to_about_the_right_size(make: Callable[[], object], expected: int) -> None:
    [found] = look(value=make())
    assert found.size_bytes == pytest.approx(expected, rel=0.05)


def test_objects_are_followed_and_their_largest_part_named() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.name = "trainer"
            self.history = [numpy.ones(1000) for _ in range(100)]

    class Slotted:
        __slots__ = ("data",)

        def __init__(self) -> None:
            self.data = numpy.ones(MIB)

    found = held(trainer=Trainer(), slotted=Slotted())
    assert found["trainer"].size_bytes == pytest.approx(100 * 8112, rel=0.05)
    assert found["trainer"].why == "mostly .history"
    assert found["slotted"].size_bytes == pytest.approx(8 * MIB, rel=0.01)


def test_what_holds_itself_needs_the_garbage_collector() -> None:
    class Node:
        pass

    node: Any = Node()
    node.data, node.me = numpy.ones(MIB), node
    assert held(node=node)["node"].frees == "del node\nimport gc; gc.collect()"


def test_a_closure_holds_what_it_closed_over() -> None:
    def close_over() -> Callable[[], object]:
        data = numpy.ones(MIB)
        return lambda: data

    assert held(function=close_over())["function"].size_bytes == pytest.approx(8 * MIB, rel=0.01)


def test_tensors_count_by_storage_with_their_gradients() -> None:
    import torch

    weight = torch.ones(MIB, requires_grad=True)
    weight.grad = torch.ones(MIB)
    found = held(weight=weight, part=weight.detach()[:5])
    assert found["weight"].size_bytes == pytest.approx(8 * MIB, rel=0.01)
    assert found["weight"].frees == "del weight, part"
    assert found["weight"].what == "1,048,576 float32 cpu"
    sparse = torch.sparse_coo_tensor(
        torch.zeros(1, MIB, dtype=torch.int64), torch.ones(MIB), (10,), check_invariants=False
    )
    assert held(sparse=sparse)["sparse"].size_bytes == pytest.approx(12 * MIB, rel=0.01)
    assert held(nothing=torch.ones(MIB, device="meta")) == {}


def test_a_tensor_around_others_holds_those() -> None:
    import torch

    class Around(torch.Tensor):  # type: ignore[misc]  # mypy does not look into torch
        """As DTensor and quantized tensors are made."""

        wrapped: torch.Tensor

        def __new__(cls, inner: torch.Tensor) -> "Around":
            made: Around = torch.Tensor._make_wrapper_subclass(cls, (4 * MIB,))
            made.wrapped = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> NoReturn:
            raise AssertionError("asked a tensor of the user's")

    inner = torch.ones(MIB)
    found = held(around=Around(inner), inner=inner)
    assert found["inner"].size_bytes == pytest.approx(4 * MIB, rel=0.01)
    assert found["inner"].frees == "del inner, around"
    assert "around" not in found


def test_a_model_and_its_optimizer_count_apart_and_go_together() -> None:
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(12)])
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 256)).sum().backward()
    optimizer.step()
    found = held(optimizer=optimizer, model=model)
    parameters = 12 * (256 * 256 + 256) * 4
    assert found["model"].size_bytes == pytest.approx(2 * parameters, rel=0.05)  # with gradients
    assert found["optimizer"].size_bytes == pytest.approx(2 * parameters, rel=0.05)  # two moments
    assert found["model"].frees == "del model, optimizer"
    assert found["optimizer"].frees == "del optimizer"


@pytest.mark.parametrize("count", [50, 1000])
def test_a_list_of_losses_holds_their_graphs(count: int) -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    losses = [model(torch.ones(32, 64)).square().mean() for _ in range(count)]
    found = look(model=model, losses=losses, data=bytes(200_000))
    [first, *_] = found
    # The input, what ReLU and the last layer keep, and what `square` keeps, of each.
    assert first.size_bytes == pytest.approx(count * (32 * 64 * 4 * 2 + 32 * 4), rel=0.5)
    assert first.name == "losses"
    assert first.why.startswith(f"autograd graphs behind {count:,} tensors hold ")
    assert first.frees == "del losses"


def test_a_running_sum_of_losses_is_found_out() -> None:
    import torch

    weight = torch.ones(10_000, requires_grad=True)
    total = torch.zeros(())
    for _ in range(100):
        total = total + (weight * torch.ones(10_000)).exp().sum()
    [first, *_] = look(weight=weight, total=total)
    assert (first.name, first.smaller) == (
        "total",
        ("keep numbers, not graphs: append `loss.item()` (or `.detach()`)",),
    )


def test_after_backward_a_loss_holds_next_to_nothing() -> None:
    import torch

    model = torch.nn.Linear(100, 100)
    losses = []
    for _ in range(50):
        loss = model(torch.ones(1000, 100)).square().mean()
        loss.backward()
        losses.append(loss)
    found = held(losses=losses, model=model, loss=loss)
    assert found["losses"].size_bytes < 200_000  # nodes, and nothing of the 40 MB that they had saved


def test_graphs_are_followed_past_hooks_and_without_recomputing() -> None:
    import torch

    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("a hook of the user's was run")

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, refuse):
        loss = torch.ones(MIB, requires_grad=True).exp().sum()
    assert held(loss=loss)["loss"].size_bytes > 4 * MIB


def test_tables_of_all_libraries_count() -> None:
    import pandas
    import polars
    import pyarrow

    frame = pandas.DataFrame({"a": numpy.ones(MIB), "b": numpy.arange(MIB)})
    texts = pandas.DataFrame({"s": pandas.Series([f"text number {n}" for n in range(20_000)], dtype=object)})
    found = held(
        frame=frame,
        column=frame["a"],
        texts=texts,
        category=pandas.Series(["a", "b"] * 100_000, dtype="category"),
        strings=pandas.Series([f"{n:050}" for n in range(10_000)]),
        series=polars.Series("x", range(MIB)),
        table=pyarrow.table({"x": numpy.ones(MIB)}),
    )
    assert found["frame"].size_bytes == pytest.approx(16 * MIB, rel=0.01)
    assert found["frame"].what == "1,048,576 rows × 2 columns"
    assert found["frame"].frees == "del frame, column"
    assert "column" not in found
    assert found["texts"].size_bytes == pytest.approx(20_000 * (8 + 66), rel=0.05)
    assert found["category"].size_bytes == pytest.approx(200_000, rel=0.05)
    assert found["strings"].size_bytes == pytest.approx(10_000 * 58, rel=0.3)
    assert found["series"].size_bytes == pytest.approx(8 * MIB, rel=0.01)
    assert found["table"].size_bytes == pytest.approx(8 * MIB, rel=0.01)


def test_caches_are_holders_that_keep_their_names() -> None:
    @functools.lru_cache
    def load(number: int) -> object:
        return numpy.ones(MIB + number)

    @functools.cache
    def load_all(number: int) -> object:
        return numpy.ones(MIB // 2 + number)

    class Reader:
        @functools.lru_cache  # noqa: B019  the mistake that is to be found
        def read(self, number: int) -> object:
            return numpy.ones(MIB // 4 + number)

    reader = Reader()
    for number in range(3):
        load(number)
        load_all(number)
        reader.read(number)
    found = held(load=load, load_all=load_all, Reader=Reader)
    assert found["load"].size_bytes == pytest.approx(24 * MIB, rel=0.01)
    assert (found["load"].what, found["load"].frees) == ("3 results", "load.cache_clear()")
    assert found["load_all"].size_bytes == pytest.approx(12 * MIB, rel=0.01)
    assert found["Reader.read"].frees == "Reader.read.cache_clear()"
    assert found["Reader.read"].size_bytes == pytest.approx(6 * MIB, rel=0.01)


@pytest.mark.parametrize("most", [None, 5000])
def test_a_large_cache_is_sampled(most: int | None) -> None:
    @functools.lru_cache(maxsize=most)
    def load(number: int) -> object:
        return bytes(5000 + number % 2)

    for number in range(3000):
        load(number)
    assert held(load=load)["load"].size_bytes == pytest.approx(3000 * (5033 + 28 + 128), rel=0.1)


def test_a_global_of_the_users_modules_is_a_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("features_of_test")
    module.__file__ = "/home/somebody/features_of_test.py"
    vars(module).update(CACHE={"a": numpy.ones(MIB)}, TABLE=numpy.ones(MIB))
    monkeypatch.setitem(sys.modules, "features_of_test", module)
    found = held(features=module)
    assert found["features_of_test.CACHE"].frees == "import features_of_test\nfeatures_of_test.CACHE.clear()"
    assert found["features_of_test.TABLE"].frees == "import features_of_test\nfeatures_of_test.TABLE = None"


def test_a_dict_that_functions_use_is_emptied_and_not_deleted() -> None:
    namespace: dict[str, Any] = {}
    exec("CACHE = {}\ndef remember(key, value):\n    CACHE[key] = value", namespace)
    namespace["remember"]("a", numpy.ones(MIB))
    assert [each.frees for each in variables(namespace, budget_s=5.0) if each.name == "CACHE"] == ["CACHE.clear()"]


class Hostile(type):
    """A class all of whose answers are code of the user's."""

    def __getattribute__(cls, name: str) -> NoReturn:
        raise AssertionError(f"asked a class for {name}")

    def __instancecheck__(cls, instance: object) -> NoReturn:
        raise AssertionError("isinstance")

    def __subclasscheck__(cls, subclass: type) -> NoReturn:
        raise AssertionError("issubclass")

    def __eq__(cls, other: object) -> NoReturn:
        raise AssertionError("==")

    __hash__ = type.__hash__


def refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    raise AssertionError("ran a method of the user's")


SPECIAL = (
    "__len__ __iter__ __getattr__ __getattribute__ __sizeof__ __eq__ __hash__ __bool__ __repr__ __str__ __getitem__ "
    "__contains__ __reversed__ __class__ __dict__ __array__ __array_interface__ __dir__ __index__ __float__"
).split()


def hostile() -> dict[str, object]:
    properties = ("__class__", "__dict__", "__array_interface__", "nbytes", "shape", "values", "items", "base")
    return {**dict.fromkeys(SPECIAL, refuse), **dict.fromkeys(properties, property(refuse))}


def test_no_code_of_the_users_is_run() -> None:
    import torch

    plain: Any = Hostile("Plain", (), {**hostile(), "__init__": lambda self: None})
    kinds = [type(f"Of{base.__name__}", (base,), hostile()) for base in (list, dict, tuple, set, str, numpy.ndarray)]
    values: list[Any] = [object.__new__(plain), *(kind.__new__(kind, *[(3,)] * (kind is kinds[-1])) for kind in kinds)]
    list.extend(values[1], [numpy.ones(MIB), object.__new__(plain)])

    class Wrapping(torch.Tensor):  # type: ignore[misc]  # mypy does not look into torch
        @classmethod
        def __torch_function__(cls, *_: Any, **__: Any) -> NoReturn:
            raise AssertionError("asked a tensor of the user's")

    with torch._C.DisableTorchFunctionSubclass():
        values.append(torch.ones(MIB).as_subclass(Wrapping))
    namespace = {f"value_{number}": value for number, value in enumerate(values)}
    namespace["containing"] = list(values)
    found = variables(namespace, budget_s=5.0)
    assert [round(each.size_bytes / MIB) for each in found.held[:2]] == [8, 4]


def test_a_library_that_answers_otherwise_costs_its_own_values_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(walk: object, value: object) -> NoReturn:
        raise RuntimeError("no such attribute any more")

    monkeypatch.setitem(READERS, "numpy.ndarray", fail)
    monkeypatch.delenv("HOLTER_STRICT")
    found = held(array=numpy.ones(MIB), data=bytes(MIB), mixed=[bytes(2 * MIB), numpy.ones(3)])
    assert {name: each.size_bytes // MIB for name, each in found.items()} == {"data": 1, "mixed": 2}


def test_the_time_is_kept_and_the_reader_told() -> None:
    namespace = {f"name_{number}": [[bytes(100) for _ in range(200)] for _ in range(200)] for number in range(40)}
    gc.disable()  # Python would look through two million objects of ours meanwhile
    try:
        start = time.thread_time()
        found = variables(namespace, budget_s=0.005)
        took_s = time.thread_time() - start
    finally:
        gc.enable()
    assert took_s < 0.1
    assert not found.is_complete
    assert "more than could be looked at" in repr(found)


def test_an_ordinary_namespace_takes_milliseconds() -> None:
    import pandas
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(20)])
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 128)).sum().backward()
    optimizer.step()
    namespace = {
        "model": model,
        "optimizer": optimizer,
        "frame": pandas.DataFrame(numpy.ones((10_000, 20))),
        "arrays": [numpy.ones(100) for _ in range(20_000)],
        "lookup": {number: str(number) for number in range(1_000_000)},
        "losses": [float(number) for number in range(100_000)],
        "mapped": mmap,
        **{f"name_{number}": numpy.ones(1000) for number in range(100)},
    }
    took = []
    for _ in range(5):
        start = time.thread_time()
        assert variables(namespace, budget_s=5.0).is_complete
        took.append(time.thread_time() - start)
    assert min(took) < 0.1  # against blunders: it takes about 7 ms of the processor


def test_the_tables_show_the_same_and_escape_it() -> None:
    found = Variables(
        held=(
            Held(name="a<b", type="list", what="3 items", host_bytes=5 * MIB, frees="del a", smaller=("less",)),
            Held(name="c", type="torch.Tensor", gpu_bytes=2 * MIB, is_estimate=True, frees="%xdel c\ndel d"),
        ),
        rss_bytes=100 * MIB,
    )
    assert repr(found).splitlines() == [
        "name  memory     GPU  what           free it with",
        "a<b    5 MiB          list 3 items   del a",
        "                      smaller: less",
        "c       ~0 B  ~2 MiB  torch.Tensor   %xdel c",
        "                                     del d",
        "5 MiB here; the process has 100 MiB in memory",
    ]
    assert "a&lt;b" in found._repr_html_()
    assert "a<b" not in found._repr_html_()
    assert '<code style="white-space:pre">%xdel c<br>del d</code>' in found._repr_html_()
