"""All numbers that decide whether a guard warns, in one place."""

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The usual ones hold for every run."""

    horizon_s: float = 900.0
    """A memory that will be full later than this is not spoken of yet."""
    trust_times: float = 2.5
    """How far a trend is believed ahead, in lengths of the time over which it was seen."""
    least_rise: float = 0.02
    """Of the limit, that memory must have grown over the window before anybody speaks of it."""
    slowing: float = 0.6
    """Growth whose second half is less than this share of its first is a warm-up, or a cache that fills."""
    lately: float = 0.2
    """Growth whose last quarter has less than this share of its speed has ended."""
    beginning: float = 2.5
    """Growth whose second half is so many times its first has begun within the window, which then is too long."""
    spread: float = 0.12
    """Of the growth over the window: how far half of the values may lie from the line."""
    short_shares: tuple[tuple[float, float], ...] = ((24.0, 0.65), (60.0, 0.5))
    """For windows up to so many seconds: so much must be in use before fast growth is believed. Loading, and a first
    validation, look like a leak while they last."""
    votes: int = 2
    """So many looks in a row must come to the same conclusion."""
    first_climb_share: float = 0.5
    """Before anything was logged, nothing is said of memory of which less than this share is in use."""
    first_climb_s: float = 20.0
    """Nor within so many seconds of the first row: the first step builds what the others use."""
    young_s: float = 1200.0
    """Until then, or until its second epoch is over, a run may still be filling what it keeps: an even climb that will
    stop looks like a leak."""
    young_horizon_s: float = 120.0
    """Of a young run's memory is spoken only when it will be full within so many seconds."""
    young_share: float = 0.7
    """Nor, as long as less than this share is in use, unless it will be full within `young_least_s`."""
    young_least_s: float = 45.0
    own_share: float = 0.3
    """Of the growth of what is shared with others: who has grown by less is not the one that fills it."""
    others_share: float = 0.85
    """So much must be in use before others' growth is spoken of: many programs begin, grow, and stop."""
    again_after_s: float = 600.0
    """What has eased and comes back is said again after so long."""
    most_said: int = 4
    """How often one guard says the same of one run."""
    pressing_s: float = 30.0
    """With less time than this left, the program's own function is called."""
    pressing_share: float = 0.93
    """Or with so much of the limit in use, while it still grows."""

    stall_least_s: float = 60.0
    stall_times: float = 10.0
    """No row for so many times the usual pause, and at least so many seconds, is a stall."""
    stall_phase_times: float = 3.0
    """Pauses as long as the longest so far, times this, belong to the run's phases: validation, a checkpoint."""

    leak_epochs: int = 2
    """Growth is called a leak after so many epochs, or minutes of steps where nobody logs epochs."""
    leak_share: float = 0.1
    """Of the memory in use, grown in the last half of the run."""
    leak_least_s: float = 600.0
    leak_least_bytes: float = 256 * 2**20

    thrash_percent: float = 20.0
    """Of the last ten seconds, in which everything waited for memory."""
    thrash_faults_per_s: float = 500.0
    starved_share: float = 0.5
    """Of the time in which the main thread wants to run, spent waiting for a core."""
    wants_share: float = 0.3
    """Of a minute, that it must want to run for that to matter."""
    threads_per_core: float = 4.0
    neighbour_share: float = 0.4
    """Of the machine's memory, held by somebody who is not of this run, while it is short."""

    disk_horizon_s: float = 3600.0
    disk_least_bytes: float = 512 * 2**20
    least_inodes: float = 1000.0
    near_limit_share: float = 0.9
    """Of the files, threads or processes that the run may have."""

    explosion_times: float = 50.0
    """A loss so many times its usual size is said to explode."""
    slower_times: float = 1.5
    """Steps that take so many times what the first ones took."""
    slower_least_s: float = 300.0
    uneven_times: float = 5.0
    """A step that takes so many usual ones is a pause."""
    uneven_share: float = 1 / 3
    """Of the time, spent in pauses that nobody expects."""
    even_share: float = 0.1
    """Of the time, that a run may spend in pauses at first and count as even."""
    uneven_least_s: float = 600.0
    uneven_steps: float = 300.0
    """The stretches that are compared have so many seconds and usual steps at least."""

    gpu_idle_percent: float = 5.0
    gpu_idle_s: float = 120.0
    gpu_hot_celsius: float = 87.0
    gpu_throttled_s: float = 30.0
