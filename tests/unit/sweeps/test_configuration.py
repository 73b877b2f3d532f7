"""W&B's configuration as it is; what is not supported is refused by its line."""

from typing import Any

import pytest

from holter.errors import UsageError
from holter.sweeps.configuration import Configuration, read_configuration
from holter.sweeps.yaml_lines import read_yaml


def read(text: str) -> Configuration:
    found, lines = read_yaml(text, name="sweep.yaml")
    return read_configuration(found, lines=lines, name="sweep.yaml")


WHOLE = """
program: train.py
method: bayes
name: all of it
description: what there is
project: nets
entity: team
run_cap: 50
controller: {type: cloud}
metric:
  name: val/loss
  goal: minimize
  target: 0.1
parameters:
  lr: {distribution: log_uniform_values, min: 1e-5, max: 1e-1}
  layers: {min: 1, max: 8}
  dropout: {values: [0.1, 0.2], probabilities: [0.3, 0.7]}
  optimizer:
    parameters:
      name: {values: [adam, sgd]}
      decay: {min: 0.0, max: 0.1}
  epochs: {value: 10}
early_terminate: {type: hyperband, min_iter: 3, eta: 2, s: 2}
command: ["${env}", python3, "${program}", "${args}"]
on_death: {gpu-out-of-memory: again, uncaught-exception: stop}
attempts: 5
"""


def test_the_whole_configuration_is_understood() -> None:
    found = read(WHOLE)
    assert (found.method, found.program, found.run_cap, found.attempts) == ("tpe", "train.py", 50, 5)
    assert found.metric is not None
    assert (found.metric.name, found.metric.goal, found.metric.target) == ("val/loss", "minimize", 0.1)
    names = ["lr", "layers", "dropout", "optimizer.name", "optimizer.decay", "epochs"]
    assert [each.name for each in found.parameters] == names
    assert found.command == ("${env}", "python3", "${program}", "${args}")
    assert found.on_death == {"gpu-out-of-memory": "again", "uncaught-exception": "stop"}
    early_end = found.early_end
    assert early_end is not None
    assert [n for n in range(1, 30) if early_end.asks_at(n)] == [3, 6, 12, 24]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("method: magic\nparameters: {x: {value: 1}}", "sweep.yaml line 1: method: must be one of"),
        ("parameters: {x: {value: 1}}", "`method` is missing"),
        ("method: bayes\nparameters:\n  x: {min: 0, max: 1}", "line 1: method: bayes needs a `metric`"),
        ("method: grid\nparameters:\n  x: {min: 0.0, max: 1.5}", "line 3: parameters.x: a grid needs `values`"),
        (
            "method: grid\nparameters:\n  x: {min: 1, max: 1000}\n  y: {min: 1, max: 1000}",
            "parameters: a grid of 1,000,000 points is too fine",
        ),
        ("method: random\nparameters:\n  x:\n    min: 0\n    maxx: 1", "line 5: parameters.x.maxx: holter does not"),
        ("method: random\nparameters:\n  x:\n    distribution: beta\n    a: 1", "line 5: parameters.x.a: holter does"),
        ("method: random\nparameters:\n  x:\n    distribution: beta", "line 4: parameters.x.distribution: beta is not"),
        ("method: random\nparameters:\n  x: {min: 3, max: 1}", "line 3: parameters.x.max: 1 must be above"),
        ("method: random\nqueue: gpus\nparameters: {x: {value: 1}}", "line 2: queue: W&B Launch is not supported"),
        ("method: random\nparameters: {}", "line 2: parameters: there are none"),
        ("method: random\nparameters:\n  x: {values: []}", "line 3: parameters.x.values: a list of at least one"),
        (
            "method: random\nmetric: {name: a}\nparameters: {x: {value: 1}}\nearly_terminate:\n  type: other",
            "line 5: early_terminate.type: must be one of hyperband, asha, median, percentile",
        ),
        ("method: random\nparameters: {x: {value: 1}}\non_death:\n  bad-luck: again", "line 4: on_death.bad-luck"),
        ("method: random\nparameters: {x: {value: 1}}\nrun_cap: many", "line 3: run_cap: a whole number"),
        (
            "method: random\nparameters: {b: {values: [2, 4]}}\nsmaller_batch:\n  halve: b\n  double: s",
            "line 5: smaller_batch.double: there is no parameter 's': give it as a parameter, a constant one too",
        ),
        (
            "method: random\nparameters: {b: {min: 0.1, max: 4}}\nsmaller_batch: {halve: b, double: b}",
            "line 3: smaller_batch.halve: b has to have whole numbers",
        ),
        ("method: random\nparameters: {b: {value: 1}}\nsmaller_batch: {halve: b}", "line 3: smaller_batch: `double`"),
        ("method: [", "can't be read as YAML"),
        ("- a\n- b", "a mapping of names to values is needed"),
    ],
)
def test_what_can_not_be_is_refused_by_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_mapping_names_the_place_without_a_line() -> None:
    with pytest.raises(UsageError, match=r"^parameters\.x\.min: a finite number is needed"):
        read_configuration({"method": "random", "parameters": {"x": {"min": float("nan"), "max": 1.0}}})


def test_a_grid_lists_ranges() -> None:
    given: dict[str, Any] = {
        "a": {"min": 1, "max": 4},
        "b": {"distribution": "q_uniform", "min": 0, "max": 1, "q": 0.5},
    }
    found = read_configuration({"method": "grid", "parameters": given})
    assert [each.choices for each in found.parameters] == [(1, 2, 3, 4), (0, 0.5, 1)]
    assert found.size == 12
