"""What was found to hold memory, as data that shows itself."""

from collections.abc import Iterator

import msgspec

from holter.memory.tables import MOST_NAME, MOST_ROWS, html_table, show_bytes, text_table


class Held(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One holder of memory. Memory that several hold is counted once, for the first of them."""

    name: str
    """`losses`, `Out[3]`, `last traceback`, `features.CACHE`."""
    type: str
    what: str = ""
    """`1,000 × 20 float64`, `400 items`."""
    host_bytes: int = 0
    gpu_bytes: int = 0
    file_bytes: int = 0
    """Mapped from a file: Linux can take it back."""
    is_estimate: bool = False
    """Only a sample of it was looked at."""
    is_least: bool = False
    """It holds more than that: some of it can't be seen, or there was no time."""
    why: str = ""
    """What is surprising about it: the graph behind a loss."""
    frees: str = ""
    """The lines that give the memory back."""
    smaller: tuple[str, ...] = ()
    """What would hold the same in less."""

    @property
    def size_bytes(self) -> int:
        """In the memory of the host and of the GPUs."""
        return self.host_bytes + self.gpu_bytes


class Variables(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace by size, the largest first; shows itself as a table in terminals and notebooks."""

    held: tuple[Held, ...]
    rss_bytes: int
    """What the process has of the host's memory, all in all."""
    is_complete: bool = True
    """False where the time was up before everything had been looked at."""
    took_s: float = 0.0

    def __iter__(self) -> Iterator[Held]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __repr__(self) -> str:
        table = text_table(_head(self), [_row(self, each) for each in self.held[:MOST_ROWS]], right=_numbers(self))
        return "\n".join([table, *_remarks(self)])

    def _repr_html_(self) -> str:
        rows = [_row(self, each) for each in self.held[:MOST_ROWS]]
        remarks = "<br>".join(_remarks(self))  # numbers and words of our own
        return html_table(_head(self), rows, code=(len(_head(self)) - 1,)) + f"<p>{remarks}</p>"


def _head(found: Variables) -> list[str]:
    return ["name", "memory", *(["GPU"] if _has_gpu(found) else []), "what", "free it with"]


def _numbers(found: Variables) -> tuple[int, ...]:
    return (1, 2) if _has_gpu(found) else (1,)


def _has_gpu(found: Variables) -> bool:
    return any(each.gpu_bytes for each in found.held)


def _row(found: Variables, each: Held) -> list[str]:
    about = "≥ " if each.is_least else "~" if each.is_estimate else ""
    sizes = [about + show_bytes(each.host_bytes)]
    if _has_gpu(found):
        sizes.append(about + show_bytes(each.gpu_bytes) if each.gpu_bytes else "")
    mapped = f"{show_bytes(each.file_bytes)} mapped from a file" if each.file_bytes else ""
    said = [f"{each.type} {each.what}".rstrip(), mapped, each.why, *(f"smaller: {text}" for text in each.smaller)]
    return [each.name[:MOST_NAME], *sizes, "\n".join(filter(None, said)), each.frees]


def _remarks(found: Variables) -> list[str]:
    host = sum(each.host_bytes for each in found.held)
    remarks = [f"{show_bytes(host)} here; the process has {show_bytes(found.rss_bytes)} in memory"]
    if len(found.held) > MOST_ROWS:
        rest = sum(each.size_bytes for each in found.held[MOST_ROWS:])
        remarks.append(f"{len(found.held) - MOST_ROWS} more hold {show_bytes(rest)}")
    if not found.is_complete:
        remarks.append("there was more than could be looked at in time")
    return remarks
