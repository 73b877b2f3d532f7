"""The console of a run on the standard output: its last lines, then what comes."""

import codecs
import sys

from holter.catalog.read.loaded_run import LoadedRun
from holter.cli.figures import plural, size
from holter.cli.stdout import NO_WIDTH, Look, flush
from holter.console.reading import ConsoleReader, Printed, size_of_console
from holter.console.screen import Screen, harmless
from holter.model.records import Console

FIRST_LOOK_BYTES = 64 << 10
_WORDS = {
    "terminal": "every byte, on its way to the terminal",
    "pipe": "every byte, on its way into the pipe",
    "file": "every byte, read from the file that it goes into",
    "python": "what Python printed; not what C libraries and child processes did, for which there is `holter run`",
}
"""What the words of the `Console` record mean."""


def has_console(directory: str) -> bool:
    """Whether the program printed anything that was kept; holter's own lines are nothing."""
    start = b"".join(printed.data for printed in ConsoleReader(directory).last(FIRST_LOOK_BYTES))
    return any(line.strip() and not line.startswith(b"holter: ") for line in start.splitlines())


def console_lines(loaded: LoadedRun) -> list[str]:
    """How the output of a run was kept, and what of it was not. Raises OSError."""
    said = [record for record in loaded.said(Console) if "launcher" not in (record.stdout, record.stderr)]
    lines = dict.fromkeys(
        f"{name}: {_WORDS.get(how, how.replace('none:', 'not kept:'))}"
        for record in said
        for name, how in (("stdout", record.stdout), ("stderr", record.stderr))
    )
    printed, kept = size_of_console(loaded.row.directory)
    if kept:
        lines[f"{size(kept)} kept; `holter tail {loaded.row.id}` shows the end"] = None
    if printed > kept:
        lines[f"{plural(printed - kept, 'byte')} in the middle were left out: HOLTER_CONSOLE_LIMIT keeps more"] = None
    return list(lines)


class ConsoleTail:
    """Prints the console of one run. On a terminal what comes is passed on as it is; elsewhere only whole lines are."""

    def __init__(self, directory: str, seen: Look) -> None:
        self._directory = directory
        self._look = seen
        self._reader = ConsoleReader(directory)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = Screen()
        self._shown = 0
        self._is_mid_line = False

    def print_last(self, count: int, *, is_followed: bool) -> None:
        """The last lines that there are now. Raises OSError."""
        wanted = FIRST_LOOK_BYTES
        _, kept = size_of_console(self._directory)
        while True:
            self._screen = Screen()
            self._feed(self._reader.last(wanted))
            lines = self._lines()
            if len(lines) > count or wanted >= kept:
                break
            wanted *= 4
        self._shown = max(0, len(lines) - count)
        if self._is_live and is_followed:
            # The cursor stays where the program left it, so that the next state of its progress bar replaces this one.
            end = "\n" if self._screen.is_at_start else ""
            self._write("\n".join(lines[self._shown :]) + end)
        else:
            self._print_lines(is_all=not is_followed)
        flush()

    def print_new(self, *, is_last: bool = False) -> None:
        """What was printed since; `is_last` where nothing will follow. Raises OSError."""
        printed = self._reader.hear()
        if self._is_live:
            self._write(harmless("".join(map(self._text, printed))))
            self._write("\n" if is_last and self._is_mid_line else "")
            flush()
            return
        self._feed(printed)
        self._print_lines(is_all=is_last)
        flush()

    def _write(self, text: str) -> None:
        self._is_mid_line = not text.endswith("\n") if text else self._is_mid_line
        sys.stdout.write(text)

    @property
    def _is_live(self) -> bool:
        return self._look.width != NO_WIDTH

    def _lines(self) -> list[str]:
        return self._screen.lines(has_colour=self._look.has_colour)

    def _feed(self, printed: list[Printed]) -> None:
        for each in printed:
            self._screen.feed(self._text(each))

    def _text(self, printed: Printed) -> str:
        text = self._decoder.decode(printed.data)
        return f"\n[{plural(printed.missed, 'byte')} left out]\n{text}" if printed.missed else text

    def _print_lines(self, *, is_all: bool) -> None:
        """Lines that are whole: the last one may still be a progress bar."""
        lines = self._lines()
        whole = lines if is_all or self._screen.is_at_start else lines[:-1]
        for line in whole[self._shown :]:
            print(line)
        self._shown = max(self._shown, len(whole))
