"""Where the web page shows what."""


def page_of(project: str, run: str) -> str:
    """The page of a run, below the address of a server."""
    return f"p/{_quoted(project)}/r/{_quoted(run)}"


def _quoted(text: str) -> str:
    return "".join(chr(each) if each < 128 and chr(each).isalnum() else f"%{each:02X}" for each in text.encode())
