"""`python -m holter.artifacts DATA`: the process that keeps what programs of this data directory log, and sends it."""

import contextlib
import os
import sys
import time

from holter.artifacts.asks import URL, uploading
from holter.artifacts.uploading import is_waited_for
from holter.artifacts.working_off import LINGER_S, UPLOAD_WITHIN_S, upload, work_off

_PATIENCE_S = 5.0


def main() -> None:
    """Work off what waits; behind everything else that the machine has to do."""
    with contextlib.suppress(OSError):
        os.nice(10)
    data, url, key = sys.argv[1], os.environ.get(URL, ""), os.environ.pop("HOLTER_API_KEY", "")
    work_off(data, linger_s=LINGER_S)
    patience = time.monotonic() + _PATIENCE_S
    # One process sends; whoever comes meanwhile leaves it to that one, which looks again until nothing waits.
    while url and is_waited_for(data, url) and time.monotonic() < patience:
        with uploading(data) as is_mine:
            if is_mine:
                upload(data, url, key, within_s=UPLOAD_WITHIN_S)
        time.sleep(0.5)


if __name__ == "__main__":
    main()
