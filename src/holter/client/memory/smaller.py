"""What would hold the same in less memory, as far as that can be known without computing anything."""

import re
import sys
from collections.abc import Iterator
from typing import Any

from holter.client.memory.libraries import elements
from holter.client.memory.walk import Reach, derives_from, dotted_name, mro_of, sample

WORTH_BYTES = 1 << 20
MOST_COLUMNS = 500
MOST_TEXT_COLUMNS = 5
MOST_TEXTS = 50
MOST_NAMED = 5


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
    elif kinds[0] in ("pandas.DataFrame", "pandas.core.frame.DataFrame"):
        yield from _of_frame(name, value, source)
    elif derives_from(value, list) and _is_floats(value):
        saved = list.__len__(value) * 24
        yield f"`{name} = numpy.array({name})` holds these floats in a quarter ({_mib(saved)} less)"


def _of_array(name: str, value: Any) -> Iterator[str]:
    kind = sys.modules["numpy"].ndarray
    if str(kind.dtype.__get__(value)) == "float64" and kind.base.__get__(value) is None:
        saved = kind.nbytes.__get__(value) // 2
        yield f"`{name} = {name}.astype('float32')` where 7 digits suffice ({_mib(saved)} less)"
    elif kind.dtype.__get__(value).kind == "O" and (items := elements(value)) and all(type(x) is float for x in items):
        yield f"`{name} = {name}.astype(float)` holds these floats in a quarter"


def _of_tensor(name: str, value: Any) -> Iterator[str]:
    torch = sys.modules["torch"]
    base = torch._C.TensorBase
    if base.dtype.__get__(value) is torch.float64:
        saved = base.numel(value) * 4
        yield f"`{name} = {name}.float()` where 7 digits suffice ({_mib(saved)} less)"


def _of_frame(name: str, frame: Any, source: str) -> Iterator[str]:
    """Of an exact DataFrame, so that all code that runs here is pandas' own."""
    columns = list(frame.columns[:MOST_COLUMNS])
    halves, texts = 0, []
    for block in frame._mgr.blocks:
        dtype = str(block.values.dtype)
        if dtype == "float64":
            halves += block.values.nbytes // 2
        elif dtype in ("object", "str", "string"):
            rows = block.values if block.values.ndim == 2 else [block.values]
            texts += [(at, row) for at, row in zip(block.mgr_locs.as_array, rows, strict=True) if at < len(columns)]
    few = [repr(columns[at]) for at, row in texts[:MOST_TEXT_COLUMNS] if _repeats_itself(row)]
    if few:
        yield f"`{name} = {name}.astype(dict.fromkeys([{', '.join(few)}], 'category'))`: few different values"
    if halves >= WORTH_BYTES:
        yield f"float64 columns as float32 where 7 digits suffice ({_mib(halves)} less)"
    yield from _never_named(columns, source)


def _repeats_itself(row: Any) -> bool:
    count = len(row)
    items = [row[at] for at in sample(count)[:MOST_TEXTS]]
    texts = [item for item in items if type(item) is str]
    return count > 10 * MOST_TEXTS and len(texts) > len(items) / 2 and len(set(texts)) <= len(texts) / 2


def _never_named(columns: list[Any], source: str) -> Iterator[str]:
    """Only where other columns are named: code that takes all of them names none."""
    if not source or not all(type(column) is str for column in columns):
        return
    words = set(re.findall(r"\w+", source))
    unnamed = [column for column in columns if column not in words and column not in source]
    if unnamed and len(unnamed) < len(columns):
        shown = ", ".join(map(repr, unnamed[:MOST_NAMED])) + (", …" if len(unnamed) > MOST_NAMED else "")
        yield f"no code so far names {len(unnamed)} of its {len(columns)} columns ({shown}): keep only the others"


def _is_floats(value: Any) -> bool:
    items = list.__getitem__(value, slice(0, None, sample(list.__len__(value)).step))
    return bool(items) and all(type(item) is float for item in items)


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / (1 << 20):,.0f} MiB"
