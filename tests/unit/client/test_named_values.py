"""What has names and values without being a dict, as people hand it over for a configuration."""

import argparse
import collections
import dataclasses
import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import attrs
import msgspec
import pytest

from holter.client.named_values import names_given
from holter.client.values import plain_tree
from holter.errors import UsageError
from tests.unit.client.test_values import Complaints


class Optimizer(enum.Enum):
    ADAM = "adam"


@dataclasses.dataclass
class Plain:
    lr: float = 0.1
    optimizer: Optimizer = Optimizer.ADAM


@dataclasses.dataclass(slots=True)
class Slotted:
    lr: float = 0.1
    inner: Plain = dataclasses.field(default_factory=Plain)


class Tuple(NamedTuple):
    lr: float = 0.1


@attrs.define
class Attrs:
    lr: float = 0.1


class Struct(msgspec.Struct):
    lr: float = 0.1


class Node(Mapping[str, object]):
    """As omegaconf has them: a mapping, and reading what is missing raises."""

    def __init__(self, **values: Any) -> None:
        self.values_by_name = values

    def __getitem__(self, key: str) -> object:
        if self.values_by_name[key] == "???":
            raise RuntimeError(f"Missing mandatory value: {key}")
        return self.values_by_name[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


class Items(Sequence[object]):
    """A list that is none, as omegaconf has them."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401  a place or a slice
        return self.items[at]

    def __len__(self) -> int:
        return len(self.items)


def pydantic_like(base_name: str = "BaseModel", /, **values: Any) -> object:
    """pydantic is no dependency of the tests: it is recognised by the name and home of its base class."""
    base = types.new_class(base_name, (), {}, lambda body: body.update({"__module__": "pydantic.main"}))
    model: Any = type("Model", (base,), {})()
    model.__dict__.update(values)
    return model


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Plain(), {"lr": 0.1, "optimizer": "ADAM"}),
        (Slotted(), {"lr": 0.1, "inner": {"lr": 0.1, "optimizer": "ADAM"}}),
        (Tuple(), {"lr": 0.1}),
        (Attrs(), {"lr": 0.1}),
        (Struct(), {"lr": 0.1}),
        (argparse.Namespace(lr=0.1), {"lr": 0.1}),
        (types.SimpleNamespace(lr=0.1, inner=argparse.Namespace(x=1)), {"lr": 0.1, "inner": {"x": 1}}),
        (pydantic_like(lr=0.1, inner=pydantic_like(x=1)), {"lr": 0.1, "inner": {"x": 1}}),
        (Node(lr=0.1, layers=Items(1, Node(width=3))), {"lr": 0.1, "layers": [1, {"width": 3}]}),
        (collections.UserDict({"lr": 0.1}), {"lr": 0.1}),
    ],
    ids="dataclass slotted namedtuple attrs msgspec argparse simplenamespace pydantic omegaconf userdict".split(),
)
def test_its_names_and_values_are_kept_alone_and_nested(value: object, expected: object) -> None:
    complaints = Complaints()
    assert plain_tree(names_given(value, "config"), complaints) == expected
    assert plain_tree({"nested": value, "listed": [value]}, complaints) == {"nested": expected, "listed": [expected]}
    assert complaints == []


def test_what_cannot_be_read_costs_only_itself() -> None:
    complaints = Complaints()
    tree = plain_tree({"model": Node(width="???", depth=2)}, complaints)
    assert tree == {"model": {"width": "<RuntimeError: Missing mandatory value: width>", "depth": 2}}
    assert complaints == ["'model.width' could not be read (RuntimeError): its description is kept"]
    assert names_given(Node(width="???", depth=2), "config")["depth"] == 2


def test_a_secret_that_hides_itself_stays_hidden() -> None:
    tree = plain_tree({"model": pydantic_like(key=pydantic_like("SecretStr", _secret_value="abc"))}, Complaints())
    assert "abc" not in str(tree)


def test_sets_paths_and_enums_need_no_complaint() -> None:
    complaints = Complaints()
    tree = plain_tree({"tags": {"b", "a"}, "path": Path("/x"), "optimizer": Optimizer.ADAM, "r": range(2)}, complaints)
    assert tree == {"tags": ["a", "b"], "path": "/x", "optimizer": "ADAM", "r": [0, 1]}
    assert complaints == []


def test_an_object_of_the_users_is_opened_only_where_it_is_the_whole_configuration() -> None:
    class Args:
        def __init__(self) -> None:
            self.lr = 0.1

    assert names_given(Args(), "config") == {"lr": 0.1}
    complaints = Complaints()
    assert "Args" in plain_tree({"args": Args()}, complaints)["args"]
    assert len(complaints) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "lr: 0.1\nmodel: {width: 3}\n"),
        ("c.yml", "wandb_version: 1\nlr: {desc: null, value: 0.1}\nmodel:\n  value: {width: 3}\n"),
        ("c.json", '{"lr": 0.1, "model": {"width": 3}}'),
    ],
)
def test_a_file_is_read_as_wandb_reads_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert names_given(str(tmp_path / name), "config") == {"lr": 0.1, "model": {"width": 3}}
    assert names_given(tmp_path / name, "config") == {"lr": 0.1, "model": {"width": 3}}


def test_a_file_that_is_not_there_or_no_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config='gone.yaml' names no file"):
        names_given("gone.yaml", "config")
    (tmp_path / "list.yaml").write_text("- 1")
    with pytest.raises(UsageError, match=r"list.yaml has no names and values"):
        names_given(tmp_path / "list.yaml", "config")


def test_without_a_reader_of_yaml_the_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(data: bytes) -> NoReturn:
        raise ImportError("no yaml")

    (tmp_path / "c.yaml").write_text("lr: 0.1")
    monkeypatch.setattr(msgspec.yaml, "decode", missing)
    with pytest.raises(UsageError, match="`pip install pyyaml`"):
        names_given(tmp_path / "c.yaml", "config")


@pytest.mark.parametrize("value", [3, [1, 2], Plain, 1.5])
def test_what_has_no_names_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="config must be a dict of names and values"):
        names_given(value, "config")
