"""Which of the bytes that programs print are nobody's business."""

import pytest

from holter.console.secrets import masked

KEY = b"-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\nabc+/9\n-----END RSA PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (b"key AKIAIOSFODNN7EXAMPLE.", b"key ********************."),
        (b"ghp_0123456789abcdefghijABCDEFGHIJ012345", b"*" * 40),
        (b"token hf_abcdefghijklmnopqrstuvwxyz", b"token *****************************"),
        (b"sk-proj-0123456789abcdefghij", b"*" * 28),
        (b"xoxb-123456789012-abc", b"*" * 21),
        (b"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", b"WANDB_API_KEY=" + b"*" * 40),
        (b"wandb login 0123456789abcdef0123456789abcdef01234567", b"wandb login " + b"*" * 40),
        (b"password=hunter2 next", b"password=******* next"),
        (b"{'password': 'hunter2'}", b"{'password': '*******'}"),
        (b"Authorization: Bearer abcdefgh12345678", b"Authorization: Bearer ****************"),
        (b"https://user:secret@host/x", b"https://user:******@host/x"),
        (b"postgres://u:p4ss@db", b"postgres://u:****@db"),
        (b'api_key: "abcdef0123456789xyz"', b'api_key: "*******************"'),
        (KEY, b"-----BEGIN RSA PRIVATE KEY-----\n********\n******\n-----END RSA PRIVATE KEY-----\n"),
    ],
)
def test_secrets_become_stars_of_the_same_length(text: bytes, hidden: bytes) -> None:
    assert masked(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        b"commit 0123456789abcdef0123456789abcdef01234567",
        b"eos_token: </s> pad_token=<pad> tokens: 1024 max_token=512",
        b"tokens per second: 12345.678",
        b"key=value secret=none",
        b"step 1 loss 0.123 | git@github.com:a/b.git https://host/path",
        b"the password is wrong",
        b"wandb: Run data is saved locally",
    ],
)
def test_what_only_looks_like_one_stays(text: bytes) -> None:
    assert masked(text) == text
