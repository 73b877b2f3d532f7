"""Rules come from the folder, and from whoever offers some."""

import importlib.metadata
import types
from pathlib import Path
from typing import Any

import pytest

from holter.diagnosis import loading


class Offer:
    """An entry point of somebody else's package."""

    def __init__(self, name: str, module: types.ModuleType | None) -> None:
        self.name = name
        self.value = f"theirs.rules.{name}"
        self._module = module

    def load(self) -> types.ModuleType:
        if self._module is None:
            raise ImportError("no such thing")
        return self._module


def module_of(doc: str, **names: Any) -> types.ModuleType:
    module = types.ModuleType("theirs.rules.cooling_failed", doc)
    module.__dict__.update(diagnose=lambda _: None, **names)
    return module


def load_with(monkeypatch: pytest.MonkeyPatch, *offers: Offer) -> tuple[loading.Rule, ...]:
    monkeypatch.setattr(loading, "_offers", lambda place: True)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: list(offers))
    return loading.load_rules.__wrapped__()


def test_a_rule_is_named_after_its_file() -> None:
    [found] = [rule for rule in loading.load_rules() if rule.module.endswith(".disk_full")]
    assert found.cause == "disk-full"
    assert found.explanation.startswith("A file system that the program writes to is full")
    assert found.remedy.startswith("Free space")
    assert not found.contributes


def test_rules_are_sorted_by_their_causes() -> None:
    causes = [rule.cause for rule in loading.load_rules()]
    assert causes == sorted(causes)
    assert len(set(causes)) == len(causes)


def test_others_may_offer_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = Offer("cooling_failed", module_of("It got hot.\n\nCool it.", OF_THE_LIVING=True))
    [found] = [rule for rule in load_with(monkeypatch, offer) if rule.cause == "cooling-failed"]
    assert (found.explanation, found.remedy, found.is_of_the_living) == ("It got hot.", "Cool it.", True)


def test_a_rule_of_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = '''"""It got hot.\n\nCool it."""'''
    (tmp_path / "theirs.py").write_text(f"{doc}\ndef diagnose(evidence): ...\n")
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[holter.rules]\ncooling_failed = theirs\n")
    assert "cooling-failed" not in {rule.cause for rule in loading.load_rules.__wrapped__()}
    monkeypatch.syspath_prepend(str(tmp_path))
    [found] = [rule for rule in loading.load_rules.__wrapped__() if rule.cause == "cooling-failed"]
    assert (found.explanation, found.remedy) == ("It got hot.", "Cool it.")


def test_nobody_replaces_a_rule_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = load_with(monkeypatch, Offer("disk_full", module_of("Mine.\n\nMine.")))
    assert [rule.explanation for rule in rules if rule.cause == "disk-full"] != ["Mine."]


def test_a_rule_that_cannot_be_loaded_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning, match="'broken' of theirs.rules.broken could not be loaded: no such thing"):
        rules = load_with(monkeypatch, Offer("broken", None))
    assert "broken" not in {rule.cause for rule in rules}
