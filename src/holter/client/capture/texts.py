"""Text that a journal takes."""

from holter.model.cutting import first_words


def bounded(text: str, most: int) -> str:
    """The beginning of a text, cut between words; a lone surrogate has no UTF-8 form and becomes a question mark."""
    text = first_words(text, most)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
