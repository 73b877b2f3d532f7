"""Packs large answers for whoever says that they can unpack them. Pure."""

import gzip

JSON, COLUMNS = "application/json", "application/x-holter-columns"
LEAST_BYTES = 4096
"""Less costs more to pack than to send."""
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 5


def choose(accepted: str, media: str, *, size: int, is_far: bool) -> str:
    """How to pack an answer: `zstd`, `gzip`, or empty for not at all.

    Numbers pack badly: they are only packed for those who are far away.

    Args:
        accepted: the header Accept-Encoding.
        media: the type of the answer.
        size: its bytes.
        is_far: whether there is a network between us.
    """
    if size < LEAST_BYTES or not (media == JSON or (media == COLUMNS and is_far)):
        return ""
    offered = dict(_weighed(part) for part in accepted.lower().split(","))
    for name in ("zstd", "gzip"):
        if offered.get(name, offered.get("*", 0.0)) > 0:
            return name
    return ""


def pack(data: bytes, how: str) -> bytes:
    """The bytes as `how` says."""
    if how == "zstd":
        import zstandard

        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)
    return gzip.compress(data, _GZIP_LEVEL, mtime=0)


def _weighed(part: str) -> tuple[str, float]:
    name, _, rest = part.partition(";")
    weight = rest.strip().removeprefix("q=")
    try:
        return name.strip(), float(weight) if weight else 1.0
    except ValueError:
        return name.strip(), 0.0
