"""What a medium is called outside of holter: keys are the words of programs, and may be anything."""

import os
import re

_ODD = re.compile(r"[^\w.+ -]")
MOST_PART = 120


def file_name(key: str, step: int, *, number: int, ext: str) -> str:
    """`KEY/STEP-NUMBER.EXT`: no part of it leads anywhere else."""
    parts = [_ODD.sub("_", part)[:MOST_PART] for part in key.split("/")]
    safe = [part if part.strip(". ") else "_" * max(1, len(part)) for part in parts]
    return os.path.join(*safe, f"{step}-{number}.{_ODD.sub('_', ext)[:30]}")
