"""The names of W&B: those that programs use are known, and those that it never had are not."""

import json
import math
from pathlib import Path

import pytest

import holter
from holter.wandb_door.inert import Inert
from holter.wandb_door.lookup import door_module, find, is_module
from holter.wandb_door.names import MODULES, names_of, names_of_release

# How often 214 public repositories use each name, counted by machine.
USED = json.loads((Path(__file__).parent / "used_names.json").read_text())
# What is an attribute of a run, of its configuration or of its summary.
_OF_OBJECTS = ("config.", "summary.", "run.")


def is_known(name: str) -> bool:
    parts = name.split(".")[1:]
    module = "wandb"
    for place, part in enumerate(parts):
        rest = ".".join(parts[place:])
        if module == "wandb" and rest.startswith(_OF_OBJECTS):
            return not rest.startswith("run.") or part_of_run(parts[place + 1])
        if is_module(f"{module}.{part}"):
            module = f"{module}.{part}"
            continue
        try:
            find(module, part)
        except holter.NoRun:
            return True
        except AttributeError:
            return False
        return True
    return True


def part_of_run(name: str) -> bool:
    from holter.wandb_door.runs import METHODS, PROPERTIES, lacking

    return (
        hasattr(holter.Run, name) or name in {"id", "resumed"} or name in {*METHODS, *PROPERTIES} or name in lacking()
    )


def test_98_of_100_uses_are_of_names_that_are_known() -> None:
    known = sum(uses["uses"] for name, uses in USED.items() if is_known(name))
    assert known / sum(uses["uses"] for uses in USED.values()) >= 0.98


def test_every_name_that_two_repositories_use_is_known() -> None:
    assert [name for name, uses in USED.items() if uses["repositories"] >= 2 and not is_known(name)] == []


def test_so_they_are_where_holter_is_imported_as_wandb() -> None:
    tops = {name.split(".")[1] for name, uses in USED.items() if uses["repositories"] >= 2}
    assert {name for name in tops if not hasattr(holter, name)} == set()
    assert holter.api.api_key is None
    assert holter.jupyter.__name__ == "holter.jupyter"


def test_every_name_of_the_release_is_there_and_what_is_raised_can_be_caught() -> None:
    found = {
        f"{module}.{name}": getattr(door_module(module), name)
        for module, names in names_of_release().items()
        for name in names
        if (module, name) != ("wandb", "run") and not (module == "wandb" and name in ("config", "summary"))
    }
    assert len(found) > 1800
    wrong = [name for name, value in found.items() if name.endswith("Error") and not isinstance(value, type)]
    assert wrong == []
    assert found["wandb.sdk.wandb_init.UsageError"] is holter.UsageError
    assert isinstance(found["wandb.docker.run"], Inert), "not the active run"


def test_a_run_of_the_api_is_not_the_class_that_records() -> None:
    from holter.api.run import ApiRun

    wandb = door_module("wandb")
    assert issubclass(wandb.apis.public.Run, ApiRun)
    assert wandb.apis.public.runs.Run is wandb.apis.public.Run


def test_what_holter_has_is_found_under_every_name_of_it() -> None:
    wandb = door_module("wandb")
    assert wandb.Image is wandb.data_types.Image is wandb.sdk.data_types.image.Image is holter.Image
    assert wandb.plot.line is holter.plot.line
    assert wandb.wandb_run.Run is wandb.sdk.wandb_run.Run is holter.Run
    assert wandb.integrations.keras is wandb.integration.keras


def test_a_name_that_wandb_never_had_is_none() -> None:
    assert not hasattr(door_module("wandb"), "nonsense")
    assert not hasattr(holter, "nonsense")
    assert not hasattr(door_module("wandb.sdk.lib"), "nonsense")


def test_every_name_of_every_module_is_there() -> None:
    for module in MODULES:
        for name in names_of(module):
            if not (module == "wandb" and name == "run"):
                getattr(door_module(module), name)


def test_holters_own_folders_stay_what_they_are() -> None:
    import holter.api
    import holter.errors

    assert {holter.errors.__name__, holter.api.__name__} == {"holter.errors", "holter.api"}
    with pytest.raises(AttributeError):
        _ = holter.errors.nonsense
    assert issubclass(holter.errors.CommError, holter.HolterError)  # type: ignore[arg-type]  # W&B's, found when asked for


def test_an_inert_name_can_be_used_in_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    inert = Inert("wandb.Thing")

    class Child(inert):  # type: ignore[misc,valid-type]  # as programs do
        pass

    with inert(1, a=2) as inner:
        inner.x.y(3)
        inner.z = 4
        inner["k"] = inner["l"]
    assert list(Child(1)) == []
    assert (inert + 1) * 2 is inert
    assert not inert > 3
    assert [int(inert), math.isnan(float(inert)), range(inert)] == [0, True, range(0)]
    assert (inert | None, None | inert) == (inert, inert), "as types are joined"
    assert f"{inert:.3f}" == "<wandb.Thing: not supported by holter>"
    assert not isinstance(3, inert)  # type: ignore[arg-type]  # as programs do
    assert not inert
    for each in (inner.x, Child, Child(1).y):
        assert not each(2).z
    assert capsys.readouterr().err == (
        "holter: wandb.Thing is not supported and does nothing here: docs/wandb.md names what is different\n"
    )
