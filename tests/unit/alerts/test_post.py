"""Where a server may send to, and what a message looks like on its way."""

import pytest

from holter.alerts.channels.ntfy import _header
from holter.alerts.message import ERROR, Message
from holter.alerts.post import is_public


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_the_internet_may_be_reached(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
        ),
        *("::1", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "::"),
        *("2002:7f00:1::", "ff02::1"),
    ],
)
def test_the_inside_of_the_network_may_not(address: str) -> None:
    assert not is_public(address)


def test_a_message_is_one_line_and_what_follows() -> None:
    message = Message(kind="alert", run="abc", project="mnist", name="calm-fox", title="loss\nis\tNaN", level=ERROR)
    assert message.head == "mnist/calm-fox: loss is NaN"
    assert message.body == "holter show abc"


def test_a_header_has_no_second_line_whatever_people_write() -> None:
    assert _header("a\r\nX-Evil: 1") == "a  X-Evil: 1"
    assert _header("größer") == "=?UTF-8?B?Z3LDtsOfZXI=?="
