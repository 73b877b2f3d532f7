"""Reads what the signal witness wrote into a run's directory. Lines that are torn, garbled or forged are left out."""

import os
import re

import msgspec

from holter.model.evidence import Caught
from holter.model.secrets import mask_arguments

NAME = r"signals(-\d+)?\.log"
# The witness stops at two: what is behind was not written by it.
MOST_BYTES = 4 << 20
MOST_LINES = 20_000
MOST_TEXT = 1000
_LARGEST = (1 << 63) - 1
_NUMBERS = {"code": 10, "at": 10, "pid": 10, "tid": 10, "from": 10, "uid": 10, "addr": 16, "sp": 16, "ip": 16}
_TEXTS = ("then", "sender", "map", "above", "in")


class SignalLog(msgspec.Struct, frozen=True):
    """What arrived, in the order of the files, and which processes had somebody to write it down."""

    caught: tuple[Caught, ...] = ()
    witnessed: frozenset[int] = frozenset()


def read_signal_log(directory: str) -> SignalLog:
    """All logs of a run. Raises nothing: a file that can't be read is as good as none."""
    try:
        names = sorted(name for name in os.listdir(directory) if re.fullmatch(NAME, name))
    except OSError:
        return SignalLog()
    logs = [parse_signal_log(_read(os.path.join(directory, name))) for name in names]
    return SignalLog(
        caught=tuple(caught for log in logs for caught in log.caught),
        witnessed=frozenset(pid for log in logs for pid in log.witnessed),
    )


def parse_signal_log(data: bytes) -> SignalLog:
    """The whole lines of one log. Pure."""
    caught, witnessed = [], set()
    for line in data.split(b"\n")[:-1][-MOST_LINES:]:
        kind, _, rest = line.decode("utf-8", "replace").partition(" ")
        try:
            if kind == "SIG":
                caught.append(_parse(rest))
            elif kind == "WITNESS":
                witnessed.add(_number(rest.partition("\t")[0], 10))
        except (KeyError, ValueError):
            continue
    return SignalLog(caught=tuple(caught), witnessed=frozenset(witnessed))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= MOST_BYTES:
                return file.read(MOST_BYTES)
            # The first lines say who had a witness, the last ones how it ended.
            first = file.read(MOST_BYTES // 2)
            file.seek(size - MOST_BYTES // 2)
            return first[: first.rfind(b"\n") + 1] + file.read(MOST_BYTES // 2).partition(b"\n")[2]
    except OSError:
        return b""


def _parse(line: str) -> Caught:
    signal, *fields = line.split("\t")
    pairs = [field.partition(" ")[::2] for field in fields]
    numbers = {name: _number(text, _NUMBERS[name]) for name, text in pairs if name in _NUMBERS}
    texts = {name: text[:MOST_TEXT] for name, text in pairs if name in _TEXTS}
    return Caught(
        at_ns=numbers["at"],
        pid=numbers["pid"],
        thread=numbers["tid"],
        signal=_signal(signal),
        code=numbers["code"],
        sender_pid=numbers["from"],
        sender_uid=numbers["uid"],
        address=numbers["addr"],
        stack_pointer=numbers["sp"],
        instruction_pointer=numbers["ip"],
        mapping=texts.get("map", ""),
        mapping_above=texts.get("above", ""),
        instruction_mapping=texts.get("in", ""),
        sender=" ".join(mask_arguments(texts.get("sender", "").split(" "))),
        is_handled=texts["then"] == "handler",
    )


def _signal(text: str) -> int:
    number = _number(text, 10)
    if not 0 < number < 65:
        raise ValueError(text)
    return number


def _number(text: str, base: int) -> int:
    if len(text) > 20 or not text.isascii() or "_" in text:
        raise ValueError(text)
    number = int(text, base)
    # An address has 64 bits; nothing else is as large.
    if not -_LARGEST <= number <= (2 * _LARGEST + 1 if base == 16 else _LARGEST):
        raise ValueError(text)
    return number
