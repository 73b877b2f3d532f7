"""What a sweep's agent sees of `log()` in a function that it calls."""

from types import SimpleNamespace
from typing import Any

import pytest

from holter.agents.function import _Watch


class OnNoHost:
    def __float__(self) -> float:
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")


@pytest.mark.parametrize("data", [{"loss": OnNoHost()}, [1.0], None])
def test_a_row_of_which_nothing_can_be_made_ends_no_trial(data: object) -> None:
    kept: list[Any] = []
    run: Any = SimpleNamespace(log=kept.append)
    holder: Any = SimpleNamespace(
        value=None, iteration=0, said=SimpleNamespace(is_pruned=False, is_ended=False, holds=True)
    )
    configuration: Any = SimpleNamespace(early_end=None)
    watch = _Watch(holder, configuration, metric="loss")
    watch.begin(run)
    run.log(data)
    run.log({"loss": 0.5})
    assert (kept, watch.value) == ([data, {"loss": 0.5}], 0.5)
