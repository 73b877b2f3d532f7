"""What arrays, tensors, tables and models hold, by the libraries' own accounts of their buffers.

Nothing is imported: a value of a library's type means that the program has it. Attributes are read from the library's
own classes, never through one that a user derived from them.
"""

import contextlib
import itertools
import sys
from typing import Any

from holter.memory.arrays import attributes_of, mro_of
from holter.memory.sampling import MOST_ITEMS, sample
from holter.memory.streams import STREAMS, is_of_file
from holter.memory.tensorflow_types import TENSORFLOW
from holter.memory.walk import Buffer, Reader, Walk, derives_from, dotted_name, instance_dict


def read_array(walk: Walk, value: Any) -> None:
    """A numpy array: the buffer at the end of its chain of bases, which a view keeps whole."""
    kind = sys.modules["numpy"].ndarray
    walk.add(128)
    owner, base = value, kind.base.__get__(value)
    while base is not None and derives_from(base, kind):
        owner, base = base, kind.base.__get__(base)
    if is_of_file(base):
        walk.add_buffer(Buffer(_address(owner), kind.nbytes.__get__(owner), "file"))
    elif base is not None and walk.knows(base):
        walk.visit(base)  # bytes, a tensor, an Arrow buffer
    else:
        walk.add_buffer(Buffer(_address(owner), kind.nbytes.__get__(owner)))
    if kind.dtype.__get__(owner).kind == "O":
        walk.visit_all(owner, elements(owner), count=kind.size.__get__(owner), levels=0)


def elements(array: Any) -> list[Any]:
    """Some elements of an object array, evenly spaced."""
    kind = sys.modules["numpy"].ndarray
    return [kind.item(array, position) for position in sample(kind.size.__get__(array))]


def read_tensor(walk: Walk, value: Any) -> None:
    """A torch tensor: its storage, its gradient, and a word to whoever follows its graph."""
    base = sys.modules["torch"]._C.TensorBase
    walk.add(128)
    with contextlib.suppress(Exception):  # no storage: sparse, nested
        storage = base.untyped_storage(value)
        place = "host" if storage.device.type == "cpu" else "gpu"
        if address := storage.data_ptr():  # none on the meta device, and of a wrapper around others
            walk.add_buffer(Buffer(address, storage.nbytes(), place))
    if dotted_name(type(value)) not in PLAIN_TENSORS:
        inside = list(instance_dict(value).values())
        walk.visit_all(value, inside, count=len(inside), levels=0)
    with contextlib.suppress(Exception):
        if base.is_sparse.__get__(value):
            walk.visit(base._indices(value))
            walk.visit(base._values(value))
    if base.is_leaf.__get__(value):  # to ask others for a gradient makes torch warn
        gradient = base.grad.__get__(value)
        if gradient is not None:
            walk.visit(gradient)
    elif base.grad_fn.__get__(value) is not None and len(walk.reach.graphs) < MOST_ITEMS:
        walk.reach.graphs.append((value, walk.scale))


def read_module(walk: Walk, value: Any) -> None:
    """A torch module: parameters and buffers at any depth, and what its classes keep besides."""
    if walk.is_late():
        return
    held = instance_dict(value)
    for name in ("_parameters", "_buffers", "_modules"):
        for each in list(dict.values(held.get(name, {}))):
            walk.visit(each)
    rest = [each for name, each in held.items() if name not in ("_parameters", "_buffers", "_modules")]
    walk.visit_all(value, rest, count=len(rest), levels=0)


def read_optimizer(walk: Walk, value: Any) -> None:
    """A torch optimizer: its state for each parameter, all of it."""
    for state in list(dict.values(instance_dict(value).get("state", {}))):
        if type(state) is dict:
            for each in list(state.values()):
                walk.visit(each)
        if walk.is_late():
            return
    groups = [each for group in instance_dict(value).get("param_groups", ()) for each in group.get("params", ())]
    walk.visit_all(value, groups, count=len(groups), levels=0)


def read_frame(walk: Walk, value: Any) -> None:
    """A pandas DataFrame, Series or Index: the arrays of its blocks, and its labels."""
    held = instance_dict(value)
    manager = held.get("_mgr")
    if manager is None:
        rest = [each for name, each in held.items() if name in ("_data", "_values", "_codes", "_levels", "_cache")]
        walk.visit_all(value, rest, count=len(rest), levels=0)
        return
    arrays = [block.values for block in manager.blocks]
    walk.visit_all(value, [*arrays, *manager.axes], count=len(arrays) + len(manager.axes), levels=0)


def read_polars(walk: Walk, value: Any) -> None:
    """A polars DataFrame or Series, by its own estimate."""
    for kind in mro_of(type(value)):
        if dotted_name(kind).startswith("polars.") and "estimated_size" in attributes_of(kind):
            walk.add_buffer(Buffer(id(value), int(kind.estimated_size(value))))
            return


def read_arrow(walk: Walk, value: Any) -> None:
    """An Arrow table, batch or array: each of its buffers."""
    arrow: Any = sys.modules["pyarrow"]
    if derives_from(value, arrow.Table, arrow.RecordBatch):
        columns = list(itertools.islice(value.columns, MOST_ITEMS))
        walk.visit_all(value, columns, count=value.num_columns, own_bytes=256, levels=0)
    elif derives_from(value, arrow.ChunkedArray):
        walk.visit_all(value, value.chunks[:MOST_ITEMS], count=value.num_chunks, own_bytes=128, levels=0)
    elif derives_from(value, arrow.Array):
        for buffer in value.buffers():
            if buffer is not None:
                walk.add_buffer(Buffer(buffer.address, buffer.size))
    elif derives_from(value, arrow.Buffer):
        walk.add_buffer(Buffer(value.address, value.size))


def read_jax(walk: Walk, value: Any) -> None:
    """A JAX array, on whichever device it lies."""
    with contextlib.suppress(Exception):  # deleted, or not addressable from here
        device = next(iter(value.devices()))
        walk.add_buffer(Buffer(id(value), value.nbytes, "host" if device.platform == "cpu" else "gpu"))


def read_cupy(walk: Walk, value: Any) -> None:
    """A CuPy array: the block of GPU memory that it points into."""
    kind = next(each for each in mro_of(type(value)) if dotted_name(each) == CUPY)
    block = attributes_of(kind)["data"].__get__(value).mem
    walk.add_buffer(Buffer(block.ptr, block.size, "gpu"))


def read_image(walk: Walk, value: Any) -> None:
    """A Pillow image: its pixels."""
    held = instance_dict(value)
    width, height = held.get("_size", (0, 0))
    pixel = {"1": 1, "L": 1, "P": 1, "LA": 4, "RGB": 4}.get(held.get("_mode", held.get("mode", "")), 4)
    if held.get("im", held.get("_im")) is not None:  # not loaded from its file yet
        walk.add_buffer(Buffer(id(value), width * height * pixel))


def _address(array: Any) -> int:
    return int(sys.modules["numpy"].ndarray.__array_interface__.__get__(array)["data"][0])


PLAIN_TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")
CUPY = "cupy._core.core._ndarray_base"

READERS: dict[str, Reader] = {
    **STREAMS,
    **TENSORFLOW,
    CUPY: read_cupy,
    "numpy.ndarray": read_array,
    "torch.Tensor": read_tensor,
    "torch._C.TensorBase": read_tensor,
    "torch.nn.modules.module.Module": read_module,
    "torch.optim.optimizer.Optimizer": read_optimizer,
    "pandas.core.generic.NDFrame": read_frame,
    "pandas.core.indexes.base.Index": read_frame,
    "pandas.DataFrame": read_frame,
    "pandas.Series": read_frame,
    "pandas.Index": read_frame,
    "polars.dataframe.frame.DataFrame": read_polars,
    "polars.series.series.Series": read_polars,
    "pyarrow.lib.Table": read_arrow,
    "pyarrow.lib.RecordBatch": read_arrow,
    "pyarrow.lib.ChunkedArray": read_arrow,
    "pyarrow.lib.Array": read_arrow,
    "pyarrow.lib.Buffer": read_arrow,
    "jaxlib._jax.ArrayImpl": read_jax,
    "jaxlib.xla_extension.ArrayImpl": read_jax,
    "PIL.Image.Image": read_image,
}
