"""Finds keys, tokens and passwords in what a program printed. Pure."""

import re
from collections.abc import Iterator

_VALUE = rb"[\"']?\s{0,3}[=:]\s{0,3}[\"']?"
# Of a tokenizer's tokens, only what looks like a key is one.
_LIKE_A_KEY = rb"((?=[^\s\"',;&]{0,64}\d)[\w./+=-]{16,})"
# Each by the word with which it begins, in small letters: to search for a word is fifty times as fast as for a pattern.
_PATTERNS: list[tuple[bytes, re.Pattern[bytes]]] = [
    (word, re.compile(pattern))
    for word, pattern in [
        (b"password", rb"(?i)password" + _VALUE + rb"([^\s\"',;&]+)"),
        (b"passwd", rb"(?i)passwd" + _VALUE + rb"([^\s\"',;&]+)"),
        (b"passphrase", rb"(?i)passphrase" + _VALUE + rb"([^\s\"',;&]+)"),
        (
            b"key",
            rb"(?i)(?:(?<=access)|(?<=api)|(?<=auth)|(?<=private)|(?<=secret)|(?<=signing)|(?<=[-_]))key"
            + _VALUE
            + _LIKE_A_KEY,
        ),
        (b"token", rb"(?i)token" + _VALUE + _LIKE_A_KEY),
        (b"secret", rb"(?i)secret" + _VALUE + _LIKE_A_KEY),
        (b"credential", rb"(?i)credentials?" + _VALUE + _LIKE_A_KEY),
        (b"bearer ", rb"(?i)\bbearer ([\w.~+/=-]{16,})"),
        (b"basic ", rb"(?i)\bbasic ([\w.~+/=-]{16,})"),
        (b"://", rb"://[^/\s:@\"']{0,64}:([^/\s@\"']{1,256})@|://([^/\s:@\"']{8,256})@"),
        (b"-----begin ", rb"-----BEGIN [A-Z ]*PRIVATE KEY-----([A-Za-z0-9+/=\s:,.-]*?)(?:-----END|\Z)"),
        (b"akia", rb"\bAKIA[0-9A-Z]{16}\b"),
        (b"asia", rb"\bASIA[0-9A-Z]{16}\b"),
        (b"gh", rb"\bgh[oprsu]_[A-Za-z0-9]{20,}"),
        (b"github_pat_", rb"\bgithub_pat_\w{20,}"),
        (b"glpat-", rb"\bglpat-[\w-]{20,}"),
        (b"hf_", rb"\bhf_[A-Za-z0-9]{20,}"),
        (b"sk-", rb"\bsk-[\w-]{20,}"),
        (b"xox", rb"\bxox[abeoprs]-[\w-]{10,}"),
        (b"hooks.slack.com", rb"hooks\.slack\.com/services/([\w/]{20,})"),
        (b"wandb", rb"wandb_v1_\w{20,}|(?i:wandb)[^\n]{0,80}?\b([0-9a-f]{40})\b"),
        (b"aiza", rb"\bAIza[\w-]{35}"),
        (b"eyj", rb"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),
    ]
]
_VISIBLE = re.compile(rb"\S")


def find_secrets(data: bytes) -> Iterator[tuple[int, int]]:
    """Where in these bytes secrets begin and end, in no order."""
    lowered = data.lower()
    for word, pattern in _PATTERNS:
        at = lowered.find(word)
        while at >= 0:
            match = pattern.match(data, at)
            if match is not None:
                yield _span(match)
            at = lowered.find(word, at + len(word))


def masked(data: bytes) -> bytes:
    """The same bytes, with `*` for each that is part of a secret; as many as before."""
    for start, stop in list(find_secrets(data)):
        data = data[:start] + stars(data[start:stop]) + data[stop:]
    return data


def stars(secret: bytes) -> bytes:
    """As many `*` as it has visible bytes; its lines stay lines."""
    return _VISIBLE.sub(b"*", secret)


def _span(match: re.Match[bytes]) -> tuple[int, int]:
    for group in range(1, match.re.groups + 1):
        if match.start(group) >= 0:
            return match.span(group)
    return match.span()
