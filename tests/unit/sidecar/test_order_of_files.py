"""In which order the files of a run are sent."""

from holter.sidecar.file_sending import _in_order


def test_media_come_last_and_of_those_the_newest_first() -> None:
    files = [("config.yaml", (1, 5)), ("media/a.png", (1, 1)), ("media/b.png", (1, 3)), ("script.py", (1, 9))]
    assert [name for name, _ in _in_order(files)] == ["config.yaml", "script.py", "media/b.png", "media/a.png"]
