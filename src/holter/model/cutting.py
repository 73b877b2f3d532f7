"""Cuts texts between words: half of a secret does not look like one any more, and would be shown. Pure."""

import functools
import re

# A longer word has enough in it to be known by its beginning.
_MOST_WORD = 256
_OF_WORD = r"[^\s\"'`,;()\[\]{}<>=]"

_compiled = functools.cache(re.compile)


def first_words(text: str, most: int) -> str:
    """At most so many characters from the beginning, without the word in which that ends, unless it is a long one."""
    if len(text) <= most:
        return text
    if not _compiled(_OF_WORD).match(text, most):
        return text[:most]
    word = _compiled(rf"(?<!{_OF_WORD}){_OF_WORD}{{1,{_MOST_WORD}}}\Z").search(text, max(0, most - _MOST_WORD), most)
    return text[: word.start() if word is not None and word.start() else most]


def bounded(text: str, most: int) -> str:
    """The same as text that a journal or a message takes."""
    return as_utf8(first_words(text, most))


def as_utf8(text: str) -> str:
    """A lone surrogate has no UTF-8 form, and becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def last_words(text: str, most: int) -> str:
    """At most so many characters from the end, without the word in which that begins."""
    if len(text) <= most:
        return text
    start = len(text) - most
    if not _compiled(_OF_WORD).match(text, start - 1):
        return text[start:]
    word = _compiled(rf"{_OF_WORD}{{0,{_MOST_WORD}}}(?!{_OF_WORD})").match(text, start)
    return text[word.end() if word is not None else start :]
