"""What every engine promises about settings, as tests."""

import threading

import pytest

from holter.errors import UsageError
from holter.storage.opening import Storage
from holter.storage.settings import MOST_BYTES
from tests.contract.port_contract import PortContract


class SettingsContract(PortContract):
    """Sets of short texts, for an owner in a project."""

    def test_only_what_is_named_changes(self, storage: Storage) -> None:
        storage.settings.merge("vision", "ada", changes={"now": {"sort": "name", "x": "time"}, "other": {"a": "1"}})
        told = storage.settings.merge("vision", "ada", changes={"now": {"x": None, "group": "lr"}})
        assert told == {"now": {"sort": "name", "group": "lr"}, "other": {"a": "1"}}
        assert storage.settings.get("vision", "ada") == told

    def test_a_set_goes_as_a_whole_and_what_is_not_there_can_go_again(self, storage: Storage) -> None:
        storage.settings.merge("vision", "ada", changes={"now": {"sort": "name"}, "other": {"a": "1"}})
        for _ in range(2):
            assert storage.settings.merge("vision", "ada", changes={"now": None, "other": {"b": None}}) == {
                "other": {"a": "1"}
            }

    def test_projects_and_owners_have_nothing_of_each_other(self, storage: Storage) -> None:
        storage.settings.merge("vision", "ada", changes={"now": {"sort": "ada's"}})
        storage.settings.merge("vision", "bob", changes={"now": {"sort": "bob's"}})
        storage.settings.merge("text", "ada", changes={"now": {"sort": "text"}})
        assert storage.settings.get("vision", "ada") == {"now": {"sort": "ada's"}}
        assert storage.settings.get("vision", "nobody") == {}

    def test_all_who_have_set_something_are_known(self, storage: Storage) -> None:
        assert storage.settings.owners() == []
        for project, owner in (("vision", "bob"), ("text", "ada"), ("vision", "ada"), ("vision", "ada")):
            storage.settings.merge(project, owner, changes={"now": {"sort": "name"}})
        assert storage.settings.owners() == [("text", "ada"), ("vision", "ada"), ("vision", "bob")]

    def test_what_somebody_does_with_an_answer_changes_nothing(self, storage: Storage) -> None:
        storage.settings.merge("vision", "ada", changes={"now": {"sort": "name"}})["now"]["sort"] = "changed"
        storage.settings.get("vision", "ada").clear()
        assert storage.settings.get("vision", "ada") == {"now": {"sort": "name"}}

    def test_what_is_too_much_is_refused_as_a_whole_and_can_become_less(self, storage: Storage) -> None:
        text = "ü" * (MOST_BYTES // 2 - 10)
        storage.settings.merge("vision", "ada", changes={"now": {"text": text}})
        with pytest.raises(UsageError, match="there is room for"):
            storage.settings.merge(
                "vision", "ada", changes={"now": {"text": text + "twenty more letters", "sort": "name"}}
            )
        assert storage.settings.get("vision", "ada") == {"now": {"text": text}}
        assert storage.settings.merge("vision", "ada", changes={"now": {"text": "short"}}) == {"now": {"text": "short"}}

    def test_of_many_at_once_each_setting_is_there(self, storage: Storage) -> None:
        def change(who: int) -> None:
            for number in range(5):
                storage.settings.merge("vision", "ada", changes={"now": {f"{who}-{number}": "set"}})

        threads = [threading.Thread(target=change, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(storage.settings.get("vision", "ada")["now"]) == 20
