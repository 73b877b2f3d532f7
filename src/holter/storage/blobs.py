"""The port for files: bytes by their digest, and the names that runs have for them."""

from collections.abc import Mapping
from typing import Protocol


class BlobStore(Protocol):
    """Keeps bytes under their SHA-256, written as 64 hexadecimal digits. Thread-safe; shared between processes.

    - A blob is complete or absent: only what was sealed can be read, and what is sealed has that digest.
    - Staging goes on where it stopped, also after the death of the process; a repeat is a no-op.
    - What `seal` and `attach` returned for outlives the process and the machine.
    - A blob lives as long as a run has a name for it. One that nobody ever named stays.
    """

    def stage(self, digest: str, data: bytes, *, offset: int) -> int:
        """Add bytes of a blob that is being received; returns the offset it has, less than `offset` for a gap.

        Raises UsageError for what is no digest, StorageFull.
        """

    def seal(self, digest: str) -> None:
        """Make the blob readable. Idempotent. Raises DigestMismatch, and forgets what was staged, where it is wrong."""

    def size(self, digest: str) -> int | None:
        """The size in bytes of a sealed blob, None where there is none."""

    def read(self, digest: str, *, start: int = 0, count: int | None = None) -> bytes:
        """Bytes of a sealed blob. Raises NoBlob."""

    def attach(self, run: str, names: Mapping[str, str]) -> None:
        """Give blobs names in a run, all at once; a name that is there gets the new digest. Raises NoBlob."""

    def attached(self, run: str) -> dict[str, str]:
        """The digests of a run's blobs by name."""

    def delete(self, run: str) -> None:
        """Forget the run's names, and the blobs that no other run has a name for. Idempotent."""
