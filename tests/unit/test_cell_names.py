"""Cells are called as people see them, wherever Python has the name of a file."""

import pytest

from holter.model.cell_names import cell_name, name_cells, place, shown

FILE = "/tmp/ipykernel_7/183238825.py"
OTHER = "/tmp/ipykernel_7/99.py"
NUMBERS = {FILE: 12, "/tmp/ipython-input-3.py": 3}
TRACEBACK = f"""Traceback (most recent call last):
  File "{FILE}", line 3, in <module>
    fit()
  File "{OTHER}", line 2, in fit
  File "/home/ada/model.py", line 41, in forward
ValueError: no
"""


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (FILE, "In[12]"),
        (OTHER, "a cell"),
        ("/tmp/ipython-input-3.py", "In[3]"),
        ("<ipython-input-5-0a1b2c3d4e5f>", "In[5]"),
        ("/home/ada/train.py", "/home/ada/train.py"),
        ("/home/ada/ipykernel_notes/7.py", "/home/ada/ipykernel_notes/7.py"),
    ],
)
def test_the_file_of_a_cell_is_called_by_its_number(file: str, name: str) -> None:
    assert cell_name(file, NUMBERS) == name


def test_a_cell_that_is_not_in_the_history_has_no_number() -> None:
    assert cell_name(FILE, {FILE: 0}) == "a cell"


def test_a_stack_has_no_file_of_a_cell_any_more() -> None:
    named = name_cells(TRACEBACK, NUMBERS)
    assert "ipykernel" not in named
    assert 'File "In[12]", line 3, in <module>' in named
    assert shown(named).splitlines()[1:5] == [
        "  In[12], line 3, in <module>",
        "    fit()",
        "  a cell, line 2, in fit",
        '  File "/home/ada/model.py", line 41, in forward',
    ]
    # As Python prints it at a fatal signal.
    assert shown(name_cells(f'  File "{FILE}", line 3 in <module>', NUMBERS)) == "  In[12], line 3 in <module>"


def test_a_syntax_error_names_its_cell_in_brackets() -> None:
    assert name_cells("invalid syntax (183238825.py, line 1)", NUMBERS) == "invalid syntax (In[12], line 1)"
    assert name_cells("invalid syntax (7.py, line 1)", NUMBERS) == "invalid syntax (7.py, line 1)"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("train.py", "train.py:41"),
        ("In[12]", "In[12], line 41"),
        ("a cell", "a cell, line 41"),
    ],
)
def test_a_place_is_a_file_or_a_cell_with_a_line(file: str, expected: str) -> None:
    assert place(file, 41) == expected
