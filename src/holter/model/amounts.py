"""Amounts as people read them: `7.1 GiB`, `12 s`."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: float) -> str:
    """Bytes with three significant digits at most: `512 B`, `7.1 GiB`, `140 GiB`."""
    for unit in _UNITS:
        if abs(count) < 1024 or unit == _UNITS[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or abs(count) >= 99.95 else f"{count:.1f} {unit}"


def seconds(length: float) -> str:
    """`20 ms`, `0.4 s`, `12 s`, `3 min`, `2.5 h`."""
    if 0 < length < 0.095:
        return f"{max(1, round(1000 * length))} ms"
    if length < 120:
        return f"{length:.1f} s" if length < 10 else f"{length:.0f} s"
    return f"{length / 60:.0f} min" if length < 7200 else f"{length / 3600:.1f} h"
