"""Compression, with a bound on what comes out. The library is loaded by those who use it."""


def pack(data: bytes | memoryview, *, level: int = 3) -> bytes:
    """Compress; the frame says how large it was."""
    import zstandard

    return zstandard.ZstdCompressor(level=level).compress(data)


def unpack(data: bytes, *, most_bytes: int) -> bytes:
    """Undo `pack`. Raises ValueError for what is no frame of ours, or would be larger than that."""
    import zstandard

    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most_bytes:
            raise ValueError(f"it would be {size:,} bytes" if size >= 0 else "it does not say its size")
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
