"""Knows from a name whether people keep a secret under it: `HF_TOKEN`, `dbPassword`, but not `eos_token`. Pure."""

import functools
import re

_WORDS = r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+"
_SECRETS = frozenset(
    "password passwd passphrase passcode pwd secret token jwt credential credentials apikey cookie bearer"
    " passwords secrets tokens_secret apikeys authtoken accesstoken secretkey accesskey privatekey".split()
)
# What keeps `key` and `pass` from being those of a dict and of an epoch.
_KEYS_OF = frozenset(
    "access account anthropic api auth aws azure bucket client cohere comet encryption gcp github gitlab google groq hf"
    " huggingface license mistral neptune openai openrouter pinecone private replicate rsa s3 secret sendgrid service"
    " signing ssh storage stripe subscription together wandb webhook".split()
)
_PASSES_OF = frozenset(
    "admin auth basic bucket database db email ftp http imap ldap login mail mongo mysql pg postgres proxy redis root"
    " service smtp sql ssh sudo user wifi".split()
)
_AUTHS_OF = frozenset("basic http proxy".split())
# Of a tokenizer, or of what it makes: `eos_token`, `max_token`.
_TOKENS_OF = frozenset(
    "additional audio begin blank bos cls cue decoder delimiter eod end eos eot fim first image init initializer"
    " instance lang language last mask max min modality new next null num obj pad per placeholder prefix prompt"
    " register sep separator sot source space special split src start stop style suffix system target text tgt think"
    " tool total trigger unk video vision vocab word".split()
)
_PLACEHOLDERS = frozenset(
    b"none null nil true false yes no ok unset empty required optional missing incorrect invalid wrong expired accepted"
    b" changed correct must is was not and or for to str string bytes redacted"
    b" prompt option argument failed authentication auth reset protected".split()
)
_NO_VALUE = (
    rb"[*.-]+|x{4,}|(?:\xe2\x80\xa6)+|\$\{?[A-Z_]+\}?|\$[{(].*|\{.*|<.*|\[[A-Za-z_.*-]*\]?|%\(.*"
    rb"|[A-Z_]*(?:PASSWORD|PASSWD|PASSPHRASE)\W*"
)

_compiled = functools.cache(re.compile)


@functools.lru_cache(4096)
def tells_of_secret(name: str) -> bool:
    """Whether somebody who calls a variable, an option or a setting so keeps a secret in it; the last word decides.

    What lies below a name such as `secrets` or `credentials` is secret too.
    """
    words = [word.lower() for word in _compiled(_WORDS).findall(name[-256:])]
    if words[-3:-2] and words[-1] == "id" and words[-3:-1] == ["access", "key"]:
        return True
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return not is_tokenizers(name[: name.lower().rfind("token")])
    is_one = last in _SECRETS or (last == "key" and before in _KEYS_OF) or (last == "pass" and before in _PASSES_OF)
    return is_one or (last == "auth" and before in _AUTHS_OF) or _lies_below(name)


def is_tokenizers(before: str) -> bool:
    """Whether the token whose name begins so is one of a text."""
    words = _compiled(_WORDS).findall(before)
    return bool(words) and words[-1].lower() in _TOKENS_OF


def is_placeholder(value: bytes) -> bool:
    """Whether it stands where a password would, and is none: `None`, `${PASSWORD}`, `***`, a sentence's next word."""
    plain = value.rstrip(b").]}:,;").lower()
    return not plain or plain in _PLACEHOLDERS or _compiled(_NO_VALUE).fullmatch(value) is not None


def _lies_below(name: str) -> bool:
    parents = name.replace("/", ".").split(".")[:-1]
    return any(parent.lower() in ("secrets", "credentials", "passwords", "api_keys") for parent in parents)
