"""Text that a journal takes."""


def bounded(text: str, most: int) -> str:
    """The beginning of a text; a lone surrogate has no UTF-8 form and becomes a question mark."""
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
