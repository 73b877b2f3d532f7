"""What would hold the same in less memory, as far as that can be known without computing anything."""

import sys
from collections.abc import Iterator
from typing import Any

from holter.memory.arrays import mro_of
from holter.memory.libraries import elements
from holter.memory.sampling import sample
from holter.memory.smaller_tables import LIBRARIES, WORTH_BYTES, of_table, show_mib
from holter.memory.walk import Reach, derives_from, dotted_name


def smaller(name: str, value: Any, *, reach: Reach, graph_bytes: float, source: str) -> Iterator[str]:
    """Sentences with a statement in them, the most worthwhile first.

    Args:
        graph_bytes: how much of it is held by autograd graphs.
        source: the code that the user has run so far; empty where it is not known.
    """
    if graph_bytes >= WORTH_BYTES and graph_bytes > 0.5 * reach.total:
        yield "keep numbers, not graphs: append `loss.item()` (or `.detach()`)"
    if reach.total < WORTH_BYTES or not name.isidentifier():
        return  # an output or a traceback is to go, not to be smaller
    kinds = [dotted_name(kind) for kind in mro_of(type(value))]
    if "numpy.ndarray" in kinds:
        yield from _of_array(name, value)
    elif "torch.Tensor" in kinds:
        yield from _of_tensor(name, value)
    elif kinds[0] in LIBRARIES:
        yield from of_table(name, value, source=source)
    elif derives_from(value, list) and _is_floats(value):
        saved = list.__len__(value) * 24
        yield f"`{name} = numpy.array({name})` holds these floats in a quarter ({show_mib(saved)} less)"


def _of_array(name: str, value: Any) -> Iterator[str]:
    kind = sys.modules["numpy"].ndarray
    if str(kind.dtype.__get__(value)) == "float64" and kind.base.__get__(value) is None:
        saved = kind.nbytes.__get__(value) // 2
        yield f"`{name} = {name}.astype('float32')` where 7 digits suffice ({show_mib(saved)} less)"
    elif kind.dtype.__get__(value).kind == "O" and (items := elements(value)) and all(type(x) is float for x in items):
        yield f"`{name} = {name}.astype(float)` holds these floats in a quarter"


def _of_tensor(name: str, value: Any) -> Iterator[str]:
    torch = sys.modules["torch"]
    base = torch._C.TensorBase
    if base.dtype.__get__(value) is torch.float64:
        saved = base.numel(value) * 4
        yield f"`{name} = {name}.float()` where 7 digits suffice ({show_mib(saved)} less)"


def _is_floats(value: Any) -> bool:
    items = list.__getitem__(value, slice(0, None, sample(list.__len__(value)).step))
    return bool(items) and all(type(item) is float for item in items)
