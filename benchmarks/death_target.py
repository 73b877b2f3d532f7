"""The program whose machine dies: logs 1,000 rows a second, flushes now and then, reports both on stdout.

`python -m benchmarks.death_target`, with the word `control` it never flushes. A report is the step and the monotonic
time in ns at which the call had returned, 16 bytes; a flush that covers all steps up to N is reported as step -1 - N.
"""

import os
import random
import struct
import sys
import time

REPORT = struct.Struct("<qq")
RATE = 1000
FLUSH_EVERY_S = (0.5, 2.0)


def main() -> None:
    import holter

    run = holter.init(project="deaths")
    keys = [f"metric_{number:03d}" for number in range(10)]
    start, step = time.monotonic(), 0
    flush_at = start + random.uniform(*FLUSH_EVERY_S) if "control" not in sys.argv else float("inf")
    while True:
        run.log(dict.fromkeys(keys, step * 0.5), step=step)
        os.write(1, REPORT.pack(step, time.monotonic_ns()))
        if time.monotonic() > flush_at:
            run.flush()
            os.write(1, REPORT.pack(-1 - step, time.monotonic_ns()))
            flush_at = time.monotonic() + random.uniform(*FLUSH_EVERY_S)
        step += 1
        time.sleep(max(0.0, start + step / RATE - time.monotonic()))


if __name__ == "__main__":
    main()
