"""A workflow of Microsoft Teams that begins when a webhook is received."""

import msgspec

from holter.alerts.message import ERROR, WARN, Message
from holter.alerts.post import Post
from holter.alerts.target import Target, need_url

check = need_url
_COLOURS = {WARN: "Warning", ERROR: "Attention"}


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    colour = _COLOURS.get(message.level, "Default")
    head = {"type": "TextBlock", "text": message.head, "weight": "Bolder", "wrap": True, "color": colour}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [head, {"type": "TextBlock", "text": message.body, "wrap": True}],
    }
    content = {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }
    post(target.url, msgspec.json.encode(content), {"content-type": "application/json"})
