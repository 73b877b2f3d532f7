"""Shows text as a terminal would: carriage returns, erased lines and cursor movements have happened. Pure."""

import re

_TOKEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # a control sequence such as a colour or a cursor movement
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # a string for the terminal itself such as its title
    r"|\x1b[ -/]*[0-~]?"
    r"|[^\x00-\x1f\x7f-\x9f]+"
    r"|[\x00-\x1f\x7f-\x9f]"
)
_CUT_OFF = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]P^_X][^\x07\x1b]*\x1b?|[ -/]*)\Z")
MOST_SEQUENCE = 4096
_TAB = 8
# Whoever moves further than this has no terminal in mind.
_FAR = 10_000
# What may go to a real terminal unchanged: it ends with the line, or with the program that reads.
_HARMLESS = re.compile(r"\x1b\[[0-9;]*[mKABCDG]")
# What is left of the sequences in a line that was shown; the last one may be cut off.
_COLOUR = re.compile(r"\x1b\[?[0-?]*m?")

Cell = tuple[str, str]


class Screen:
    """A terminal of any width whose lines never scroll away."""

    def __init__(self) -> None:
        self._lines: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = ""
        self._rest = ""

    def feed(self, text: str) -> None:
        """Print text; a sequence that is cut off goes on with the next call."""
        text = self._rest + text
        found = _CUT_OFF.search(text, max(0, len(text) - MOST_SEQUENCE))
        self._rest = found[0] if found else ""
        for token in _TOKEN.findall(text.removesuffix(self._rest)):
            self._print(token)

    def lines(self, *, has_colour: bool = False) -> list[str]:
        """What is to be seen, from the top. An empty last line, where only the cursor stands, is none."""
        shown = self._lines if self._lines[-1] else self._lines[:-1]
        return [_render(line, has_colour=has_colour) for line in shown]

    @property
    def is_at_start(self) -> bool:
        """Whether the cursor stands at the beginning of a new last line."""
        return self._column == 0 and self._row == len(self._lines) - 1 and not self._lines[-1]

    def _print(self, token: str) -> None:
        match token:
            case "\n":
                self._move_to(self._row + 1, 0)
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                self._column += _TAB - self._column % _TAB
            case _ if token.startswith("\x1b["):
                self._control(token[2:-1], token[-1])
            case _ if token >= " " and token[0] not in "\x7f\x1b" and not "\x80" <= token[0] <= "\x9f":
                self._write(token)

    def _write(self, text: str) -> None:
        line = self._lines[self._row]
        if len(line) < self._column:
            line += [(" ", "")] * (self._column - len(line))
        line[self._column : self._column + len(text)] = [(letter, self._style) for letter in text]
        self._column += len(text)

    def _control(self, arguments: str, final: str) -> None:
        number = int(arguments) if arguments.isdecimal() and len(arguments) < 6 else 0
        count = min(max(1, number), _FAR)
        match final:
            case "m":
                self._style = "" if arguments in ("", "0") else f"{self._style}\x1b[{arguments}m"[-64:]
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._move_to(self._row + count, self._column)
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "K":
                self._erase(number)

    def _erase(self, what: int) -> None:
        line = self._lines[self._row]
        if what == 0:
            del line[self._column :]
        elif what == 1:
            line[: self._column] = [(" ", "")] * min(self._column, len(line))
        else:
            line.clear()

    def _move_to(self, row: int, column: int) -> None:
        self._lines += [[] for _ in range(row - len(self._lines) + 1)]
        self._row, self._column = row, column


def harmless(text: str) -> str:
    """Text for a real terminal, without what would change more than the lines that it stands on."""
    return "".join(token for token in _TOKEN.findall(text) if token[0] >= " " or _may_pass(token))


def without_colours(text: str) -> str:
    """A line of `Screen.lines(has_colour=True)` as it would be without."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def _may_pass(token: str) -> bool:
    return token in "\n\r\t\b" or _HARMLESS.fullmatch(token) is not None


def _render(line: list[Cell], *, has_colour: bool) -> str:
    if not has_colour:
        return "".join(letter for letter, _ in line).rstrip()
    parts, style = [], ""
    for letter, wanted in line:
        if wanted != style:
            parts.append(f"\x1b[0m{wanted}" if style else wanted)
            style = wanted
        parts.append(letter)
    return "".join(parts).rstrip() + ("\x1b[0m" if style else "")
