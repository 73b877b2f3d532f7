"""What a request must be like before anybody looks at what it asks for."""

import pytest

from holter.errors import Refused
from holter.server.security.gate import check_content, check_host, check_origin


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:4658",
        "localhost",
        "LOCALHOST:80",
        "[::1]:4658",
        "192.168.1.7:4658",
        "holter.example.com",
        "gpu7:4658",
    ],
)
def test_loopback_addresses_and_allowed_names_are_answered(host: str) -> None:
    check_host(host, {"holter.example.com", "gpu7"})


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "gpu7.evil"]
)
def test_other_names_are_not(host: str) -> None:
    with pytest.raises(Refused) as refused:
        check_host(host, {"gpu7"})
    assert refused.value.status == 421


def test_reading_needs_no_origin() -> None:
    check_origin("GET", {"host": "localhost", "origin": "http://evil.example"})


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:4658"},
        {"host": "localhost:4658", "origin": "http://localhost:4658"},
        {"host": "holter.example.com", "origin": "https://holter.example.com"},
        {"host": "localhost:4658", "sec-fetch-site": "same-origin"},
    ],
)
def test_our_own_page_and_programs_may_write(headers: dict[str, str]) -> None:
    check_origin("POST", headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:4658", "origin": "http://localhost:8888"},
        {"host": "localhost:4658", "origin": "null"},
        {"host": "localhost:4658", "origin": ""},
        {"host": "localhost:4658", "sec-fetch-site": "same-site"},
        {"host": "", "origin": "null"},
    ],
)
def test_other_pages_may_not(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        check_origin("DELETE", headers)
    assert refused.value.status == 403


def test_forms_of_other_pages_have_the_wrong_type() -> None:
    check_content("POST", {"content-type": "application/json; charset=utf-8"}, accepted={"application/json"})
    for sent in ({}, {"content-type": "text/plain"}, {"content-type": "multipart/form-data"}):
        with pytest.raises(Refused) as refused:
            check_content("POST", sent, accepted={"application/json"})
        assert refused.value.status == 415
