"""The lines that are said to free something really do: they are run here, and the memory is gone."""

import functools
import gc
import sys
import types
import weakref
from typing import Any

import numpy
import pytest

from holter.memory.variables import variables

MIB = 1 << 20


def frees(namespace: dict[str, Any], name: str) -> str:
    [found] = [each for each in variables(namespace, budget_s=5.0) if each.name == name]
    return found.frees


def make_view(namespace: dict[str, Any]) -> object:
    namespace["array"] = numpy.ones(MIB)
    namespace["view"] = namespace["array"][10:20]
    return namespace["array"]


def make_alias(namespace: dict[str, Any]) -> object:
    namespace["array"] = namespace["also"] = numpy.ones(MIB)
    return namespace["array"]


def make_in_containers(namespace: dict[str, Any]) -> object:
    namespace["array"] = numpy.ones(MIB)
    namespace["batches"] = [(0, namespace["array"]), (1, numpy.ones(3))]
    namespace["by_name"] = {"a": {"b": namespace["array"]}}
    return namespace["array"]


def make_cache(namespace: dict[str, Any]) -> object:
    @functools.lru_cache
    def array(number: int) -> object:
        return numpy.ones(MIB + number)

    namespace["array"] = array
    return array(1)


def make_used_dict(namespace: dict[str, Any]) -> object:
    exec("array = {}\ndef remember(key, value):\n    array[key] = value", namespace)
    made = numpy.ones(MIB)
    namespace["remember"]("a", made)
    return made


def make_cycle(namespace: dict[str, Any]) -> object:
    holder = types.SimpleNamespace(data=numpy.ones(MIB), parts=[])
    holder.parts.append(holder)
    namespace["array"] = holder
    return holder.data


def make_model(namespace: dict[str, Any]) -> object:
    import torch

    model = torch.nn.Linear(500, 500)
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    loss = model(torch.ones(1, 500)).sum()
    loss.backward()
    optimizer.step()
    namespace.update(array=model, optimizer=optimizer, loss=loss, weight=model.weight)
    return model.weight


@pytest.mark.parametrize(
    "make", [make_view, make_alias, make_in_containers, make_cache, make_used_dict, make_cycle, make_model]
)
def test_running_the_lines_frees_it(make: Any) -> None:  # noqa: ANN401  each makes another thing
    namespace: dict[str, Any] = {}
    held = weakref.ref(make(namespace))
    gc.disable()  # only what the lines ask for
    try:
        assert held() is not None
        exec(frees(namespace, "array"), namespace)
        assert held() is None
    finally:
        gc.enable()


def test_the_last_traceback_is_dropped_without_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        big = numpy.ones(MIB)
        raise ValueError(len(big))

    for name in ("last_value", "last_traceback", "last_exc"):
        monkeypatch.setattr(sys, name, None, raising=False)
    try:
        fail()
    except ValueError as error:
        sys.last_value, sys.last_traceback = error, error.__traceback__
    local = sys.last_traceback.tb_next.tb_frame.f_locals["big"]  # type: ignore[union-attr]  # it failed in there
    held = weakref.ref(local)
    del local
    sys.last_traceback.tb_next.tb_frame.f_locals.clear()  # type: ignore[union-attr]  # our own look at it
    [found] = [each for each in variables({}, budget_s=5.0) if each.name == "last traceback"]
    assert found.size_bytes == pytest.approx(8 * MIB, rel=0.01)
    assert found.why == "mostly big in fail()"
    exec(found.frees, {})
    gc.collect()  # pytest rewrites assertions with frames of its own
    assert held() is None
