"""The program that is killed: logs rows and reports each one on stdout once `log()` has returned for it.

`python -m benchmarks.kill_target PAUSE_S`. A report is the step as 8 bytes; the first one, ABOUT_TO_START, comes
right before `init()`.
"""

import os
import struct
import sys
import time

REPORT = struct.Struct("<q")
ABOUT_TO_START = -1


def row_of(step: int) -> dict[str, float | int | str]:
    """What is logged for a step; a reader who finds anything else has found something invented."""
    row: dict[str, float | int | str] = {"loss": 1 / (step + 1), "seen": step}
    if step % 97 == 96:
        row["note"] = f"row {step}"  # text can't be packed: such a row goes another way into the journal
    return row


def main() -> None:
    import holter

    init = holter.init  # loads the rest of holter, which is not a part of what is interrupted
    pause_s = float(sys.argv[1])
    os.write(1, REPORT.pack(ABOUT_TO_START))
    run = init(project="kills")
    step = 0
    while True:
        run.log(row_of(step), step=step)
        os.write(1, REPORT.pack(step))
        step += 1
        if pause_s:
            time.sleep(pause_s)


if __name__ == "__main__":
    main()
