"""Reads the host: what a run and its machine are doing now, and what is left of a process that died."""
