"""Cells by the name that people see beside them. Python knows a cell by a file that never was. Pure.

`/tmp/ipykernel_7/183238825.py` is `In[12]`. Stacks keep the form in which Python prints them, `File "In[12]", line 3`,
for those who take them apart; `shown` is for people.
"""

import os
import re
from collections.abc import Mapping

UNNUMBERED = "a cell"
"""One whose number nobody wrote down."""
_FILE = re.compile(r'File "(?P<file>[^"\n]+)"')
_IN_BRACKETS = re.compile(r"\((?P<file>[^()\s]+), line (?P<line>\d+)\)")
_OF_A_CELL = re.compile(r"/ipykernel_\d+/\d+\.py$|<ipython-input-(?P<number>\d+)-")
_NAME = re.compile(r"In\[\d+\]|a cell")
_NAMED = re.compile(rf'File "(?P<name>{_NAME.pattern})", line')


def cell_name(file: str, numbers: Mapping[str, int]) -> str:
    """`In[12]` for the file of a cell, `a cell` where its number is not known; any other file as it is."""
    number, match = numbers.get(file), _OF_A_CELL.search(file)
    if number is None and match is not None:
        number = int(match["number"] or 0)
    return file if number is None else f"In[{number}]" if number else UNNUMBERED


def name_cells(text: str, numbers: Mapping[str, int]) -> str:
    """A stack, a traceback or the message of a SyntaxError, with its cells named."""
    text = _FILE.sub(lambda match: f'File "{cell_name(match["file"], numbers)}"', text)
    by_name = {os.path.basename(file): number for file, number in numbers.items()}  # a SyntaxError says only that
    return _IN_BRACKETS.sub(
        lambda match: f"({cell_name(match['file'], by_name)}, line {match['line']})" if by_name else match[0], text
    )


def shown(text: str) -> str:
    """A stack whose cells have names, as people read it: `In[12], line 3, in fit`."""
    return _NAMED.sub(r"\g<name>, line", text)


def place(file: str, line: int | str) -> str:
    """`train.py:41`, and `In[12], line 3` for a cell that has its name."""
    return f"{file}, line {line}" if is_name(file) else f"{file}:{line}"


def file_line(file: str, line: int) -> str:
    """As Python has it in a traceback, `File "/home/ada/train.py", line 41`; `In[12], line 3` for a cell."""
    return f"{file}, line {line}" if is_name(file) else f'File "{file}", line {line}'


def is_name(file: str) -> bool:
    """Whether it is no file but the name of a cell."""
    return _NAME.fullmatch(file) is not None
