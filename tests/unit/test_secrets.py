"""What is recognised as a secret, and what only looks like one."""

import pytest

from holter.model.secret_names import tells_of_secret
from holter.model.secrets import mask, mask_arguments, mask_value, masked, masked_patch
from tests.innocent_lines import LINES
from tests.secret_samples import BY_KIND, SAMPLES, Sample, leaks


@pytest.mark.parametrize(
    "name",
    [
        "HOLTER_API_KEY",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "HF_TOKEN",
        "SLURM_JWT",
        "MLFLOW_TRACKING_PASSWORD",
        "--api-key",
        "--apikey",
        "db.password",
        "+db.password",
        "--hub_token",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ],
)
def test_a_name_tells_of_a_secret(name: str) -> None:
    assert tells_of_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "--tokenizer",
        "--max-tokens",
        "--max_token",
        "--eos_token",
        "pad-token",
        "OMP_NUM_THREADS",
        "--key",
        "monkey",
        "lr",
    ],
)
def test_a_name_that_only_looks_like_one_does_not(name: str) -> None:
    assert not tells_of_secret(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://ada:pw@host/x", "https://…@host/x"),
        ("https://token@host/x?y=a@b", "https://…@host/x?y=a@b"),
        ("postgresql://u:p@ss@db/runs", "postgresql://…@db/runs"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("key=sk-abcdefghijklmnopqrstuvwx", "key=…"),
        ("hf_abcdefghijklmnopqrstuvwx", "…"),
        ("AKIAIOSFODNN7EXAMPLE and more", "… and more"),
        ("Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: Bearer …"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nb",
            "a\n-----BEGIN RSA PRIVATE KEY-----…-----END RSA PRIVATE KEY-----\nb",
        ),
        ("8f1b6d6ae680", "8f1b6d6ae680"),
        ("/home/ada/runs/sk-short", "/home/ada/runs/sk-short"),
    ],
)
def test_what_has_the_shape_of_a_secret_is_masked_in_a_text(text: str, expected: str) -> None:
    assert mask(text) == expected


@pytest.mark.parametrize(
    ("value", "is_masked"),
    [
        ("0123456789abcdef0123456789abcdef01234567", True),
        ("wJalrXUtnFEMIbK7MDENGbPxRfiCYEXAMPLEKEY1", True),
        ("/usr/local/cuda-12.8/lib64:/usr/lib/x86_64-linux-gnu/Release3", False),
        ("--xla_gpu_enable_triton_softmax_fusion=true", False),
        ("expandable_segments:True,max_split_size_mb:512", False),
        ("GPU-5a1c4d83-0d0c-1a9c-9a3a-2c6e4b5f7a10", False),
        ("4,5,6,7", False),
    ],
)
def test_one_long_word_that_nobody_would_write_is_masked(value: str, is_masked: bool) -> None:
    assert (mask_value(value) == "…") == is_masked


def test_the_value_of_a_secret_argument_is_masked_wherever_it_stands() -> None:
    arguments = ["train.py", "--token", "abc", "--lr", "0.1", "--api-key=x", "+db.password=y", "--url=https://a:b@c/d"]
    expected = ["train.py", "--token", "…", "--lr", "0.1", "--api-key=…", "+db.password=…", "--url=https://…@c/d"]
    assert mask_arguments(arguments) == expected


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
        (b"https://user:secret@host/x", b"https://***********@host/x"),
        (b"postgres://u:p4ss@db", b"postgres://******@db"),
        (b"https://0123456789@host", b"https://**********@host"),
        (b"pypi-" + b"A" * 60, b"*" * 65),
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


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (b"password = 'hunter2'", b"password = '*******'"),
        (b'password: str = "hunter2"', b'password: str = "*******"'),
        (b'os.environ["MY_TOKEN"] = "abcdefgh01234567"', b'os.environ["MY_TOKEN"] = "****************"'),
        (b"client = Client('hf_abcdefghijklmnopqrstuvwxyz')", b"client = Client('*****************************')"),
        (b"password = args.password", b"password = args.password"),
        (b"token = model.layers_12.attention", b"token = model.layers_12.attention"),
        (b"f'password={password}'", b"f'password={password}'"),
    ],
)
def test_in_code_a_name_tells_of_a_secret_only_where_quotes_are(text: bytes, hidden: bytes) -> None:
    assert masked(text, is_code=True) == hidden


def test_of_a_patch_only_what_is_python_is_code() -> None:
    python = b"diff --git a/train.py b/train.py\n+password = ask()\n+token = 'abcdefgh01234567'\n"
    settings = b"diff --git a/.env b/.env\n+PASSWORD=hunter2\n"
    hidden = python.replace(b"abcdefgh01234567", b"*" * 16) + settings.replace(b"hunter2", b"*******")
    assert masked_patch(python + settings) == hidden


def test_at_least_sixty_kinds_are_tried() -> None:
    assert len({sample.kind for sample in SAMPLES}) >= 60


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_every_kind_of_secret_is_found_wherever_it_stands(sample: Sample) -> None:
    before = [b"", b"\x1b[31m", b'{"text": "', b"a line\r\n", b"x" * 5000 + b" "]
    shown = [masked(each + sample.text.encode() + b"\n").decode() for each in before]
    assert [text for text in shown if leaks(sample, text)] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_every_kind_of_secret_is_found_in_a_repr(sample: Sample) -> None:
    assert not leaks(sample, mask(f"failed with {sample.text!r}"))
    assert not leaks(sample, mask(repr(f"failed\n{sample.text}\nat once")))


def test_of_real_lines_without_secrets_at_most_one_in_a_hundred_is_changed() -> None:
    changed = [line for line in LINES if mask(line) != line]
    assert len(LINES) >= 500
    assert len(changed) <= len(LINES) // 100, changed


@pytest.mark.parametrize("columns", [64, 70])
def test_the_rest_of_a_private_key_is_masked_where_its_beginning_is_elsewhere(columns: int) -> None:
    lines = BY_KIND["RSA PRIVATE KEY" if columns == 64 else "OPENSSH PRIVATE KEY"].text.splitlines()[8:]
    rest = masked("\n".join(lines).encode()).decode().splitlines()
    assert [line for line in rest if "*" not in line] == [lines[-1]]


@pytest.mark.parametrize(
    "name",
    [
        "apiKey",
        "dbPassword",
        "accessToken",
        "OPENAI_KEY",
        "smtp_pass",
        "secrets.wandb",
        "model.hub_token",
        "JWT",
        "cookie",
    ],
)
def test_a_name_tells_of_a_secret_in_any_case(name: str) -> None:
    assert tells_of_secret(name)


@pytest.mark.parametrize(
    "name", ["maxTokens", "eosToken", "sortKey", "forward_pass", "password_file", "keyDim", "author"]
)
def test_a_name_in_any_case_that_only_looks_like_one_does_not(name: str) -> None:
    assert not tells_of_secret(name)
