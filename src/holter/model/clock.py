"""Wall-clock time that never runs backwards within a process."""

import time

# Boot time goes on while a laptop sleeps; plain monotonic time does not.
CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    """The wall clock as read once, carried forward by a clock that nobody can set back.

    Somebody who sets the machine's clock back in the middle of a training can therefore not
    change the order of its rows. Cheap: one system call that needs no kernel entry.
    """

    def __init__(self) -> None:
        self.offset_ns = time.time_ns() - time.clock_gettime_ns(CLOCK_ID)

    def now_ns(self) -> int:
        """Nanoseconds since 1970; never less than an earlier answer."""
        return time.clock_gettime_ns(CLOCK_ID) + self.offset_ns

    def monotonic_ns(self) -> int:
        """Nanoseconds since boot: comparable between the processes of one boot, whatever is done to the wall clock."""
        return time.clock_gettime_ns(CLOCK_ID)
