"""An incoming webhook of Slack, or of what speaks like it (Mattermost, Rocket.Chat)."""

import msgspec

from holter.alerts.message import Message
from holter.alerts.post import Post
from holter.alerts.target import Target, need_url

check = need_url


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    content = {"text": f"*{_escaped(message.head)}*\n{_escaped(message.body)}"}
    post(target.url, msgspec.json.encode(content), {"content-type": "application/json"})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
