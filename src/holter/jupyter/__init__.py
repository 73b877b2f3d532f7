"""What runs inside a Jupyter server: the witness of its kernels, and what its front end asks for."""

EXTENSION = "holter.jupyter"
"""The name by which a Jupyter server is told to load this."""


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Jupyter asks for it by this name."""
    return [{"module": "holter.jupyter.extension"}]
