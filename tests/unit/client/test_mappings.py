"""`run.config` and `run.summary` as programs written for W&B use them."""

import argparse
import copy
import dataclasses
import json
from typing import Any

import pytest
import yaml

from holter.client.mappings import Config, Summary, settle
from holter.client.values import plain_row, plain_tree


class Kept:
    """What a run does with a change: it takes it by value and writes it down."""

    def __init__(self, **last: Any) -> None:
        self.values: dict[str, Any] = {}
        self.by_hand: dict[str, Any] = {}
        self.last = last
        self.records: list[dict[str, Any]] = []
        self.reported: list[str] = []

    @property
    def config(self) -> Config:
        return Config(self.values, self.keep_config, report=self.report)

    @property
    def summary(self) -> Summary:
        return Summary(lambda: self.last, self.by_hand, keep=self.keep_summary, report=self.report)

    def keep_config(self) -> None:
        self.records.append(plain_tree(self.values, lambda cause, text: None))
        settle(self.values, plain_tree(self.values, lambda cause, text: None))

    def keep_summary(self, values: dict[str, Any]) -> dict[str, Any]:
        self.records.append(plain_row(values, lambda cause, text: None))
        return self.records[-1]

    def report(self, doing: str, error: Exception) -> None:
        self.reported.append(str(error))


@dataclasses.dataclass
class Model:
    width: int = 3


def test_nested_values_are_dicts_to_whoever_asks() -> None:
    kept = Kept()
    kept.config.update({"model": {"width": 3, "layers": {"first": 1}}})
    config = kept.config
    assert type(config["model"]) is dict
    assert json.loads(json.dumps(dict(config))) == {"model": {"width": 3, "layers": {"first": 1}}}
    assert yaml.safe_dump(dict(config)) == "model:\n  layers:\n    first: 1\n  width: 3\n"
    assert isinstance(config.model, dict)
    assert json.dumps(config.model) == '{"width": 3, "layers": {"first": 1}}'
    assert dict(**config.model) == {"width": 3, "layers": {"first": 1}}
    assert copy.deepcopy(config.model) == config["model"]


def test_a_change_of_a_nested_value_is_kept_by_attribute_and_found_by_item() -> None:
    kept = Kept()
    kept.config.update({"model": {"width": 3, "layers": {"first": 1}}})
    kept.config.model.width = 4
    kept.config.model.layers.first = 2
    kept.config.model.update(depth=5)
    del kept.config.model["depth"]
    assert kept.records[-1] == {"model": {"width": 4, "layers": {"first": 2}}}
    model = kept.config.model
    model |= {"a": 1}
    assert (model.setdefault("b", 2), model.pop("a"), model.pop("a", 7), model.popitem()) == (2, 1, 7, ("width", 4))
    assert kept.records[-1] == {"model": dict(model)} == {"model": {"layers": {"first": 2}, "b": 2}}
    early = kept.config["model"]
    kept.config.batch = 64
    early["width"] = 5  # no longer through us; the run compares from time to time
    assert kept.values["model"]["width"] == 5


@pytest.mark.parametrize(
    "given", [{"lr": 1}, argparse.Namespace(lr=1), [("lr", 1)]], ids=["dict", "namespace", "pairs"]
)
def test_update_takes_what_has_names(given: object) -> None:
    kept = Kept()
    kept.config.update(given, allow_val_change=True)
    kept.summary.update(given)
    assert kept.records == [{"lr": 1}, {"lr": 1}]


def test_update_by_what_has_none_is_reported_and_not_raised() -> None:
    kept = Kept()
    kept.config.update(3)
    kept.config.setdefaults(3)
    kept.summary.update(3)
    assert kept.reported == [
        "config must be a dict of names and values, got int '3'",
        "config must be a dict of names and values, got int '3'",
        "summary must be a dict of names and values, got int '3'",
    ]
    assert kept.records == []


def test_a_nested_summary_reads_as_it_was_written() -> None:
    kept = Kept(**{"val.loss": 0.5, "acc": 1})
    summary = kept.summary
    summary.update({"best": {"acc": 1, "at": {"step": 7}}})
    assert kept.records[-1] == {"best.acc": 1, "best.at.step": 7}
    assert summary["best"] == {"acc": 1, "at": {"step": 7}}
    assert summary["best"]["at"]["step"] == summary.best.at.step == summary["best.at.step"] == 7
    assert summary["val"] == {"loss": 0.5}
    assert json.dumps(summary["best"]) == '{"acc": 1, "at": {"step": 7}}'
    with pytest.raises(KeyError):
        summary["bes"]


def test_a_change_of_a_nested_summary_is_kept() -> None:
    kept = Kept(**{"val.loss": 0.5})
    kept.summary.update({"best": {"acc": 1, "old": 0}})
    kept.summary["best"]["acc"] = 2
    kept.summary["best"].update(more=3)
    kept.summary.val.loss = 0.1
    del kept.summary["best"]["old"]
    assert kept.records[-1] == {"best.acc": 2, "best.more": 3, "val.loss": 0.1}
    del kept.summary["best"]
    assert kept.records[-1] == {"val.loss": 0.1}
