"""Under which name people act."""

import os

import pytest

from holter.catalog.change.user_name import user_name


def test_a_user_without_a_name_acts_under_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    assert user_name() == "54321"


def test_a_user_acts_under_the_name_of_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    assert user_name() == "ada"
