"""Any address that takes JSON: the fields of the message as they are."""

import msgspec

from holter.alerts.message import Message
from holter.alerts.post import Post
from holter.alerts.target import Target, need_url

check = need_url


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    headers = {"content-type": "application/json"}
    if target.token:
        headers["authorization"] = f"Bearer {target.token}"
    post(target.url, msgspec.json.encode(message), headers)
