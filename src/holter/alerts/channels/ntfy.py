"""A topic of ntfy, which shows it on a telephone."""

import base64

from holter.alerts.message import ERROR, WARN, Message
from holter.alerts.post import Post
from holter.alerts.target import Target, need_url

check = need_url
_PRIORITIES = {WARN: "4", ERROR: "5"}


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    headers = {"title": _header(message.head), "priority": _PRIORITIES.get(message.level, "3")}
    if message.link:
        headers["click"] = message.link
    if target.token:
        headers["authorization"] = f"Bearer {target.token}"
    post(target.url, message.body.encode() or b" ", headers)


def _header(text: str) -> str:
    """As RFC 2047 has it, where it is more than ASCII: what people write is no part of the request."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    if plain.isascii():
        return plain
    return f"=?UTF-8?B?{base64.b64encode(plain.encode()).decode()}?="
