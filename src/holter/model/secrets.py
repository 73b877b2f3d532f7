"""Knows secrets by the names that people give them and by the shapes that services give them. Pure."""

import functools
import re
from collections.abc import Iterator, Sequence

MASK = "…"
Span = tuple[int, int]

# What each name below ends with, in small letters.
_LAST_WORDS = ("key", "id", "token", "jwt", "secret", "password", "passwd", "passphrase", "credential", "credentials")
# Of a tokenizer: `--eos_token "</s>"`, `--max-token 512`.
_NO_SECRET = r"(?!.*(?:bos|cls|eos|image|mask|max|num|pad|sep|special|stop|unk)[-_.]?token$)"
_NAME = (
    rf"(?i)^{_NO_SECRET}[-+~]*([a-z0-9]+[-_.])*"
    r"((access|api|auth|private|secret|signing)[-_]?key([-_]?id)?|token|jwt|secret|password|passwd|passphrase|credentials?)$"
)
_OPAQUE = r"[0-9a-f]{40}|(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+=_]{32,}"
_LEAST_OPAQUE = 32

# Each by the word with which it begins, in small letters: to search for a word is fifty times as fast as for a pattern.
# What is to be hidden is the group, or all of it where there is none.
_IS = rb"[\"']?\]?\s{0,3}[=:]\s{0,3}(?:str\s?=\s?)?(?:[bfr]?[\"'])?"
_ANY_VALUE = rb"([^\s\"',;&]+)"
# Of a tokenizer's tokens, only what looks like a key is one.
_LIKE_A_KEY = rb"((?=[^\s\"',;&]{0,64}\d)[\w./+=-]{16,})"
_BY_NAME = {
    b"password": rb"(?i)password" + _IS + _ANY_VALUE,
    b"passwd": rb"(?i)passwd" + _IS + _ANY_VALUE,
    b"passphrase": rb"(?i)passphrase" + _IS + _ANY_VALUE,
    b"key": rb"(?i)(?:(?<=access)|(?<=api)|(?<=auth)|(?<=private)|(?<=secret)|(?<=signing)|(?<=[-_]))key"
    + _IS
    + _LIKE_A_KEY,
    b"token": rb"(?i)token" + _IS + _LIKE_A_KEY,
    b"secret": rb"(?i)secret" + _IS + _LIKE_A_KEY,
    b"credential": rb"(?i)credentials?" + _IS + _LIKE_A_KEY,
}
_BY_SHAPE = {
    b"bearer ": rb"(?i)\bbearer ([\w.~+/=-]{16,})",
    b"basic ": rb"(?i)\bbasic ([\w.~+/=-]{16,})",
    # `https://token@host` and `https://token:x@host` are secrets too; `ssh://git@host` is none.
    b"://": rb"://([^/\s:@\"']{0,256}:[^/\s\"']{1,256})@|(?:(?<=http)|(?<=https))://([^/\s:@\"']{1,256})@",
    b"-----begin ": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----([A-Za-z0-9+/=\s:,.-]*?)(?:-----END|\Z)",
    b"akia": rb"\bAKIA[0-9A-Z]{16}\b",
    b"asia": rb"\bASIA[0-9A-Z]{16}\b",
    b"gh": rb"\bgh[oprsu]_[A-Za-z0-9]{20,}",
    b"github_pat_": rb"\bgithub_pat_\w{20,}",
    b"glpat-": rb"\bglpat-[\w-]{20,}",
    b"hf_": rb"\bhf_[A-Za-z0-9]{20,}",
    b"sk-": rb"\bsk-[\w-]{20,}",
    b"xox": rb"\bxox[abeoprs]-[\w-]{10,}",
    b"hooks.slack.com": rb"hooks\.slack\.com/services/([\w/]{20,})",
    b"wandb": rb"wandb_v1_\w{20,}|(?i:wandb)[^\n]{0,80}?\b([0-9a-f]{40})\b",
    b"aiza": rb"\bAIza[\w-]{35}",
    b"ya29.": rb"\bya29\.[\w-]{20,}",
    b"npm_": rb"\bnpm_[A-Za-z0-9]{36}",
    b"pypi-": rb"\bpypi-[\w-]{50,}",
    b"dapi": rb"\bdapi[0-9a-f]{32}",
    b"eyj": rb"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*",
}
_VISIBLE = rb"\S"
_FILE_OF_PATCH = rb"(?m)^(?=diff --git )"


def tells_of_secret(name: str) -> bool:
    """Whether somebody who calls a variable or an option so keeps a secret in it."""
    if name.isascii() and not name.lower().rstrip("\n").endswith(_LAST_WORDS):
        return False
    return _compiled(_NAME).match(name) is not None


def find_secrets(data: bytes, *, is_code: bool = False) -> Iterator[Span]:
    """Where in these bytes secrets begin and end, in no order; they may overlap.

    In code `password = ask()` has no secret in it: there only what stands in quotes is one by its name.
    """
    lowered = data.lower()
    for span in _search(_BY_NAME, data, lowered):
        if not is_code or data[span[0] - 1 : span[0]] in (b'"', b"'"):
            yield span
    yield from _search(_BY_SHAPE, data, lowered)


def masked(data: bytes, *, is_code: bool = False) -> bytes:
    """The same bytes, with `*` for each that is part of a secret; as many as before."""
    hidden = bytearray(data)
    for start, stop in find_secrets(data, is_code=is_code):
        hidden[start:stop] = stars(data[start:stop])
    return bytes(hidden)


def masked_patch(patch: bytes) -> bytes:
    """The same for changes to files, of which those in Python are code."""
    files = _compiled(_FILE_OF_PATCH).split(patch)
    return b"".join(masked(each, is_code=each.partition(b"\n")[0].endswith((b".py", b'.py"'))) for each in files)


def stars(secret: bytes) -> bytes:
    """As many `*` as it has visible bytes; its lines stay lines."""
    return _compiled(_VISIBLE).sub(b"*", secret)


def mask(text: str) -> str:
    """The text with each secret cut down to one sign."""
    data = text.encode("utf-8", "surrogatepass")
    for start, stop in reversed(_merged(find_secrets(data))):
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


def _search(patterns: dict[bytes, bytes], data: bytes, lowered: bytes) -> Iterator[Span]:
    for word, pattern in patterns.items():
        at = lowered.find(word)
        while at >= 0:
            match = _compiled(pattern).match(data, at)
            if match is not None:
                yield match.span(match.lastindex or 0)
            at = lowered.find(word, at + len(word))


def _merged(spans: Iterator[Span]) -> list[Span]:
    found: list[Span] = []
    for start, stop in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found
