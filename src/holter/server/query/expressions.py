"""An x axis made of metrics, such as `tokens / 1e6`: a few operations over numbers, never code."""

import re
from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from holter.errors import UsageError
from holter.storage.series import Floats

STEP = "step"
MOST_LENGTH = 500
_MOST_DEPTH = 50
FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
}
_OPERATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    # A slash or a dash is part of a name where a letter follows: `train/tokens` is a metric, `tokens/2` a division.
    | (?P<name>[^\W\d]\w*(?:[/.:-][^\W\d]\w*)*)
    | "(?P<quoted>[^"]+)"
    | (?P<sign>\*\*|[-+*/^()])
    )""",
    re.VERBOSE,
)


class Expression(msgspec.Struct, frozen=True):
    """Steps of a machine with a stack: a number, the name of a metric, an operation."""

    steps: tuple[tuple[str, str | float], ...]

    @property
    def names(self) -> list[str]:
        """The metrics that it needs, each once."""
        return list(dict.fromkeys(str(what) for kind, what in self.steps if kind == "name"))

    def value(self, columns: Mapping[str, Floats]) -> Floats:
        """What comes out, row by row; infinite or NaN where it is no number."""
        stack: list[Floats] = []
        with np.errstate(all="ignore"):
            for kind, what in self.steps:
                if kind == "number":
                    stack.append(np.asarray(what, np.float64))
                elif kind == "name":
                    stack.append(columns[str(what)])
                elif kind == "call":
                    stack.append(FUNCTIONS[str(what)](stack.pop()))
                else:
                    right, left = stack.pop(), stack.pop()
                    stack.append(_OPERATIONS[str(what)](left, right))
        return stack[0]


def parse_expression(text: str) -> Expression:
    """Read an expression over metrics. Raises UsageError, which says what is wrong with it."""
    if len(text) > MOST_LENGTH:
        raise UsageError(f"an expression has at most {MOST_LENGTH} characters")
    reader = _Reader(text)
    reader.sum(0)
    if reader.kind:
        raise reader.wrong()
    found = Expression(tuple(reader.steps))
    if not found.names:
        raise UsageError("there is no metric in it: write for example tokens / 1e6")
    return found


class _Reader:
    """One token ahead, by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.start = text, 0, 0
        self.kind, self.token = "", ""
        self.steps: list[tuple[str, str | float]] = []
        self.next()

    def next(self) -> None:
        self.kind, self.token = "", ""
        rest = self.text[self.place :]
        self.start = self.place + len(rest) - len(rest.lstrip())
        if not rest.strip():
            return
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            self.kind, self.token = "odd", self.text[self.start]
            raise self.wrong()
        self.kind, self.token = str(match.lastgroup), match[str(match.lastgroup)].replace("**", "^")
        self.place = match.end()

    def wrong(self) -> UsageError:
        if not self.kind:
            return UsageError("it ends too early: a number or the name of a metric is missing at its end")
        hint = ""
        if self.kind in ("name", "quoted", "number"):
            hint = ': an operation such as * is missing before it, or quotes around a name such as "my loss"'
        return UsageError(f"{self.token[:40]!r} (character {self.start + 1}) can't stand here{hint}")

    def accept(self, *signs: str) -> str:
        if self.kind != "sign" or self.token not in signs:
            return ""
        found = self.token
        self.next()
        return found

    def sum(self, depth: int) -> None:
        self.product(depth)
        while sign := self.accept("+", "-"):
            self.product(depth)
            self.steps.append(("operation", sign))

    def product(self, depth: int) -> None:
        self.signed(depth)
        while sign := self.accept("*", "/"):
            self.signed(depth)
            self.steps.append(("operation", sign))

    def signed(self, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise UsageError(f"the parentheses and signs in it are nested more than {_MOST_DEPTH} deep")
        if self.accept("-"):
            self.steps.append(("number", 0.0))
            self.signed(depth + 1)
            self.steps.append(("operation", "-"))
            return
        self.atom(depth)
        if self.accept("^"):
            self.signed(depth + 1)
            self.steps.append(("operation", "^"))

    def atom(self, depth: int) -> None:
        kind, token = self.kind, self.token
        if self.accept("("):
            self.inside(depth)
        elif kind == "number":
            self.steps.append(("number", float(token)))
            self.next()
        elif kind in ("name", "quoted"):
            self.next()
            if kind == "name" and token in FUNCTIONS and self.accept("("):
                self.inside(depth)
                self.steps.append(("call", token))
            else:
                self.steps.append(("name", token))
        else:
            raise self.wrong()

    def inside(self, depth: int) -> None:
        self.sum(depth + 1)
        if not self.accept(")"):
            raise UsageError("a ) is missing") if not self.kind else self.wrong()
