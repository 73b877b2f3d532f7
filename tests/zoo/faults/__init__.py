"""The faults, one file a kind."""
