"""Finds keys, tokens and passwords in what a program printed. Pure."""

import re

# Names with a value behind them; of a tokenizer's tokens only what looks like a key is one.
_PASSWORD = re.compile(rb"(?i)(?:password|passwd|passphrase)[\"']?\s{0,3}[=:]\s{0,3}[\"']?([^\s\"',;&]+)")
_ASSIGNED = re.compile(
    rb"(?i)(?:(?:access|api|auth|private|secret|signing)[-_]?key|token|secret|credentials?)[\"']?"
    rb"\s{0,3}[=:]\s{0,3}[\"']?((?=[^\s\"',;&]{0,64}\d)[\w./+=-]{16,})"
)
_BEARER = re.compile(rb"(?i)\b(?:bearer|basic) ([\w.~+/=-]{16,})")
_CREDENTIALS = re.compile(rb"://[^/\s:@\"']{0,64}:([^/\s@\"']{1,256})@|https?://([^/\s:@\"']{8,256})@")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----([A-Za-z0-9+/=\s:,.-]*?)(?:-----END|\Z)")
_SHAPES = {
    rb"AKIA": rb"\bAKIA[0-9A-Z]{16}\b",
    rb"ASIA": rb"\bASIA[0-9A-Z]{16}\b",
    rb"gh": rb"\bgh[oprsu]_[A-Za-z0-9]{20,}",
    rb"github_pat_": rb"\bgithub_pat_\w{20,}",
    rb"glpat-": rb"\bglpat-[\w-]{20,}",
    rb"hf_": rb"\bhf_[A-Za-z0-9]{20,}",
    rb"sk-": rb"\bsk-[\w-]{20,}",
    rb"xox": rb"\bxox[abeoprs]-[\w-]{10,}",
    rb"hooks.slack.com": rb"hooks\.slack\.com/services/([\w/]{20,})",
    rb"wandb": rb"\bwandb_v1_\w{20,}|(?i:wandb[^\n]{0,80}?)\b([0-9a-f]{40})\b",
    rb"AIza": rb"\bAIza[\w-]{35}",
    rb"eyJ": rb"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*",
}
# Each with what must be there for it to match: the search for a word is fifty times faster than that for a pattern.
_PATTERNS: list[tuple[tuple[bytes, ...], re.Pattern[bytes]]] = [
    ((b"passw", b"passphrase"), _PASSWORD),
    ((b"key", b"token", b"secret", b"credential"), _ASSIGNED),
    ((b"bearer ", b"basic "), _BEARER),
    ((b"://",), _CREDENTIALS),
    ((b"private key-----",), _PRIVATE_KEY),
    *(((word.lower(),), re.compile(shape)) for word, shape in _SHAPES.items()),
]
_VISIBLE = re.compile(rb"\S")


def find_secrets(data: bytes) -> list[tuple[int, int]]:
    """Where in these bytes secrets begin and end, in no order."""
    lowered = data.lower()
    return [
        _span(match)
        for words, pattern in _PATTERNS
        if any(word in lowered for word in words)
        for match in pattern.finditer(data)
    ]


def masked(data: bytes) -> bytes:
    """The same bytes, with `*` for each that is part of a secret; as many as before."""
    for start, stop in find_secrets(data):
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
