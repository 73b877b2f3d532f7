"""Where the keys of a data directory lie."""

import os

from holter.server.security.keys import KeyRing

SECRETS = "access"
"""The folder of a data directory with keys and the secret that signs cookies."""


def open_keys(data: str) -> KeyRing:
    """The keys of a data directory."""
    return KeyRing(os.path.join(data, SECRETS, "keys.json"))
