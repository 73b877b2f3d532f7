"""Exceptions as records."""

import msgspec
import numpy as np
import pytest

from holter.client.capture.description import Describer, causes_of, describe, exit_code_of, exit_text_of
from holter.model.clock import Clock
from holter.model.records import Cause, Raised


def raised(call: str) -> BaseException:
    try:
        exec(call, {})
    except BaseException as error:  # noqa: BLE001  whatever it is
        return error
    raise AssertionError("it did not raise")


def test_causes_come_in_the_order_in_which_python_prints_them() -> None:
    error = raised(
        """
try:
    try: {}["loss"]
    except KeyError as error: raise ValueError("no loss") from error
except ValueError: raise RuntimeError("training failed")
"""
    )
    assert causes_of(error) == [
        Cause(type="ValueError", message="no loss", how="context"),
        Cause(type="KeyError", message="'loss'", how="cause"),
    ]


def test_a_suppressed_context_is_left_out() -> None:
    assert causes_of(raised("try: 1 / 0\nexcept ZeroDivisionError: raise ValueError('no') from None")) == []


def test_members_of_a_group_are_named() -> None:
    error = raised("raise ExceptionGroup('workers', [ValueError('a'), ExceptionGroup('more', [OSError(2, 'gone')])])")
    assert [(cause.type, cause.message, cause.how) for cause in causes_of(error)] == [
        ("ValueError", "a", "member"),
        ("ExceptionGroup", "more (1 sub-exception)", "member"),
        ("FileNotFoundError", "[Errno 2] gone", "member"),
    ]


def test_a_circle_of_causes_ends_and_a_long_chain_is_cut() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert [cause.message for cause in causes_of(first)] == ["second"]
    chain: BaseException = ValueError("0")
    for number in range(1, 100):
        following = ValueError(str(number))
        following.__cause__, chain = chain, following
    assert [cause.message for cause in causes_of(chain)] == [str(98 - number) for number in range(16)]


def test_a_record_holds_plain_values_only() -> None:
    array = np.zeros((2, 2))
    try:
        raise ValueError("bad \udcff") from KeyError("x" * 5000)
    except ValueError as error:
        record = describe(error, 1, thread="worker", where="thread")
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=Raised)
    assert again == record
    assert (record.message, len(record.causes[0].message)) == ("bad ?", 1000)
    assert [held.name for held in record.frames[-1].arrays] == ["array"]
    assert array.shape == (2, 2)


def test_a_message_that_cannot_be_read_costs_only_itself() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert describe(Broken(), 1).message == "(its message could not be read)"


def test_a_flood_of_alike_exceptions_is_thinned_out_but_not_one_that_ends_the_program() -> None:
    kept: list[Raised] = []
    describer = Describer(lambda raised, _: kept.append(raised), Clock())
    for _ in range(100):
        describer.seen(raised("1 / 0"), where="thread")
    describer.seen(raised("[][0]"), where="thread")
    describer.ends_program(raised("1 / 0"))
    describer.ends_program(raised("1 / 0"))
    assert [(each.type, each.where, each.times) for each in kept[-4:]] == [
        ("ZeroDivisionError", "thread", 64),
        ("IndexError", "thread", 1),
        ("ZeroDivisionError", "main", 1),
        ("ZeroDivisionError", "main", 1),
    ]
    assert len(kept) == 11


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no data')", 1, "no data"),
        ("raise SystemExit(['no', 'data'])", 1, "['no', 'data']"),
        ("raise KeyboardInterrupt", 130, ""),
        ("1 / 0", 1, ""),
    ],
)
def test_the_value_of_sys_exit(call: str, code: int, text: str) -> None:
    error = raised(call)
    assert (exit_code_of(error), exit_text_of(error)) == (code, text)


def test_without_an_exception_the_code_is_zero() -> None:
    assert (exit_code_of(None), exit_text_of(None)) == (0, "")


def test_an_exception_is_described_although_python_can_not_print_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_descriptor_left(*_: object) -> None:
        raise OSError(24, "Too many open files")

    error = raised("1 / 0")
    monkeypatch.setattr("traceback.format_exception", no_descriptor_left)
    described = describe(error, 5)
    assert described.type == "ZeroDivisionError"
    assert described.traceback.startswith("Traceback (most recent call last):\n  File ")
    assert described.traceback.endswith("ZeroDivisionError: division by zero\n")
