"""What every engine promises about media, as tests."""

from holter.storage.media import MediaEntry, MediaKey, MediaQuery
from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places
from tests.contract.port_contract import RUN, PortContract


def entry(step: int, *, key: str = "img", logged_ns: int = 1, data: bytes = b"x", kind: str = "image") -> MediaEntry:
    return MediaEntry(key=key, step=step, logged_ns=logged_ns, type=kind, data=data)


class MediaContract(PortContract):
    """One entry for each run, key and step."""

    def test_of_one_key_and_step_the_one_logged_last_holds(self, storage: Storage) -> None:
        storage.media.add(RUN, [entry(3, logged_ns=5, data=b"new"), entry(3, logged_ns=4, data=b"old")])
        assert [each.data for each in storage.media.select(RUN, MediaQuery(key="img"))] == [b"new"]
        storage.media.add(RUN, [entry(3, logged_ns=5, data=b"said again")])
        assert [each.data for each in storage.media.select(RUN, MediaQuery(key="img"))] == [b"said again"]

    def test_entries_come_by_step_and_a_part_of_them_can_be_asked_for(self, storage: Storage) -> None:
        storage.media.add(RUN, [entry(step) for step in (30, -10, 20, 0, 10)])
        storage.media.add(RUN, [entry(5, key="other")])

        def steps(query: MediaQuery) -> list[int]:
            return [each.step for each in storage.media.select(RUN, query)]

        assert steps(MediaQuery(key="img")) == [-10, 0, 10, 20, 30]
        assert steps(MediaQuery(key="img", first=0, last=20)) == [0, 10, 20]
        assert steps(MediaQuery(key="img", last=25, most=2, newest=True)) == [10, 20]
        assert steps(MediaQuery(key="img", most=2)) == [-10, 0]
        assert steps(MediaQuery(key="nothing")) == []
        assert storage.media.steps(RUN, "img") == [-10, 0, 10, 20, 30]

    def test_keys_say_what_there_is(self, storage: Storage) -> None:
        assert storage.media.keys(RUN) == []
        storage.media.add(RUN, [entry(1), entry(7, kind="video"), entry(2, key="a.b", kind="table")])
        assert storage.media.keys(RUN) == [
            MediaKey(key="a.b", type="table", steps=1, first=2, last=2),
            MediaKey(key="img", type="video", steps=2, first=1, last=7),
        ]

    def test_runs_have_nothing_of_each_other_and_a_deleted_one_is_gone(self, storage: Storage) -> None:
        storage.media.add(RUN, [entry(1)])
        storage.media.add("other", [entry(2)])
        for _ in range(2):
            storage.media.delete(RUN)
        assert storage.media.keys(RUN) == []
        assert storage.media.steps("other", "img") == [2]

    def test_who_opens_the_place_as_well_sees_them(self, storage: Storage, url: Places | str) -> None:
        if str(url).startswith("memory:"):
            return
        storage.media.add(RUN, [entry(1, data=b"\0\xff")])
        other = open_storage(url)
        assert [each.data for each in other.media.select(RUN, MediaQuery(key="img"))] == [b"\0\xff"]
        other.close()
