"""What a text says: each is read once, and asked for tags as often as one likes."""

import functools
import re

import msgspec

from holter.diagnosis.phrases import environment, gpu, memory, native, processes, python, storage, training

Match = re.Match[str]
TOPICS = (environment, gpu, memory, native, processes, python, storage, training)
MOST_TEXTS = 2048
"""So many are kept; a death has some hundred at most."""
_TAG = re.compile(r"^(?P<name>\S+?)(?P<end> \(end\))?: (?P<means>.+)\n(?P<body>(?: .+\n)+)", re.MULTILINE)
_ANOTHER = re.compile(r"^ {4}\+ (\S+)$", re.MULTILINE)
_PHRASE = re.compile(r"^ {4}(?P<pattern>\S.*?)(?:  |\n {8})# (?P<by>.+)$", re.MULTILINE)
_FLAG = re.compile(r"\(\?[aims]\)")
_NOT_PLAIN = [
    re.compile(each) for each in (r"\[[^]]*\]", r"\\[A-Za-z]", r"\([^()]*\)", r".(?:[*?]|\{[^}]*\})", r"[.^$+]")
]
"""Classes, groups, what may be left out, and the rest that is no letter by itself."""
_PLAIN = 0xE000
"""Above this are letters that a backslash makes plain."""


class Phrase(msgspec.Struct, frozen=True):
    """One way to say it."""

    pattern: str
    by: str
    """Who says it; from which version on, where not all of them do."""


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """What phrases mean."""

    name: str
    means: str
    is_end: bool
    """Who says so is at its end; else a program may say it on its way and live on."""
    phrases: tuple[Phrase, ...] = ()


class Tags:
    """What one text says, as far as anybody has asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._small = text.lower()
        self._found: dict[str, Match | None] = {}

    def __contains__(self, tag: str) -> bool:
        return self.get(tag) is not None

    def get(self, tag: str) -> Match | None:
        """The first place that says it."""
        if tag not in self._found:
            firsts = [found for pattern in self._likely(tag) if (found := pattern.search(self._text))]
            self._found[tag] = min(firsts, key=Match.start, default=None)
        return self._found[tag]

    def every(self, tag: str) -> list[Match]:
        """All places that say it."""
        return [match for pattern in self._likely(tag) for match in pattern.finditer(self._text)]

    def _likely(self, tag: str) -> list[re.Pattern[str]]:
        """To look for a word costs a hundredth of compiling a pattern that is not there."""
        small = self._small
        return [_compiled(pattern) for pattern, words in _needled(tag) if any(word in small for word in words)]


@functools.lru_cache(maxsize=MOST_TEXTS)
def tags_in(text: str) -> Tags:
    """What a text says."""
    return Tags(text)


def says(text: str, tag: str) -> bool:
    """Whether it says this."""
    return tag in tags_in(text)


@functools.cache
def read_table() -> dict[str, Tag]:
    """All tags by their names."""
    found: dict[str, Tag] = {}
    for topic in TOPICS:
        for tag in _TAG.finditer(topic.TABLE):
            others = [phrase for name in _ANOTHER.findall(tag["body"]) for phrase in found[name].phrases]
            own = [Phrase(**each.groupdict()) for each in _PHRASE.finditer(tag["body"])]
            found[tag["name"]] = Tag(
                name=tag["name"], means=tag["means"], is_end=tag["end"] is not None, phrases=(*others, *own)
            )
    return found


@functools.cache
def needles(pattern: str) -> tuple[str, ...]:
    """Words in small letters; each text that has the pattern has one of them."""
    flat = re.sub(
        r"\\(\W)",
        lambda match: chr(_PLAIN + ord(match[1])),
        pattern.removeprefix(pattern[:4] if _FLAG.match(pattern) else ""),
    )
    for parts in _NOT_PLAIN:
        while parts.search(flat):
            flat = parts.sub("\0", flat)
    words = [max(part.split("\0"), key=len) for part in flat.split("|")]
    return tuple("".join(chr(ord(each) - _PLAIN * (ord(each) >= _PLAIN)) for each in word).lower() for word in words)


@functools.cache
def _needled(tag: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(phrase.pattern, needles(phrase.pattern)) for phrase in read_table()[tag].phrases]


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
