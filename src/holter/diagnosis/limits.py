"""How near a limit must be to be the reason."""

NEAR = 0.9
"""Of files, processes or threads, as they were when somebody looked: some are gone on the way out."""
ADDRESSES_NEAR = 0.75
"""Of the address space: a stack or an array is asked for at once, and may be more than a large part that is left."""
