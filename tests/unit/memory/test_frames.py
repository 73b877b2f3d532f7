"""The frames of the user's own code, and what they hold."""

import gc
import json
import os
import sys
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Never

import numpy as np
import pytest

import holter
from holter.memory.frames import MOST_ARRAYS, MOST_FRAMES, is_own, own_frames


def trace_of(call: Callable[..., object], *args: object) -> TracebackType | None:
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001  whatever it is
        return error.__traceback__
    raise AssertionError("it did not raise")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/ann/train.py", True),
        ("train.py", True),
        # A compiled module names its source as it lay where somebody built it.
        ("pandas/_libs/parsers.pyx", False),
        ("<string>", True),
        ("<stdin>", True),
        ("<ipython-input-3-abc>", True),
        ("/tmp/ipykernel_4711/123.py", True),
        ("<frozen runpy>", False),
        ("<eval_with_key>.12", False),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        (json.__file__, False),
        (os.path.join(os.path.dirname(holter.__file__), "client", "run.py"), False),
    ],
)
def test_own_code_is_neither_installed_nor_pythons_nor_ours(file: str, expected: bool) -> None:
    assert is_own(file) is expected


def test_the_innermost_own_frame_comes_last_with_its_arrays() -> None:
    def inner(batch: object) -> None:
        weights = np.zeros((8, 8))
        json.loads("no json", object_hook=lambda _: weights)

    def outer() -> None:
        images = np.zeros((2, 3), dtype=np.uint8)
        inner(images)

    *_, second, last = own_frames(trace_of(outer))
    assert second.function.endswith("<locals>.outer")
    assert [(array.name, array.shape) for array in second.arrays] == [("images", (2, 3))]
    assert (last.file, last.line) == (__file__, inner.__code__.co_firstlineno + 2)
    assert [(array.name, array.size_bytes) for array in last.arrays] == [("weights", 512), ("batch", 6)]


def test_frames_and_arrays_are_bounded() -> None:
    def deep(left: int) -> None:
        if not left:
            raise ValueError
        deep(left - 1)

    found = own_frames(trace_of(deep, 100))
    assert len(found) == MOST_FRAMES
    assert {frame.function.rpartition(".")[2] for frame in found} == {"deep"}
    source = "\n".join(f"a{number} = np.zeros({number})" for number in range(100)) + "\n1 / 0"
    (frame,) = own_frames(trace_of(exec, source, {"np": np}))[-1:]
    assert [array.name for array in frame.arrays] == [f"a{99 - number}" for number in range(MOST_ARRAYS)]


def test_no_reference_to_the_users_objects_remains_while_their_frame_lives_on() -> None:
    array = np.zeros(1000)
    gone = weakref.ref(array)
    try:
        raise ValueError
    except ValueError as error:
        own_frames(error.__traceback__)
    del array
    gc.collect()
    assert gone() is None


def test_the_users_own_dictionary_of_locals_is_left_alone() -> None:
    array = np.zeros(10)
    theirs = locals()
    try:
        raise ValueError
    except ValueError as error:
        (frame,) = own_frames(error.__traceback__)
    assert frame.arrays[0].name == "array"
    assert theirs["array"] is array


def test_a_mapping_of_the_users_is_not_asked_for_its_names() -> None:
    class Names(dict[str, Any]):
        def items(self) -> Never:
            raise AssertionError("asked")

    names: Mapping[str, Any] = Names()
    frame = own_frames(trace_of(exec, "array = 1\n1 / 0", {}, names))[-1]
    assert (frame.file, frame.arrays) == ("<string>", ())


def test_names_that_are_no_text_are_passed_over() -> None:
    space: dict[Any, Any] = {7: np.zeros(1), "\udcff": np.zeros(2)}
    frame = own_frames(trace_of(exec, "1 / 0", space))[-1]
    assert [each.name for each in frame.arrays] == ["?"]


def test_without_a_traceback_there_are_no_frames() -> None:
    assert own_frames(None) == ()
    assert sys.exception() is None
