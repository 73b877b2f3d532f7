"""The proxy on the way, as the environment names it."""

import pytest

from holter.errors import Unreachable
from holter.wire.proxies import Proxy, find_proxy


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_without_a_variable_there_is_none() -> None:
    assert find_proxy("https", "example.org", 443) is None


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy"])
def test_each_scheme_has_its_own(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "http://proxy.example.org:3128")
    assert find_proxy("https", "example.org", 443) == Proxy("proxy.example.org", 3128)
    monkeypatch.setenv("http_proxy", "other:8080")
    assert find_proxy("http", "example.org", 80) == Proxy("other", 8080)


@pytest.mark.parametrize("excepted", ["example.org", ".example.org", "a.test, holter.example.org:443", "*"])
def test_some_hosts_need_none(monkeypatch: pytest.MonkeyPatch, excepted: str) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", excepted)
    assert find_proxy("https", "holter.example.org", 443) is None
    assert (find_proxy("https", "example.com", 443) is None) == (excepted == "*")


def test_a_user_and_a_password_become_the_header_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://ann:p%40ss@proxy:3128")
    assert find_proxy("https", "example.org", 443) == Proxy("proxy", 3128, "Basic YW5uOnBAc3M=")


@pytest.mark.parametrize("url", ["socks5://proxy:1080", "https://proxy:443", "http://:80", "http://proxy:99999"])
def test_a_proxy_of_another_kind_is_told_without_its_secrets(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("https_proxy", url.replace("://", "://ann:secret@"))
    with pytest.raises(Unreachable, match=r"no_proxy=example\.org goes around it") as refused:
        find_proxy("https", "example.org", 443)
    assert "secret" not in str(refused.value)
