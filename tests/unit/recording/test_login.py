"""Keys of servers: kept for their owner only, and used where nothing else is said."""

import stat
from pathlib import Path

import msgspec
import pytest

from holter.errors import UsageError
from holter.recording.login import find_upload, forget_login, read_logins, save_login
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


@pytest.mark.parametrize("url", ["example.org", "https://me:secret@example.org", "ftp://example.org", "https://a b"])
def test_an_address_that_can_not_work_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_settings({}, {"HOLTER_URL": url})
    assert "secret" not in str(refused.value)


def test_a_sidecar_gets_its_key_by_a_variable() -> None:
    watch = Watch(run="r", directory="d", journal="j", pid=1, process_started=1, upload=Upload(url="https://one"))
    told = with_told_key(watch, {"HOLTER_API_KEY": "k"})
    assert told == msgspec.structs.replace(watch, upload=Upload(url="https://one", key="k"))
