"""The file `alerts.toml`, and what it may have."""

from pathlib import Path

import pytest

from holter.alerts.file import FILE, read_file
from holter.errors import UsageError

MAIL = '[[target]]\nkind = "email"\nhost = "m"\n'


def write(directory: Path, text: str) -> None:
    (directory / FILE).write_text(text)


def test_without_a_file_nobody_is_told(tmp_path: Path) -> None:
    assert read_file(str(tmp_path)).target == ()


def test_each_kind_can_be_written_down(tmp_path: Path) -> None:
    webs = "".join(
        f'[[target]]\nkind = "{kind}"\nurl = "https://example.org/hook"\n'
        for kind in ("slack", "discord", "teams", "json", "ntfy")
    )
    mail = '[[target]]\nkind = "email"\nhost = "localhost"\nsender = "a@b.c"\nto = ["d@e.f"]\n'
    write(
        tmp_path, webs + mail + '[[target]]\nkind = "command"\ncommand = ["notify-send", "{title}"]\non = ["death"]\n'
    )
    assert [each.kind for each in read_file(str(tmp_path)).target] == [
        *("slack", "discord", "teams", "json", "ntfy", "email", "command")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[target]", "can't be read"),
        ('[[target]]\nkind = "pager"', "it is one of command, discord, email, json, ntfy, slack, teams"),
        ('[[target]]\nkind = "slack"', "url must be the address that slack gave you"),
        ('[[target]]\nkind = "slack"\nurl = "file:///etc/passwd"', "url must be the address"),
        ('[[target]]\nkind = "slack"\nurl = "https://a.b/c"\non = ["crash"]', "on has 'crash'"),
        ('[[target]]\nkind = "command"', "command must be a list"),
        ('[[target]]\nkind = "email"\nhost = "mail"', "a mail needs host, sender and to"),
        (
            '[[target]]\nkind = "email"\nhost = "m"\nsender = "a@b\\nBcc: c@d"\nto = ["x@y"]',
            "must be addresses of mail",
        ),
        ('[[target]]\nkind = "json"\nurll = "https://a.b/SECRET"', "unknown field `urll`"),
    ],
)
def test_what_cannot_work_is_refused_and_no_secret_is_repeated(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UsageError, match=said) as refused:
        read_file(str(tmp_path))
    assert "SECRET" not in str(refused.value)
