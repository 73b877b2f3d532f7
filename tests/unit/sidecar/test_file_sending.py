"""Files that the server did not take the first time are sent again."""

from pathlib import Path
from typing import Any, cast

import msgspec
import zstandard

from holter.sidecar.file_sending import FileSender, KeptFile
from holter.wire.connection import Answer, Connection


class Forgetful:
    """Loses what it got as often as it was told to, then keeps it."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.kept = b""

    def ask(self, method: str, path: str, *, query: dict[str, Any], data: bytes, media: str) -> Answer:
        if self.losses:
            self.losses -= 1
            return Answer(200, msgspec.json.encode(KeptFile(0, is_complete=False)))
        self.kept = self.kept[: query["offset"]] + zstandard.decompress(data)
        is_complete = len(self.kept) == query["total"]
        return Answer(200, msgspec.json.encode(KeptFile(len(self.kept), is_complete=is_complete)))


def test_what_the_server_does_not_have_counts_as_not_sent(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    server = Forgetful(losses=2)
    sender = FileSender(str(tmp_path), connection=cast("Connection", server))
    sent = [list(sender.send("r1", {}, is_final=True)) for _ in range(4)]
    assert sent == [[], [], [7], []]
    assert server.kept == b"weights"
