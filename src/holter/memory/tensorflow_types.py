"""What TensorFlow's tensors and variables hold, and Keras's models on any of its backends.

TensorFlow is not imported, and no device is waited for.
"""

import contextlib
from typing import Any

from holter.memory.walk import Buffer, Reader, Walk, instance_dict

# By what a layer or a model keeps its weights, its parts and what trains it.
_WEIGHTS = ("_trainable_variables", "_non_trainable_variables", "_variables")
_TEXT_BYTES = 24  # of each text, in which a short one lies
_PARTS = ("_layers", "_metrics", "_seed_generators", "optimizer", "_optimizer", "_loss_tracker")


def read_eager(walk: Walk, value: Any) -> None:
    """An eager tensor, by its buffer; long texts lie where nobody can count them."""
    walk.add(184)
    _add(walk, value, tensor=value)


def read_variable(walk: Walk, value: Any) -> None:
    """A variable: the tensor behind it, which a tensor that it was made from may share."""
    walk.add(512)
    with contextlib.suppress(Exception):  # not initialised, or of a graph
        _add(walk, value, tensor=value._read_variable_op() if _is_on_host(value) else value)


def read_keras_variable(walk: Walk, value: Any) -> None:
    """A weight of Keras's: an array or variable of its backend."""
    walk.visit_all(value, [instance_dict(value).get("_value")], count=1, own_bytes=512, levels=0)


def read_keras(walk: Walk, value: Any) -> None:
    """A layer, a model or an optimizer of Keras's: weights at any depth, and what its classes keep besides.

    Without the graphs of its traced functions, most of which lie where nobody can count them.
    """
    if walk.is_late():
        walk.reach.is_least = True
        return
    held = instance_dict(value)
    inside = [each for name in _WEIGHTS for each in list(held.get(name) or ())]
    for name in _PARTS:
        part = held.get(name)
        inside += list(part) if isinstance(part, list | tuple) else [part]
    inside += [each for name, each in held.items() if not name.startswith("_") and not name.endswith("_function")]
    walk.visit_all(value, inside, count=len(inside), levels=0)


def _add(walk: Walk, value: Any, *, tensor: Any) -> None:
    is_text = value.dtype.name == "string"
    size = _TEXT_BYTES if is_text else value.dtype.size
    walk.reach.is_least = walk.reach.is_least or is_text
    count = value.shape.num_elements() or 0
    is_host = _is_on_host(value)
    walk.add_buffer(
        Buffer(_address(tensor) if is_host and not is_text else id(value), count * size, "host" if is_host else "gpu")
    )


def _is_on_host(value: Any) -> bool:
    return ":GPU:" not in value.device and ":TPU:" not in value.device


def _address(tensor: Any) -> int:
    """Where its numbers lie, without a copy of them."""
    with contextlib.suppress(Exception):  # a private method
        return int(tensor._numpy().__array_interface__["data"][0])
    return id(tensor)


TENSORFLOW: dict[str, Reader] = {
    "tensorflow.python.framework.ops._EagerTensorBase": read_eager,
    "tensorflow.python.ops.resource_variable_ops.BaseResourceVariable": read_variable,
    "keras.src.backend.common.variables.Variable": read_keras_variable,
    "keras.src.backend.common.variables.KerasVariable": read_keras_variable,
    "keras.src.layers.layer.Layer": read_keras,
    "keras.src.optimizers.base_optimizer.BaseOptimizer": read_keras,
}
