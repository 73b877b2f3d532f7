"""How to go on with a run."""

import pytest

from holter.catalog.read.resuming import resume_command

KERNEL = ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "/run/user/1000/jupyter/kernel-1.json"]


def test_a_program_goes_on_by_its_command() -> None:
    told = resume_command("abcd1234", ["python", "train it.py"], facts={})
    assert told == "HOLTER_RUN_ID=abcd1234 HOLTER_RESUME=allow python 'train it.py'"


@pytest.mark.parametrize("facts", [{}, {"script": {"kind": "notebook"}}])
def test_a_notebook_goes_on_in_a_cell(facts: dict[str, object]) -> None:
    assert resume_command("abcd1234", KERNEL, facts=facts) == 'holter.init(id="abcd1234", resume="must")'


def test_what_nobody_knows_is_not_made_up() -> None:
    assert resume_command("abcd1234", [], facts={}) == ""
