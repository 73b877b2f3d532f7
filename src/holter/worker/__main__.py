"""`python -m holter.worker DIRECTORY LIMIT`: makes what it is told by name, line by line, and says what came of it."""

import contextlib
import os
import sys

import msgspec

from holter.worker.answering import Told, make

MOST_BYTES = 4 << 30


def main() -> int:
    """Answer a line with a line, until there are no more."""
    directory, limit_bytes = sys.argv[1], int(sys.argv[2])
    with contextlib.suppress(OSError):
        os.nice(10)
    _bound_memory()
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is none of our words
    encode = msgspec.json.Encoder().encode
    for line in sys.stdin:
        name = line.rstrip("\n")
        try:
            told = make(directory, name, limit_bytes=limit_bytes)
        except MemoryError:
            told = Told(
                name=name, failed=f"making it takes more than the {MOST_BYTES >> 30} GiB that a worker may have"
            )
        try:
            os.write(out, encode(told) + b"\n")
        except BrokenPipeError:
            return 0
    return 0


def _bound_memory() -> None:
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
