"""Bytes as people read them; the same as on the command line."""

GB = 10**9
GIB, MIB = 1 << 30, 1 << 20


def size(count: float) -> str:
    """`812 B`, `13.9 MB`."""
    unit = "B"
    for following in ("kB", "MB", "GB", "TB"):
        if count < 999.5:
            break
        count, unit = count / 1000, following
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
