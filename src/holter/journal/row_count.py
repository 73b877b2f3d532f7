"""Counts the rows in the bytes of a journal as they come, wherever they are cut."""

from holter.journal.frame import HEADER_SIZE, MAGIC, OVERHEAD, SYNC_BYTES
from holter.journal.reader import hop_over
from holter.model.records import FIRST_PACKED, LOOSE_ROW

# A longer record is no row that is worth so much memory, or none at all: its length is damaged.
MOST_REST = 4 << 20


class RowCount:
    """How many rows there are before an offset of one journal. Looks at no checksums: who sends has done that."""

    def __init__(self) -> None:
        self.rows = 0
        self.offset = 0
        """How many bytes it has been given."""
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Count in what follows."""
        self.offset += len(data)
        data = self._rest + data
        while True:
            frames, stretches, end = hop_over(data)
            self.rows += sum(stretch.rows for stretch in stretches)
            self.rows += sum(frame.kind == LOOSE_ROW or frame.kind >= FIRST_PACKED for frame in frames)
            data = data[end:]
            if data.startswith(MAGIC) and len(data) >= HEADER_SIZE:
                data = data[HEADER_SIZE:]
            elif data.startswith((MAGIC, SYNC_BYTES)) or len(data) < OVERHEAD:
                break  # the rest of it is still to come
            else:
                # Room that nobody used at the end of a segment, or damage: up to whatever may be the next beginning.
                following = [at for mark in (MAGIC, SYNC_BYTES) if (at := data.find(mark, 1)) > 0]
                data = data[min(following, default=max(0, len(data) - len(MAGIC))) :]
                if not following:
                    break
        self._rest = data if len(data) <= MOST_REST else b""
