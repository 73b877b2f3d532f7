"""Keys of servers: kept for their owner only, and used where nothing else is said."""

import stat
from pathlib import Path

import msgspec
import pytest

from holter.errors import UsageError
from holter.recording.login import (
    chosen_upload,
    find_upload,
    forget_login,
    read_logins,
    save_login,
    source_of_server,
)
from holter.recording.settings import Settings, read_settings
from holter.recording.spawning import with_told_key
from holter.wire.way_back import Upload, Watch


def test_a_key_is_kept_for_its_owner_and_forgotten(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    save_login(data, "https://one", key="k1")
    save_login(data, "https://two", key="k2")
    assert stat.S_IMODE((tmp_path / "data" / "login.json").stat().st_mode) == 0o600
    assert (read_logins(data).url, read_logins(data).keys) == (
        "https://two",
        {"https://one": "k1", "https://two": "k2"},
    )
    assert forget_login(data, "https://two")
    assert not forget_login(data, "https://two")
    assert (read_logins(data).url, read_logins(data).keys) == ("", {"https://one": "k1"})


def test_a_run_goes_to_the_server_that_was_chosen_or_logged_in_to(tmp_path: Path) -> None:
    data = str(tmp_path)
    assert find_upload(Settings(dir=data)) is None
    assert find_upload(Settings(dir=data, url="http://127.0.0.1:1", api_key="k")) == Upload(
        url="http://127.0.0.1:1", key="k"
    )
    save_login(data, "https://one", key="k1")
    assert find_upload(Settings(dir=data)) == Upload(url="https://one", key="k1")
    assert find_upload(Settings(dir=data, url="https://other")) == Upload(url="https://other", key="")
    assert find_upload(Settings(dir=data, mode="offline")) is None


class TestOfACheckout:
    """A `holter.toml` that came with somebody's repository."""

    def settings(self, folder: Path, toml: str, **environ: str) -> Settings:
        (folder / "holter.toml").write_text(toml)
        return read_settings({}, {"HOLTER_DIR": str(folder / "data"), **environ}, directory=str(folder))

    def test_our_key_is_not_sent_to_the_server_that_it_names(self, tmp_path: Path) -> None:
        settings = self.settings(tmp_path, 'url = "https://theirs"', HOLTER_API_KEY="ours")
        with pytest.raises(UsageError, match="HOLTER_API_KEY is not sent to https://theirs") as refused:
            find_upload(settings)
        assert "`holter login https://theirs`" in str(refused.value)
        assert "ours" not in str(refused.value)
        said: list[str] = []
        assert chosen_upload(settings, complain=lambda cause, text: said.append(text)) is None
        assert said == [f"{refused.value}; the run is recorded here, and not sent"]

    def test_the_key_goes_there_that_was_given_for_it(self, tmp_path: Path) -> None:
        save_login(str(tmp_path / "data"), "https://theirs", key="given")
        settings = self.settings(tmp_path, 'url = "https://theirs"', HOLTER_API_KEY="ours")
        assert find_upload(settings) == Upload(url="https://theirs", key="given")

    def test_both_from_the_environment_win(self, tmp_path: Path) -> None:
        settings = self.settings(tmp_path, 'url = "https://theirs"', HOLTER_URL="https://us", HOLTER_API_KEY="ours")
        assert find_upload(settings) == Upload(url="https://us", key="ours")

    def test_its_own_key_may_go_to_its_own_server(self, tmp_path: Path) -> None:
        settings = self.settings(tmp_path, 'url = "https://theirs"\napi_key = "theirs"')
        assert find_upload(settings) == Upload(url="https://theirs", key="theirs")

    def test_a_login_that_it_brings_along_is_none_of_ours(self, tmp_path: Path) -> None:
        save_login(str(tmp_path / "repository"), "https://theirs", key="theirs")
        (tmp_path / "holter.toml").write_text(f'dir = "{tmp_path / "repository"}"')
        settings = read_settings({}, {"HOLTER_API_KEY": "ours"}, directory=str(tmp_path))
        with pytest.raises(UsageError, match="HOLTER_API_KEY is not sent to https://theirs"):
            find_upload(settings)


@pytest.mark.parametrize(
    ("arguments", "environ", "source"),
    [
        ({}, {}, "holter.toml"),
        ({}, {"HOLTER_URL": "https://us"}, "HOLTER_URL"),
        ({"url": "https://us"}, {"HOLTER_URL": "https://other"}, "an argument"),
    ],
)
def test_it_is_known_where_the_server_was_named(
    tmp_path: Path, arguments: dict[str, str], environ: dict[str, str], source: str
) -> None:
    (tmp_path / "holter.toml").write_text('url = "https://theirs"')
    assert source_of_server(read_settings(arguments, environ, directory=str(tmp_path))) == source
    assert source_of_server(read_settings({}, {})) == "holter login"


@pytest.mark.parametrize("url", ["example.org", "https://me:secret@example.org", "ftp://example.org", "https://a b"])
def test_an_address_that_can_not_work_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_settings({}, {"HOLTER_URL": url})
    assert "secret" not in str(refused.value)


def test_a_sidecar_gets_its_key_by_a_variable() -> None:
    watch = Watch(run="r", directory="d", journal="j", pid=1, process_started=1, upload=Upload(url="https://one"))
    told = with_told_key(watch, {"HOLTER_API_KEY": "k"})
    assert told == msgspec.structs.replace(watch, upload=Upload(url="https://one", key="k"))
