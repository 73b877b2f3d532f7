"""Knows secrets by the names that people give them and by the shapes that services give them. Pure.

`secret_kinds` has the shapes; here is how a text is searched for them, and for values that stand next to telling names.
"""

import bisect
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from holter.model.secret_kinds import CHARACTERS, SHAPES, SHORTEST, Kind
from holter.model.secret_names import is_placeholder, is_tokenizers, tells_of_secret

__all__ = ["MASK", "Found", "find_secrets", "mask", "mask_arguments", "mask_value", "masked", "masked_patch", "stars"]

MASK = "…"


class Found(NamedTuple):
    """Where a secret begins and ends, and what kind it is."""

    start: int
    stop: int
    kind: str


_Named = tuple[str, bytes, bytes, bytes, Callable[[bytes, re.Match[bytes]], bool]]
"""A name that tells of a secret: its kind, the word in it that is searched for, in small letters, what may follow that,
for to look at one byte is ten times as fast as a pattern, the pattern, of which the last group is the value, and
whether a match in the text is one."""

_OPAQUE = r"[0-9a-f]{40}|(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+=_]{32,}"
_LEAST_OPAQUE = 32
_IS = rb"\\?[\"']?\]?\s{0,3}(?:=>|:=|[=:])\s{0,3}(?:str\s?=\s?)?"
_QUOTED = rb"(?:[bfru]{0,2}(?:\\?\"([^\"\n]{1,512}?)\\?\"|\\?'([^'\n]{1,512}?)\\?')|\\?[\"']?"
# Bounded, for the next name may stand within the value: what is longer is followed to its end when it is one.
_ANY_VALUE = _QUOTED + rb"([^\s\"',;&]{1,128}))"
_LIKE_A_KEY = rb"(?:[bfru]{0,2}\\?[\"'])?([\w./+=~:-]{16,128})"
_REST_OF_VALUE = rb"[\w./+=~:-]*"
_SPACE = rb"[ \t]+"
_BEFORE_OPTION = rb"(?:\A|[\s\"'\[(,=])--?[A-Za-z][\w-]{0,40}\Z|(?:\A|[\s\"'\[(,=])--?\Z|\blogin\s+\S+\s+\Z"
_SERVICE = (
    rb"(?:access|account|api|auth|client|encryption|master|private|secret|service|sharedaccess|signing|subscription)"
    rb"[-_. ]?\Z"
)
_BEGINS = rb"(?:\A|[^A-Za-z0-9]|\\[abefnrtv0]|%[0-9A-Fa-f]{2}|\x1b\[[\d;]{0,8}m)\Z"
_NAME = rb"[A-Za-z0-9_.-]+\Z"
_SEPARATOR = rb"[^A-Za-z0-9]+"
_HASH = rb"[0-9a-f]{24,}|[0-9A-F]{24,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_VISIBLE = rb"\S"
_FILE_OF_PATCH = rb"(?m)^(?=diff --git )"
# A key that is printed line by line, of which the beginning may lie in an earlier part of the text.
_LINES_OF_KEY = (
    rb"(?m)^(?:[A-Za-z0-9+/]{64}\r?\n){2,}(?:[A-Za-z0-9+/]{1,63}={0,2}\r?$)?"
    rb"|^(?:[A-Za-z0-9+/]{70}\r?\n){2,}(?:[A-Za-z0-9+/]{1,69}={0,2}\r?$)?"
)
_BEGIN_OF_KEY = rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_OF_KEY = rb"[A-Za-z0-9+/=\s:,.\\*-]*"
_LINE_OF_KEY = rb"[A-Za-z0-9+/=*]{1,76}\r?"
_MOST_OF_KEY = 16 << 10
_OF_A_LINE = 64

_FLAT = bytes(ord("a") if byte in CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"a" * SHORTEST
_HEX = b"0123456789abcdef"
_AWS_SECRET = rb"(?<![\w+/=.-])[A-Za-z0-9+/]{40}(?![\w+/=-])"
_LEAST_CHANGES = 14
# A longer word is a picture or the like; no secret begins behind so much of one.
MOST_OF_WORD = 4096
MOST_OF_VALUE = 128
_DISCORD = rb"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"


def find_secrets(data: bytes, *, is_code: bool = False) -> Iterator[Found]:
    """Where in these bytes secrets begin and end, in no order; they may overlap.

    In code `password = ask()` has no secret in it: there only what stands in quotes is one by its name.
    """
    lowered = data.lower()
    yield from _find_named(data, lowered, is_code=is_code)
    yield from _find_private_keys(data, lowered)
    yield from _find_shaped(data)


def masked(data: bytes, *, is_code: bool = False) -> bytes:
    """The same bytes, with `*` for each that is part of a secret; as many as before."""
    hidden = bytearray(data)
    for start, stop, _ in find_secrets(data, is_code=is_code):
        hidden[start:stop] = stars(data[start:stop])
    return bytes(hidden)


def masked_patch(patch: bytes) -> bytes:
    """The same for changes to files, of which those in Python are code."""
    files = _compiled(_FILE_OF_PATCH).split(patch)
    return b"".join(masked(each, is_code=each.partition(b"\n")[0].endswith((b".py", b'.py"'))) for each in files)


def stars(secret: bytes) -> bytes:
    """As many `*` as it has visible bytes; its lines stay lines."""
    return _compiled(_VISIBLE).sub(b"*", secret)


def mask(text: str, found: Callable[[str, str], object] = lambda kind, secret: None, *, is_code: bool = False) -> str:
    """The text with each secret cut down to one sign; `found` is called with the kind and the secret itself."""
    data = text.encode("utf-8", "surrogatepass")
    spans = _merged(find_secrets(data, is_code=is_code))
    if not spans:
        return text
    for start, stop, kind in reversed(spans):
        found(kind, data[start:stop].decode("utf-8", "replace"))
        data = data[:start] + MASK.encode() + data[stop:]
    return data.decode("utf-8", "surrogatepass")


def mask_value(value: str) -> str:
    """The same for a whole value: one long word that nobody would write by hand is a key as well."""
    return MASK if len(value) >= _LEAST_OPAQUE and _compiled(_OPAQUE).fullmatch(value) else mask(value)


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line without the values of those arguments whose name tells of a secret."""
    shown: list[str] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and tells_of_secret(name):
            shown.append(f"{name}={MASK}")
        else:
            shown.append(MASK if before.startswith("-") and tells_of_secret(before) else mask(argument))
    return shown


# Not at import: a command pays for its start, and of most of them nobody ever needs one.
_compiled = functools.cache(re.compile)


def _find_named(data: bytes, lowered: bytes, *, is_code: bool) -> Iterator[Found]:
    for kind, word, follows, pattern, is_one in _NAMED:
        size = len(word)
        at = lowered.find(word)
        while at >= 0:
            if lowered[at + size : at + size + 1] in follows:
                match = _compiled(pattern).match(data, at)
                if match is not None and is_one(data, match):
                    start, stop = match.span(match.lastindex or 0)
                    stop = stop if stop - start < MOST_OF_VALUE else _follow(_REST_OF_VALUE, data, stop)
                    if not is_code or data[start - 1 : start] in (b'"', b"'"):
                        yield Found(start, stop, kind)
                        at = stop - size
            at = lowered.find(word, at + size)
    for kind, word, pattern in _AROUND:
        at = lowered.find(word)
        while at >= 0:
            match = _compiled(pattern).match(data, at)
            if match is not None:
                yield Found(*match.span(match.lastindex or 0), kind)
            # What is hidden already is not looked at again: a file of keys would take as long as it is, squared.
            at = lowered.find(word, max(at + len(word), match.end() if match is not None else 0))


def _find_private_keys(data: bytes, lowered: bytes) -> Iterator[Found]:
    """From its first line to its last; where one of these lies elsewhere, as far as it looks like one."""
    at = lowered.find(b"-----begin ")
    while at >= 0:
        begin = _compiled(_BEGIN_OF_KEY).match(data, at)
        if begin is not None:
            stop = data.find(b"-----END", begin.end(), begin.end() + _MOST_OF_KEY)
            stop = stop if stop >= 0 else _follow(_OF_KEY, data, begin.end())
            yield Found(begin.end(), stop, "private key")
        at = lowered.find(b"-----begin ", max(at + 1, stop if begin is not None else 0))
    at = lowered.find(b"-----end ")
    while at >= 0:
        if b"private key" in lowered[at : at + 60]:
            yield Found(_first_line_of_key(data, at), at, "private key")
        at = lowered.find(b"-----end ", at + 1)


def _follow(pattern: bytes, data: bytes, at: int) -> int:
    match = _compiled(pattern).match(data, at)
    return match.end() if match is not None else at


def _first_line_of_key(data: bytes, end: int) -> int:
    start = end
    while start > max(0, end - _MOST_OF_KEY):
        before = data.rfind(b"\n", max(0, start - 80), start - 1) + 1
        if (not before and start > 80) or not _compiled(_LINE_OF_KEY).fullmatch(data, before, start - 1):
            break
        start = before
    return start


def _find_shaped(data: bytes) -> Iterator[Found]:
    """Those that are known by their shape, searched for only in the long words of the text: there are few."""
    flat = data.translate(_FLAT)
    starts: list[int] = []
    words: list[bytes] = []
    at = flat.find(_RUN)
    while at >= 0:
        stop = flat.find(b" ", at)
        stop = len(data) if stop < 0 else stop
        word = data[at : min(stop, at + MOST_OF_WORD)]
        if word.strip(_HEX):  # else a digest, of which there are many
            starts.append(at)
            words.append(word)
        at = flat.find(_RUN, stop)
    if not words:
        return
    joined = b" ".join(words)
    places = list(accumulate((len(word) + 1 for word in words[:-1]), initial=0))
    for literal, kind in _literals():
        at = joined.find(literal)
        while at >= 0:
            number = bisect.bisect_right(places, at) - 1
            yield from _match(kind, data, starts[number] + at - places[number], (starts[number], words[number]))
            at = joined.find(literal, at + len(literal))
    yield from _find_bare(data, starts, words)


def _match(kind: Kind, data: bytes, at: int, around: tuple[int, bytes], /) -> Iterator[Found]:
    start, word = around
    name, _, pattern = kind
    if pattern.startswith("^"):
        # A word may stand behind a name, or between marks that are letters of others: `token=…`, `x:…`.
        match = _compiled(pattern.encode()).match(word) or _last_part(pattern, word)
        if match is not None:
            first, last = match.span(match.lastindex or 0)
            offset = start + len(word) - len(match.string)
            yield Found(offset + first, offset + last, name)
    elif _compiled(_BEGINS).search(data, max(0, at - 12), at):
        match = _compiled(pattern.encode()).match(data, at, at + MOST_OF_WORD)
        if match is not None:
            first, last = match.span(match.lastindex or 0)
            last = last if last < at + MOST_OF_WORD else _follow(_REST_OF_VALUE, data, last)
            yield Found(first, last, name)


def _last_part(pattern: str, word: bytes) -> re.Match[bytes] | None:
    part = word.rstrip(b".:").rpartition(b"=")[2]
    return _compiled(pattern.encode()).match(part) if word.endswith(part) else None


def _find_bare(data: bytes, starts: list[int], words: list[bytes]) -> Iterator[Found]:
    """A secret of AWS has no mark at all: forty letters that nobody would write. Nor has the middle of a long key."""
    hidden = 0
    for start, word in zip(starts, words, strict=True):
        if len(word) >= 58 and word.count(b".") == 2:
            found = _compiled(_DISCORD).search(word)
            if found is not None and is_random(found[0]):
                yield Found(start + found.start(), start + found.end(), "Discord token")
        if len(word) >= 40:
            for match in _compiled(_AWS_SECRET).finditer(word):
                if is_random(match[0]):
                    yield Found(start + match.start(), start + match.end(), "AWS secret")
        if start >= hidden and _ends_line(data, start, word) and is_random(word[:40]):
            lines = _compiled(_LINES_OF_KEY).match(data, start)
            if lines is not None:
                hidden = lines.end()
                yield Found(*lines.span(), "private key")


def _ends_line(data: bytes, start: int, word: bytes) -> bool:
    """Whether a long word is all of its line."""
    end = start + len(word)
    is_all = data[end : end + 1] in (b"\n", b"\r") and data[start - 1 : start] in (b"\n", b"")
    return len(word) >= _OF_A_LINE and is_all


def is_random(word: bytes) -> bool:
    """Whether small letters, capitals and digits take turns as often as only chance has it: unlike a path or name."""
    kinds = [
        "a" if 97 <= byte <= 122 else "A" if 65 <= byte <= 90 else "0" if 48 <= byte <= 57 else "+" for byte in word
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes >= _LEAST_CHANGES and {"a", "A", "0"} <= {*kinds} and kinds.count("+") <= 6


def _begins_word(data: bytes, match: re.Match[bytes]) -> bool:
    return _compiled(_BEGINS).search(data, max(0, match.start() - 12), match.start()) is not None


def _is_password(data: bytes, match: re.Match[bytes]) -> bool:
    value = match[match.lastindex or 0]
    if not match["more"]:
        return _is_pass(data, match, value)
    if match["by"].isspace():
        before = _compiled(_BEFORE_OPTION).search(data[max(0, match.start() - 64) : match.start()])
        return before is not None and not value.startswith(b"-") and not is_placeholder(value)
    return not is_placeholder(value)


def _is_pass(data: bytes, match: re.Match[bytes], value: bytes) -> bool:
    """`pass=` is also that of an epoch, and `pwd=` a directory: there must be letters, and what is none of them."""
    if match["by"].isspace() or len(value) < 6 or value.isalpha() or value[:1] in b"/~.<$" or b"/" in value:
        return False
    return value.lower().islower() and not _is_identifier(value) and _begins_word(data, match)


def _is_key_of_service(data: bytes, match: re.Match[bytes]) -> bool:
    before = data[max(0, match.start() - 16) : match.start()].lower()
    value = match[match.lastindex or 0]
    if _compiled(_SERVICE).search(before):
        return _is_opaque(value)
    is_hash = _compiled(_HASH).fullmatch(value) is not None
    return before[-1:] in b"-_" and before != b"" and _is_opaque(value) and not is_hash


def _is_token(data: bytes, match: re.Match[bytes]) -> bool:
    name = _compiled(_NAME).search(data, max(0, match.start() - 24), match.start())
    return not is_tokenizers(name[0].decode() if name else "") and _is_opaque(match[match.lastindex or 0])


def _is_secret(data: bytes, match: re.Match[bytes]) -> bool:
    return _is_opaque(match[match.lastindex or 0])


def _is_opaque(value: bytes) -> bool:
    has_both = any(48 <= byte <= 57 for byte in value) and any(byte > 64 for byte in value)
    return has_both and not _is_identifier(value)


def _is_identifier(value: bytes) -> bool:
    """`model.layers_12.attention`, `llama-2-7b-chat`: each part is a word, a number, or short."""
    parts = _compiled(_SEPARATOR).split(value)
    return len(parts) > 1 and all(part.isalpha() or part.isdigit() or len(part) <= 4 for part in parts)


_BY = rb"(?P<by>" + _IS + rb"|" + _SPACE + rb")"
_MARKS = b"\"'] \t=:\\"
_NAMED: tuple[_Named, ...] = (
    ("password", b"pass", _MARKS + b"wp", rb"(?i)pass(?P<more>word|wd|phrase)?" + _BY + _ANY_VALUE, _is_password),
    ("password", b"pwd", _MARKS, rb"(?i)(?P<more>)pwd" + _BY + _ANY_VALUE, _is_password),
    ("key", b"key", _MARKS, rb"(?i)key" + _BY + _LIKE_A_KEY, _is_key_of_service),
    ("token", b"token", _MARKS, rb"(?i)token" + _BY + _LIKE_A_KEY, _is_token),
    ("secret", b"secret", _MARKS, rb"(?i)secret" + _BY + _LIKE_A_KEY, _is_secret),
    ("credentials", b"credential", _MARKS + b"s", rb"(?i)credentials?" + _BY + _LIKE_A_KEY, _is_secret),
    ("cookie", b"cookie", _MARKS, rb"(?i)cookie" + _IS + rb"[\"']?[\w.-]{1,40}=([\w.%+/=-]{16,})", _is_secret),
    ("token", b"bearer", b" ", rb"(?i)bearer ([\w.~+/=-]{16,})", _is_secret),
    ("password", b"basic", b" ", rb"(?i)basic ([A-Za-z0-9+/=]{16,})", _is_secret),
)
_AROUND = (
    (
        "authorization",
        b"authorization",
        rb"(?i)authorization" + _IS + rb"(?:[bfru]{0,2}\\?[\"'])?(?:[A-Za-z]{3,10}[ ]+)?([\w.~+/=:-]{8,})",
    ),
    # `https://token@host` and `https://token:x@host` are secrets too; `ssh://git@host` is none.
    (
        "password in an address",
        b"://",
        rb"://([^/\s:@\"']{0,256}:[^/\s\"']{1,256})@|(?:(?<=http)|(?<=https))://([^/\s:@\"']{1,256})@",
    ),
    ("password", b"curl", rb"(?i)curl\b[^\n]{0,200}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?([^\s\"':]+:[^\s\"']+)"),
    ("signature", b"sig=", rb"sig=([\w%+/=-]{30,})"),
    ("W&B key", b"wandb", rb"(?i:wandb)[^\n]{0,80}?\b([0-9a-f]{40})\b"),
)


@functools.cache
def _literals() -> tuple[tuple[bytes, Kind], ...]:
    return tuple((word.encode(), kind) for kind in SHAPES for word in kind[1].split())


def _merged(found: Iterator[Found]) -> list[Found]:
    merged: list[Found] = []
    for each in sorted(found):
        if merged and each.start < merged[-1].stop:
            merged[-1] = merged[-1]._replace(stop=max(each.stop, merged[-1].stop))
        else:
            merged.append(each)
    return merged
