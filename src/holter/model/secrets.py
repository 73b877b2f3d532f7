"""Knows secrets by the names that people give them and by the shapes that services give them. Pure."""

import re
from collections.abc import Sequence

MASK = "…"

# Of a tokenizer: `--eos_token "</s>"`, `--max-token 512`.
_NO_SECRET = r"(?!.*(?:bos|cls|eos|image|mask|max|num|pad|sep|special|stop|unk)[-_.]?token$)"
_NAME = re.compile(
    rf"(?i)^{_NO_SECRET}[-+~]*([a-z0-9]+[-_.])*"
    r"((access|api|auth|private|secret|signing)[-_]?key([-_]?id)?|token|jwt|secret|password|passwd|passphrase|credentials?)$"
)
_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|npm_[A-Za-z0-9]{36}"
    r"|pypi-[\w-]{50,}|dapi[0-9a-f]{32}|wandb_v1_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic) [\w.~+/=-]{16,}")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# `https://token@host` is a secret too; `ssh://git@host` is none.
_CREDENTIALS = re.compile(r"(?i)\b(https?://)[^/\s@]+@|\b([a-z][a-z0-9+.-]*://)[^/\s:@]*:[^/\s]*@")
_OPAQUE = re.compile(r"[0-9a-f]{40}|(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+=_]{32,}")


def tells_of_secret(name: str) -> bool:
    """Whether somebody who calls a variable or an option so keeps a secret in it."""
    return _NAME.match(name) is not None


def mask(text: str) -> str:
    """The text without what has the shape of a key or token, and without passwords in addresses."""
    text = _CREDENTIALS.sub(lambda found: f"{found[1] or found[2]}{MASK}@", text)
    text = _SHAPES.sub(MASK, text)
    text = _BEARER.sub(lambda found: f"{found[1]} {MASK}", text)
    return _PRIVATE_KEY.sub(MASK, text)


def mask_value(value: str) -> str:
    """The same for a whole value: one long word that nobody would write by hand is a key as well."""
    return MASK if _OPAQUE.fullmatch(value) else mask(value)


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
