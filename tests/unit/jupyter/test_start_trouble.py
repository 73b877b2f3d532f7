"""What a Python that can't start a kernel says about it."""

from holter.jupyter.start_trouble import find_trouble, read_trouble

MISSING = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
ModuleNotFoundError: No module named 'ipykernel'
"""


def test_the_exception_at_the_end_is_the_reason() -> None:
    found = read_trouble(MISSING)
    assert found is not None
    assert (found.type, found.message, found.where) == ("ModuleNotFoundError", "No module named 'ipykernel'", "main")
    assert found.traceback == MISSING


def test_other_last_words_are_no_reason() -> None:
    assert read_trouble("") is None
    assert read_trouble("Segmentation fault (core dumped)") is None


def test_a_kernel_of_another_language_is_not_asked() -> None:
    assert find_trouble(["/usr/bin/julia", "kernel.jl"], cwd="/", env={}, at_ns=1) is None
