"""The compiled part of the client, where this build has it: one small library that writes down signals."""

import os
from collections.abc import Callable
from typing import Any

LIBRARY = os.path.join(os.path.dirname(__file__), "..", "..", "native", "signal_witness.so")


class Native:
    """The functions of `signal_witness.c`, which says what each does. Raises OSError where there is no such library."""

    def __init__(self, path: str = LIBRARY) -> None:
        if not os.path.exists(path):
            raise FileNotFoundError(path)  # before the two milliseconds of the import
        import ctypes

        # The kind that keeps Python's lock: no two threads are ever in it at the same time, but for arriving signals.
        library = ctypes.PyDLL(path)
        number, pointer = ctypes.c_int, ctypes.c_void_p
        self.open = _function(library, "holter_witness_open", [ctypes.c_char_p], number)
        self.close = _function(library, "holter_witness_close", [number], None)
        self.sign = _function(library, "holter_witness_sign", [], None)
        self.cover = _function(library, "holter_witness_cover", [number, number], number)
        self.uncover = _function(library, "holter_witness_uncover", [number], number)
        self.has_writer = _function(library, "holter_witness_has_writer", [number], None)
        self.arrived_ns = _function(library, "holter_witness_arrived", [number], ctypes.c_longlong)
        self.begin_stack = _function(library, "holter_stack_begin", [], pointer)
        self.end_stack = _function(library, "holter_stack_end", [pointer], None)


def _function(library: Any, name: str, arguments: list[Any], result: Any, /) -> Callable[..., Any]:
    try:
        function: Any = library[name]
    except AttributeError as error:  # a library for another machine has nothing in it
        raise OSError(str(error)) from error
    function.argtypes = arguments
    function.restype = result
    return function  # type: ignore[no-any-return]  # a function of ctypes has no type
