"""Error numbers of the operating system in exceptions: by the type where Python itself raised it, else by the words."""

import errno

import msgspec

from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.texts import foreign_causes, foreign_text, is_own_raise, source_line
from holter.model.records import Raised

_BUILTIN = frozenset(
    "OSError IOError BlockingIOError FileExistsError FileNotFoundError PermissionError InterruptedError"
    " ConnectionError ConnectionResetError BrokenPipeError TimeoutError".split()
)


class Errno(msgspec.Struct, frozen=True, kw_only=True):
    """An error number in an exception."""

    number: int
    is_sure: bool
    """Python itself raised it, with `[Errno n]` as it writes it; else it is only said somewhere in the text."""


def find_errno(raised: Raised | None, *numbers: int) -> Errno | None:
    """One of these numbers in the exception or in what led to it; not where the user's own code raised it."""
    if raised is None:
        return None
    sure = _by_type(raised)
    for number in numbers:
        if number in sure:
            return Errno(number=number, is_sure=True)
    text = f"{foreign_text(raised)}\n{_relayed(raised)}"
    said = {int(match[1]) for match in tags_in(text).every("errno")}
    for number in numbers:
        if number in said or (os_words(number) and os_words(number) in text):
            return Errno(number=number, is_sure=False)
    return None


def _relayed(raised: Raised) -> str:
    """An error of the operating system in what the user's own code raised, as Python writes one: where the statement
    itself does not have it, somebody else met it, and handed it on as text."""
    is_made_here = raised.type.rpartition(".")[2] in _BUILTIN or "errno" in source_line(raised).lower()
    if not is_own_raise(raised) or is_made_here:
        return ""
    met = tags_in(raised.message).every("errno-of-python")
    return "\n".join(found[0] for found in met if found[2] == os_words(int(found[1])))


def os_words(number: int) -> str:
    """`No space left on device` for 28, as the C library says it."""
    return _WORDS.get(number, "")


def _by_type(raised: Raised) -> set[int]:
    chain = [(raised.type, raised.message)] if not is_own_raise(raised) else []
    chain += [(each.type, each.message) for each in foreign_causes(raised)]
    messages = [message for kind, message in chain if kind.rpartition(".")[2] in _BUILTIN]
    found = (tags_in(message).get("errno-first") for message in messages)
    return {int(match[1]) for match in found if match}


_WORDS = {
    errno.ENOSPC: "No space left on device",
    errno.EDQUOT: "Disk quota exceeded",
    errno.EMFILE: "Too many open files",
    errno.ENFILE: "Too many open files in system",
    errno.ENOMEM: "Cannot allocate memory",
    errno.EFBIG: "File too large",
    errno.EAGAIN: "Resource temporarily unavailable",
    errno.EPIPE: "Broken pipe",
}
