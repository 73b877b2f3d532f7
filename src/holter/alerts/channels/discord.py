"""A webhook of Discord."""

import msgspec

from holter.alerts.message import Message
from holter.alerts.post import Post
from holter.alerts.target import Target, need_url

check = need_url


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    embed = {"title": message.head, "description": message.body, "color": message.colour}
    # Nobody is called by what a run prints.
    content = {"embeds": [embed], "allowed_mentions": {"parse": []}}
    post(target.url, msgspec.json.encode(content), {"content-type": "application/json"})
