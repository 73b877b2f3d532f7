"""A command of the user's own: it gets the message as JSON on its standard input, and no shell."""

import subprocess

import msgspec

from holter.alerts.message import Message
from holter.alerts.post import Post
from holter.alerts.target import Target
from holter.errors import Undelivered, UsageError

WITHIN_S = 30.0


def check(target: Target) -> None:
    """Raises UsageError."""
    if not target.command:
        raise UsageError(f"{target.label}: command must be a list: the program, and what it is given")


def send(target: Target, message: Message, *, post: Post) -> None:
    """`{title}` and `{text}` in an argument are replaced. Raises Undelivered."""
    texts = {"{title}": message.head, "{text}": message.body}
    arguments = []
    for each in target.command:
        # One pass: a text that has such a word in it stays as it is.
        parts = each.replace("{title}", "\0{title}\0").replace("{text}", "\0{text}\0").split("\0")
        arguments.append("".join(texts.get(part, part) for part in parts).replace("\0", ""))
    try:
        done = subprocess.run(
            arguments, input=msgspec.json.encode(message), capture_output=True, timeout=WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Undelivered(f"the command did not run: {type(error).__name__}", may_retry=False) from None
    if done.returncode:
        raise Undelivered(f"the command ended with {done.returncode}", may_retry=False)
