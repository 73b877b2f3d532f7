"""The server's stderr: a message once, then how often, and a bounded number of different ones."""

import logging

from holter.server.process.complaints import AGAIN_S, MOST_CHARACTERS, MOST_TEXTS, ComplainingHandler, Complaints


class Listener:
    """A terminal, and a clock."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.complaints = Complaints(self.lines.append, lambda: self.now)


def test_what_comes_again_is_counted_and_told_a_minute_later() -> None:
    heard = Listener()
    for _ in range(1000):
        heard.complaints.say("the disk is slow")
    assert heard.lines == ["holter: the disk is slow\n"]
    heard.now = AGAIN_S
    heard.complaints.say("the disk is slow")
    assert heard.lines[1:] == ["holter: the disk is slow (999 times more in the last minutes)\n"]


def test_however_much_there_is_to_say_little_is_written() -> None:
    heard = Listener()
    for number in range(10_000):
        heard.complaints.say(f"{number} " + "x" * 100_000)
    assert len(heard.lines) == MOST_TEXTS + 1
    assert heard.lines[-1] == "holter: more went wrong than is written here; left out so far: 1\n"
    assert max(map(len, heard.lines)) < MOST_CHARACTERS + 100
    heard.now = AGAIN_S
    heard.complaints.say("new")
    assert heard.lines[-1] == "holter: new\n"


def test_what_libraries_log_goes_the_same_way() -> None:
    heard = Listener()
    logger = logging.getLogger("some library")
    handler = ComplainingHandler(heard.complaints)
    logger.addHandler(handler)
    for _ in range(5):
        logger.error("accept() failed")
        logger.info("no news")
    logger.removeHandler(handler)
    assert heard.lines == ["holter: accept() failed\n"]
