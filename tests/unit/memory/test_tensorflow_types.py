"""TensorFlow's and Keras's values, imitated by the names, homes and answers that those of 2.21 and 3.15 have."""

from typing import Any, NamedTuple

import numpy
import pytest

from holter.memory import holders
from holter.memory.held import Held
from holter.memory.variables import variables

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "_own_modules", lambda count: [])


class Dtype(NamedTuple):
    name: str
    size: int


FLOAT = Dtype("float32", 4)


class Shape(tuple[int, ...]):
    __slots__ = ()

    def num_elements(self) -> int:
        return int(numpy.prod(self))


class Tensor:
    """As `tf.zeros` makes them; `_numpy()` is no copy."""

    def __init__(self, *shape: int, dtype: Dtype = FLOAT, device: str = "CPU") -> None:
        self.shape = Shape(shape)
        self.dtype = dtype
        self.device = f"/job:localhost/replica:0/task:0/device:{device}:0"
        self.numbers = numpy.zeros(shape, "float32") if device == "CPU" else None

    def _numpy(self) -> object:
        assert self.numbers is not None, "this would wait for a device"
        return self.numbers

    def __len__(self) -> int:
        raise AssertionError("nobody asks for this")


class Variable:
    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype, self.device = tensor.shape, tensor.dtype, tensor.device
        self.tensor = tensor

    def _read_variable_op(self) -> Tensor:
        assert ":GPU:" not in self.device, "this would wait for a device"
        return self.tensor


class KerasVariable:
    def __init__(self, value: object) -> None:
        self._value = value
        self._name = "kernel"


class Layer:
    def __init__(self, weights: list[object], layers: "list[Layer] | None" = None, **public: Any) -> None:
        self._trainable_variables = weights
        self._layers = layers or []
        self._inbound_nodes = [numpy.ones(MIB)]  # of the graph, not of the layer
        self.train_function = numpy.ones(MIB)
        self.__dict__.update(public)


class Optimizer:
    def __init__(self, *variables: object) -> None:
        self._variables = list(variables)


for kind, home, name in (
    (Tensor, "tensorflow.python.framework.ops", "_EagerTensorBase"),
    (Variable, "tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable"),
    (KerasVariable, "keras.src.backend.common.variables", "Variable"),
    (Layer, "keras.src.layers.layer", "Layer"),
    (Optimizer, "keras.src.optimizers.base_optimizer", "BaseOptimizer"),
):
    kind.__module__, kind.__qualname__ = home, name


def held(**namespace: object) -> dict[str, Held]:
    return {each.name: each for each in variables(namespace, budget_s=5.0)}


def test_tensors_count_on_their_devices() -> None:
    found = held(here=Tensor(1024, 1024), there=Tensor(1024, 1024, device="GPU"))
    assert (found["here"].host_bytes // MIB, found["here"].gpu_bytes) == (4, 0)
    assert (found["there"].host_bytes < 1000, found["there"].gpu_bytes) == (True, 4 * MIB)
    assert found["here"].what == "1,024 × 1,024 float32"


def test_a_variable_counts_once_with_the_tensor_that_it_shares() -> None:
    tensor = Tensor(1024, 1024)
    found = held(tensor=tensor, variable=Variable(tensor))
    assert sum(each.host_bytes for each in found.values()) == pytest.approx(4 * MIB, rel=0.01)
    assert found["tensor"].frees == "del tensor, variable"
    assert held(variable=Variable(Tensor(1024, device="GPU")))["variable"].gpu_bytes == 4096


def test_texts_count_at_least_as_much_as_can_be_seen() -> None:
    found = held(texts=Tensor(1000, dtype=Dtype("string", 0)))["texts"]
    assert (found.host_bytes // 1000, found.is_least) == (24, True)


def test_many_tensors_in_a_list_are_sampled() -> None:
    assert held(batches=[Tensor(100, 100) for _ in range(1000)])["batches"].host_bytes == pytest.approx(
        40_000_000, rel=0.01
    )


def test_a_model_counts_its_weights_at_any_depth_with_its_optimizer_and_what_it_keeps_besides() -> None:
    def weight() -> KerasVariable:
        return KerasVariable(Variable(Tensor(512, 512)))

    inner = Layer([weight(), weight()])
    shared = weight()
    model = Layer(
        [shared],
        [Layer([], [Layer([weight()], [inner])]), inner],
        optimizer=Optimizer(weight(), shared),
        cache=numpy.ones(MIB // 8),
    )
    found = held(model=model)["model"]
    assert found.host_bytes == pytest.approx(5 * MIB + MIB, rel=0.01)
    assert not found.is_least
