"""Secrets of every kind that we know, put together from parts: none opens anything, and none stands in a file."""

import random
import string
from typing import NamedTuple

HEX = string.digits + "abcdef"
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BASE32 = string.ascii_uppercase + "234567"
UPPER = string.ascii_uppercase + string.digits


class Sample(NamedTuple):
    """A text as people print it, and what of it nobody else may see."""

    kind: str
    text: str
    secret: str


class _Maker:
    """Makes parts of secrets; the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, count: int) -> str:
        """Letters as a service would draw them: of a long alphabet, some of each kind."""
        while True:
            drawn = "".join(self._random.choice(alphabet) for _ in range(count))
            kinds = [
                kind
                for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits)
                if {*kind} & {*alphabet}
            ]
            if count < 16 or all({*kind} & {*drawn} for kind in kinds):
                return drawn


# What stands before `{}` and behind it is how it is printed; the parts of a secret are put together when it is made.
_PREFIXED: dict[str, tuple[str, str, int]] = {
    "holter": ("h" + "k_0a1b2c3d_", URLSAFE, 43),
    "aws access key": ("AK" + "IA", BASE32, 16),
    "aws temporary access key": ("AS" + "IA", BASE32, 16),
    "aws session token": ("IQo" + "Jb3JpZ2lu", BASE64, 240),
    "github personal": ("gh" + "p_", ALNUM, 36),
    "github oauth": ("gh" + "o_", ALNUM, 36),
    "github server": ("gh" + "s_", ALNUM, 36),
    "github fine-grained": ("github" + "_pat_", ALNUM, 82),
    "gitlab": ("gl" + "pat-", URLSAFE, 20),
    "gitlab deploy": ("gl" + "dt-", URLSAFE, 20),
    "gitlab runner": ("gl" + "rt-", URLSAFE, 20),
    "hugging face": ("h" + "f_", ALNUM, 34),
    "hugging face organisation": ("api" + "_org_", ALNUM, 34),
    "openai": ("sk" + "-", ALNUM, 48),
    "openai project": ("sk" + "-proj-", URLSAFE, 120),
    "anthropic": ("sk" + "-ant-api03-", URLSAFE, 93),
    "openrouter": ("sk" + "-or-v1-", HEX, 64),
    "groq": ("gs" + "k_", ALNUM, 52),
    "replicate": ("r" + "8_", ALNUM, 37),
    "perplexity": ("pp" + "lx-", ALNUM, 48),
    "xai": ("xa" + "i-", ALNUM, 80),
    "together": ("tg" + "p_v1_", URLSAFE, 43),
    "nvidia": ("nv" + "api-", URLSAFE, 64),
    "google api": ("AI" + "za", URLSAFE, 35),
    "google oauth": ("ya" + "29.", URLSAFE, 120),
    "google client": ("GOC" + "SPX-", URLSAFE, 28),
    "slack bot": ("xo" + "xb-", string.digits, 12),
    "slack app": ("xa" + "pp-1-", UPPER, 60),
    "stripe live": ("sk" + "_live_", ALNUM, 24),
    "stripe test": ("sk" + "_test_", ALNUM, 99),
    "stripe restricted": ("rk" + "_live_", ALNUM, 24),
    "stripe webhook": ("wh" + "sec_", ALNUM, 32),
    "mailgun": ("key" + "-", HEX, 32),
    "twilio": ("S" + "K", HEX, 32),
    "digitalocean": ("dop" + "_v1_", HEX, 64),
    "heroku": ("HR" + "KU-", URLSAFE, 60),
    "netlify": ("nf" + "p_", ALNUM, 36),
    "npm": ("np" + "m_", ALNUM, 36),
    "pypi": ("py" + "pi-AgEIcHlwaS5vcmc", URLSAFE, 120),
    "rubygems": ("ruby" + "gems_", HEX, 48),
    "crates.io": ("ci" + "o", ALNUM, 32),
    "docker hub": ("dckr" + "_pat_", URLSAFE, 27),
    "databricks": ("da" + "pi", HEX, 32),
    "shopify": ("sh" + "pat_", HEX, 32),
    "square": ("sq" + "0csp-", URLSAFE, 43),
    "linear": ("lin" + "_api_", ALNUM, 40),
    "notion": ("nt" + "n_", ALNUM, 46),
    "figma": ("fi" + "gd_", URLSAFE, 40),
    "atlassian": ("ATA" + "TT3xFfGF0", URLSAFE, 180),
    "dropbox": ("s" + "l.", URLSAFE, 136),
    "grafana service": ("gl" + "sa_", ALNUM, 32),
    "grafana cloud": ("gl" + "c_", ALNUM, 64),
    "new relic": ("NR" + "AK-", UPPER, 27),
    "sentry user": ("snt" + "ryu_", HEX, 64),
    "vault": ("hv" + "s.", URLSAFE, 90),
    "pulumi": ("pu" + "l-", HEX, 40),
    "doppler": ("d" + "p.pt.", ALNUM, 43),
    "age": ("AGE-SECRET" + "-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "wandb": ("wan" + "db_v1_", ALNUM, 60),
    "kaggle": ("KG" + "AT_", HEX, 32),
    "langsmith": ("ls" + "v2_pt_", HEX, 32),
    "pinecone": ("pc" + "sk_", ALNUM, 60),
    "supabase": ("sb" + "p_", HEX, 40),
    "planetscale": ("psc" + "ale_pw_", ALNUM, 43),
    "neptune": ("eyJhcG" + "lfYWRkcmVzcyI6", BASE64, 120),
    "prefect": ("pn" + "u_", ALNUM, 36),
    "runpod": ("rp" + "a_", UPPER, 42),
    "sonarqube": ("sq" + "u_", HEX, 40),
    "buildkite": ("bk" + "ua_", HEX, 40),
    "terraform": ("AbCd3fGh1jKlMn.atlas" + "v1.", ALNUM, 67),
    "postman": ("PM" + "AK-", HEX, 59),
    "tavily": ("tv" + "ly-", ALNUM, 32),
    "azure devops": ("", ALNUM, 76),
}
_SUFFIX = {"azure devops": "AZ" + "DO" + "aB1c"}

# By what stands around them. `{}` is the secret.
_AROUND: dict[str, tuple[str, str, int]] = {
    "azure storage": ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core", BASE64, 86),
    "azure bus": ("Endpoint=sb://x.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}=", BASE64, 43),
    "azure signature": ("https://a.blob.core.windows.net/c/f.pt?sv=2024-11-04&sig={}%3D&se=2026", ALNUM, 43),
    "aws secret with its name": ("aws_secret_access_key = {}", BASE64, 40),
    "password assigned": ("password={}", ALNUM, 9),
    "password in a dict": ("{{'user': 'ada', 'password': '{}'}}", ALNUM, 9),
    "password option": ("starting worker --user ada --password {} --lr 0.1", ALNUM, 9),
    "passphrase": ("passphrase: {}", ALNUM, 12),
    "pass": ("connecting with user=ada pass={} to db", ALNUM, 12),
    "database variable": ("PGPASSWORD={} psql -h db", ALNUM, 9),
    "user of curl": ("+ curl -s -u ada:{} https://example.org/data.tar", ALNUM, 10),
    "user of wget": ("wget --user=ada --password={} https://example.org/data.tar", ALNUM, 10),
    "netrc": ("machine example.org login ada password {}", ALNUM, 12),
    "bearer": ("Authorization: Bearer {}", URLSAFE, 40),
    "basic": ("Authorization: Basic {}", ALNUM, 24),
    "authorization token": ("'Authorization': 'Token {}'", HEX, 40),
    "key header": ("X-Api-Key: {}", ALNUM, 32),
    "api key": ('api_key: "{}"', ALNUM, 32),
    "token": ("token={}", ALNUM, 24),
    "token option": ("python train.py --hub-token {} --epochs 3", ALNUM, 24),
    "client secret": ("client_secret={}", URLSAFE, 40),
    "credentials": ("credentials = '{}'", ALNUM, 32),
    "address of a database": ("postgresql://ada:{}@db:5432/runs", ALNUM, 12),
    "address with a token": ("pip install git+https://{}@github.com/ada/x.git", ALNUM, 24),
    "wandb login": ("wandb login {}", HEX, 40),
    "cookie": ("Set-Cookie: session={}; HttpOnly", URLSAFE, 48),
}


def _prefixed(kind: str) -> Sample:
    prefix, alphabet, count = _PREFIXED[kind]
    secret = prefix + _Maker(kind).of(alphabet, count) + _SUFFIX.get(kind, "")
    return Sample(kind, f"using {secret}", secret)


def _around(kind: str) -> Sample:
    text, alphabet, count = _AROUND[kind]
    secret = _Maker(kind).of(alphabet, count)
    return Sample(kind, text.format(secret), secret)


def _private_key(kind: str, *, columns: int = 64, lines: int = 26) -> Sample:
    maker = _Maker(kind)
    body = [maker.of(BASE64, columns) for _ in range(lines)] + [maker.of(BASE64, 30) + "=="]
    mark = "-" * 5
    text = "\n".join([f"{mark}BEGIN {kind}{mark}", *body, f"{mark}END {kind}{mark}"])
    return Sample(kind, text, body[3])


def _others() -> list[Sample]:
    maker = _Maker("others")
    uuid = "-".join(maker.of(HEX, count) for count in (8, 4, 4, 4, 12))
    aws = "9" + maker.of(BASE64, 39)
    jwt = ".".join(("ey" + "J" + maker.of(URLSAFE, 33), "ey" + "J" + maker.of(URLSAFE, 60), maker.of(URLSAFE, 43)))
    discord = f"M{maker.of(URLSAFE, 25)}.{maker.of(URLSAFE, 6)}.{maker.of(URLSAFE, 38)}"
    sendgrid = f"SG.{maker.of(URLSAFE, 22)}.{maker.of(URLSAFE, 43)}"
    telegram = f"{maker.of('123456789', 10)}:AA{maker.of(URLSAFE, 33)}"
    azure = f"{maker.of(ALNUM, 3)}8Q~{maker.of(ALNUM, 34)}"
    slack, discord_hook = maker.of(ALNUM, 24), maker.of(URLSAFE, 68)
    airtable = f"pat{maker.of(ALNUM, 14)}.{maker.of(HEX, 64)}"
    mailchimp = f"{maker.of(HEX, 32)}-us12"
    hubspot = f"pat-na1-{uuid}"
    return [
        Sample("bare aws secret", f"loaded {aws} from the profile", aws),
        Sample("web token", f"got {jwt}", jwt),
        Sample("discord", f"bot {discord} is online", discord),
        Sample("sendgrid", f"mail through {sendgrid}", sendgrid),
        Sample("telegram", f"https://api.telegram.org/bot{telegram}/sendMessage", telegram),
        Sample("azure client", f"secret {azure}", azure),
        Sample("slack webhook", f"https://hooks.slack.com/services/T0AB12CDE/B0AB12CDE/{slack}", slack),
        Sample("discord webhook", f"https://discord.com/api/webhooks/123456789012345678/{discord_hook}", discord_hook),
        Sample("airtable", f"base {airtable}", airtable),
        Sample("mailchimp", f"list {mailchimp}", mailchimp),
        Sample("hubspot", f"crm {hubspot}", hubspot),
        _private_key("RSA PRIVATE KEY"),
        _private_key("OPENSSH PRIVATE KEY", columns=70),
        _private_key("PRIVATE KEY"),
    ]


SAMPLES = [*map(_prefixed, _PREFIXED), *map(_around, _AROUND), *_others()]
BY_KIND = {sample.kind: sample for sample in SAMPLES}
ONE_LINE = [sample for sample in SAMPLES if "\n" not in sample.text]


def leaks(sample: Sample, shown: str) -> bool:
    """Whether any ten letters of the secret, or all of a shorter one, can still be read."""
    size = min(10, len(sample.secret))
    return any(sample.secret[at : at + size] in shown for at in range(len(sample.secret) - size + 1))
