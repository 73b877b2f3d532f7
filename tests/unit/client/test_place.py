"""Which notebook a kernel belongs to, as the front ends tell it."""

from types import SimpleNamespace

import pytest

from holter.client.notebook.place import Place, find_place

STARTED_IN = "/home/ada/work"
KERNEL_ID = {"JPY_KERNEL_ID": "8a7e1f9c-0000-4000-8000-000000000000"}


@pytest.mark.parametrize(
    ("named", "environ", "expected"),
    [
        ({}, {"JPY_SESSION_NAME": "/home/ada/book.ipynb"}, Place("/home/ada/book.ipynb", is_notebook=True)),
        ({}, {"JPY_SESSION_NAME": "deep/../book.ipynb"}, Place("/home/ada/work/book.ipynb", is_notebook=True)),
        ({}, {"COLAB_NOTEBOOK_ID": "1xYz"}, Place("/home/ada/work/1xYz", is_notebook=True)),
        ({"__vsc_ipynb_file__": "/home/ada/vs.ipynb"}, {}, Place("/home/ada/vs.ipynb", is_notebook=True)),
        (
            {"__vsc_ipynb_file__": "/home/ada/vs.ipynb"},
            {"JPY_SESSION_NAME": "/of/the/terminal/that/started/it.ipynb"},
            Place("/home/ada/vs.ipynb", is_notebook=True),
        ),
        ({"__vsc_ipynb_file__": 3}, {"JPY_SESSION_NAME": ""}, Place(STARTED_IN, is_notebook=False)),
        ({}, KERNEL_ID, Place(STARTED_IN, is_notebook=False)),
    ],
    ids=["jupyter", "jupyter, from its directory", "colab", "vs code", "vs code first", "nonsense", "a kernel's id"],
)
def test_a_notebook_is_found_by_what_its_front_end_says(
    named: dict[str, object], environ: dict[str, str], expected: Place
) -> None:
    assert find_place(SimpleNamespace(starting_dir=STARTED_IN, user_ns=named), environ) == expected


def test_a_shell_that_knows_nothing_has_a_place_too() -> None:
    assert find_place(SimpleNamespace(), {}) == Place("", is_notebook=False)
