"""Reads filters as people write them: `state = crashed and config.lr > 1e-4`, or words to search for."""

import datetime
import re
from typing import NamedTuple

import msgspec

from holter.errors import FilterError
from holter.storage.filters import All, Among, Any, Compare, Filter, Mentions, Not, Value
from holter.storage.run_fields import NUMBERS, PREFIXES, TEXTS, TIMES
from holter.storage.runs import PLAIN_FIELDS, RunQuery, SortKey

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<operator>!=|!~|<=|>=|=|<|>|~)|(?P<bracket>[(),])"""
    r"""|(?P<word>[^\s"'=!<>~(),]+)|(?P<wrong>\S))"""
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.IGNORECASE)
_WORDS = {"and", "or", "not", "in"}
MOST_NESTED = 50
MOST_KEYS = 16


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse_query(asked: RunQuery, *, where: str, sort: str) -> RunQuery:
    """A question with the filter and the order that texts say; one that says none leaves it as it is.

    Raises FilterError.
    """
    parts = tuple(part for part in (asked.where, parse_filter(where)) if part is not None)
    return msgspec.structs.replace(asked, where=All(parts) if parts else None, sort=parse_sort(sort) or asked.sort)


def parse_filter(text: str) -> Filter | None:
    """The filter that a text says, None for an empty one. Raises FilterError, which points at the place."""
    if not text.strip():
        return None
    return _Parser(text).parse()


def parse_sort(text: str) -> tuple[SortKey, ...]:
    """`-summary.loss, name`: a minus sorts downwards. Raises FilterError."""
    keys = []
    place = 0
    for part in text.split(","):
        name = part.strip()
        if name:
            field = name.lstrip("+-")
            at = place + part.index(name) + len(name) - len(field)
            keys.append(SortKey(_known_field(text, _Token("word", field, at)), is_descending=name.startswith("-")))
            if len(keys) > MOST_KEYS:
                raise _error(text, _Token("word", field, at), f"more than {MOST_KEYS} fields to sort by")
        place += len(part) + 1
    return tuple(keys)


def parse_field(text: str) -> str:
    """The field that a text names. Raises FilterError."""
    return _known_field(text, _Token("word", text, 0))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [
            _Token(found.lastgroup or "", found[found.lastgroup or 0], found.start(found.lastgroup or 0))
            for found in _TOKEN.finditer(text)
        ]
        self._next = 0
        self._depth = 0

    def parse(self) -> Filter:
        found = self._any()
        if (token := self._peek()).kind != "end":
            raise _error(self._text, token, "expected 'and', 'or' or the end")
        return found

    def _any(self) -> Filter:
        parts = [self._all()]
        while self._take_word("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _all(self) -> Filter:
        parts = [self._one()]
        while self._take_word("and") or self._is_mentioned() or self._goes_on(parts[-1]):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self) -> Filter:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise _error(self._text, self._peek(), f"more than {MOST_NESTED} brackets or 'not' inside each other")
        try:
            if self._take_word("not"):
                return Not(self._one())
            if self._take_bracket("("):
                inner = self._any()
                self._expect_bracket(")")
                return inner
            return self._mentioned() if self._is_mentioned() else self._comparison()
        finally:
            self._depth -= 1

    def _is_mentioned(self) -> bool:
        """Whether a text to search for comes next: one that nothing is compared with, and that is no field's name."""
        token, after = self._peek(), self._peek(1)
        if token.kind not in ("word", "quoted") or token.text.lower() in _WORDS or after.kind == "operator":
            return False
        is_listed = after.kind == "word" and (after.text.lower() == "in" or self._peek(2).text.lower() == "in")
        return not is_listed and token.text not in PLAIN_FIELDS and not token.text.startswith(PREFIXES)

    def _goes_on(self, before: Filter) -> bool:
        """Behind a text to search for nobody needs an 'and'."""
        token = self._peek()
        return (
            isinstance(before, Mentions) and token.kind in ("word", "quoted") and token.text.lower() not in ("or", "in")
        )

    def _mentioned(self) -> Filter:
        token = self._advance()
        text = _unquoted(token.text) if token.kind == "quoted" else token.text
        return Mentions(text, float(text) + 0.0 if _NUMBER.fullmatch(text) else None)

    def _comparison(self) -> Filter:
        token = self._advance()
        if token.kind not in ("word", "quoted") or token.text.lower() in _WORDS:
            raise _error(self._text, token, "expected the name of a field such as state or config.lr")
        field = _known_field(self._text, token)
        is_negated = self._take_word("not")
        if self._take_word("in"):
            among = self._among(field)
            return Not(among) if is_negated else among
        operator = self._advance()
        if operator.kind != "operator" or is_negated:
            raise _error(self._text, operator, f"expected = != < <= > >= ~ !~ or in after {field}")
        return Compare(field, operator.text, self._value(field))

    def _among(self, field: str) -> Among:
        self._expect_bracket("(")
        values = [self._value(field)]
        while self._take_bracket(","):
            values.append(self._value(field))
        self._expect_bracket(")")
        return Among(field, tuple(values))

    def _value(self, field: str) -> Value:
        token = self._advance()
        if token.kind == "quoted":
            text = _unquoted(token.text)
            return self._seconds(token, text) if field in TIMES else text
        if token.kind != "word":
            raise _error(self._text, token, "expected a value: a number, a word, or text in quotes")
        return self._plain_value(field, token)

    def _plain_value(self, field: str, token: _Token) -> Value:
        lowered = token.text.lower()
        if lowered == "null":
            return None
        if field in TEXTS or field == "tags":
            return token.text
        if _NUMBER.fullmatch(token.text):
            return float(token.text)
        if lowered in ("true", "false"):
            return float(lowered == "true")
        if field in TIMES:
            return self._seconds(token, token.text)
        if field in NUMBERS:
            raise _error(self._text, token, f"{field} is a number, {token.text!r} is none")
        return "NaN" if lowered == "nan" else token.text

    def _seconds(self, token: _Token, text: str) -> float:
        try:
            found = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise _error(self._text, token, "expected a time such as 2026-11-15 or 2026-11-15T08:30") from None
        return (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp()

    def _peek(self, ahead: int = 0) -> _Token:
        at = self._next + ahead
        return self._tokens[at] if at < len(self._tokens) else _Token("end", "", len(self._text))

    def _advance(self) -> _Token:
        token = self._peek()
        if token.kind == "wrong":
            raise _error(self._text, token, "a quote that is opened here is not closed" if token.text in "\"'" else "")
        self._next += 1
        return token

    def _take_word(self, word: str) -> bool:
        token = self._peek()
        is_there = token.kind == "word" and token.text.lower() == word
        self._next += is_there
        return is_there

    def _take_bracket(self, bracket: str) -> bool:
        is_there = self._peek().text == bracket and self._peek().kind == "bracket"
        self._next += is_there
        return is_there

    def _expect_bracket(self, bracket: str) -> None:
        if not self._take_bracket(bracket):
            raise _error(self._text, self._peek(), f"expected {bracket!r}")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _known_field(text: str, token: _Token) -> str:
    name = token.text[1:-1] if token.kind == "quoted" else token.text
    if name in PLAIN_FIELDS or (name.startswith(PREFIXES) and name not in PREFIXES):
        return name
    raise _error(text, token, f"no field {name!r}: there are {', '.join(PLAIN_FIELDS)}, config.… and summary.…")


def _error(text: str, token: _Token, problem: str) -> FilterError:
    what = "the text ends here" if token.kind == "end" else f"did not expect {token.text!r}"
    shown = text.replace("\n", " ")
    return FilterError(f"{problem or what}, at column {token.at + 1}\n  {shown}\n  {' ' * token.at}^", token.at)
