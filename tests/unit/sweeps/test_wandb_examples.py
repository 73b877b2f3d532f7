"""Configurations in the shapes of W&B's documentation: understood, or refused by the line that is not."""

from pathlib import Path
from typing import Any

import pytest

from holter.agents.command import words_of
from holter.errors import UsageError
from holter.sweeps.configuration import read_configuration
from holter.sweeps.parameters import nested
from holter.sweeps.yaml_lines import read_yaml
from tests.unit.sweeps.desks import Bench
from tests.unit.sweeps.wandb_configurations import REFUSED, UNDERSTOOD


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_an_example_is_parsed_and_its_trials_can_be_given_again(tmp_path: Path, name: str) -> None:
    found, _ = read_yaml(UNDERSTOOD[name], name=name)
    assert isinstance(found, dict)
    given: dict[str, Any] = {"metric": {"name": "score"}, **found, "seed": 11}
    bench = Bench(tmp_path, **given)
    configuration = bench.desk.state().configuration
    assert configuration is not None
    parameters, command = configuration.parameters, configuration.command
    for _ in range(12):
        answer = bench.ask()
        if answer.lease is None:
            break
        config = nested(answer.lease.params, parameters)
        written = found["parameters"]
        assert config.keys() == written.keys()
        assert {key for key, value in config.items() if isinstance(value, dict)} == {
            key for key, about in written.items() if "parameters" in about
        }
        assert words_of(command, config, program="train.py", json_file="a.json", environ={})
        bench.finish(answer.lease, float(answer.lease.number % 5))
        bench.desk.again(answer.lease.number, by="ada")
    assert "failed" not in bench.states()
    assert len(bench.states()) >= 6


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_its_line(name: str) -> None:
    text, said = REFUSED[name]
    found, lines = read_yaml(text, name="sweep.yaml")
    with pytest.raises(UsageError) as caught:
        read_configuration(found, lines=lines, name="sweep.yaml")
    assert said in str(caught.value)
