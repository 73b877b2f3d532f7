"""Under which name what a person does here is written down."""

import getpass
import os


def user_name() -> str:
    """The name of the user; the number where a container has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
